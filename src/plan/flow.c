/* flow: maximum flow by blocking flows (Dinic 1970).
 *
 * Levels are distances from the source; flow goes along arcs to the next level until none is left,
 * then levels are counted again. Capacities are integers, so that it ends exactly. At most
 * O(nodes² × arcs), on the shallow graphs of the planner a few passes over the arcs; nothing is
 * recursive, so that chains of any length are fine. */
#include "plan/flow.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE = 0, SINK = 1 };
#define NOWHERE UINT32_MAX

neap_error *flow_open(struct flow *f, size_t n_nodes, size_t n_arcs) {
    neap_error *error = NULL;
    *f = (struct flow){.n_nodes = (uint32_t)n_nodes};
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->first_arc, &f->first_arc));
    TRY_GOTO(memory_alloc(2 * n_arcs, sizeof *f->next_arc, &f->next_arc));
    TRY_GOTO(memory_alloc(2 * n_arcs, sizeof *f->head, &f->head));
    TRY_GOTO(memory_alloc(n_arcs, sizeof *f->capacity, &f->capacity));
    TRY_GOTO(memory_alloc(2 * n_arcs, sizeof *f->residual, &f->residual));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->source_side, &f->source_side));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->level, &f->level));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->current, &f->current));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->queue, &f->queue));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->path, &f->path));
    for (size_t n = 0; n < n_nodes; n++)
        f->first_arc[n] = NOWHERE;
done:
    if (error)
        flow_close(f);
    return error;
}

void flow_close(struct flow *f) {
    free(f->first_arc);
    free(f->next_arc);
    free(f->head);
    free(f->capacity);
    free(f->residual);
    free(f->source_side);
    free(f->level);
    free(f->current);
    free(f->queue);
    free(f->path);
    *f = (struct flow){0};
}

uint32_t flow_arc(struct flow *f, uint32_t from, uint32_t to) {
    uint32_t arc = f->n_arcs;
    f->n_arcs += 2;
    f->head[arc] = to;
    f->next_arc[arc] = f->first_arc[from];
    f->first_arc[from] = arc;
    f->head[arc + 1] = from;
    f->next_arc[arc + 1] = f->first_arc[to];
    f->first_arc[to] = arc + 1;
    return arc / 2;
}

/* Distances from the source through arcs with room; is the sink within reach? */
static bool count_levels(struct flow *f) {
    uint32_t n = 0;
    for (uint32_t node = 0; node < f->n_nodes; node++)
        f->level[node] = NOWHERE;
    f->level[SOURCE] = 0;
    f->queue[n++] = SOURCE;
    for (uint32_t i = 0; i < n && f->level[SINK] == NOWHERE; i++) {
        uint32_t node = f->queue[i];
        for (uint32_t a = f->first_arc[node]; a != NOWHERE; a = f->next_arc[a]) {
            f->work++;
            if (!f->residual[a] || f->level[f->head[a]] != NOWHERE)
                continue;
            f->level[f->head[a]] = f->level[node] + 1;
            f->queue[n++] = f->head[a];
        }
    }
    return f->level[SINK] != NOWHERE;
}

/* The next arc of `node` that has room and leads a level on. */
static uint32_t advance(struct flow *f, uint32_t node) {
    uint32_t *a = &f->current[node];
    while (*a != NOWHERE && (!f->residual[*a] || f->level[f->head[*a]] != f->level[node] + 1)) {
        f->work++;
        *a = f->next_arc[*a];
    }
    return *a;
}

/* Sends what fits along the path of n arcs; how many of them stay usable from the source on. */
static uint32_t augment(struct flow *f, uint32_t n, int64_t *sent) {
    int64_t room = FLOW_UNBOUNDED;
    uint32_t usable = n;
    for (uint32_t i = 0; i < n; i++)
        room = f->residual[f->path[i]] < room ? f->residual[f->path[i]] : room;
    for (uint32_t i = n; i-- > 0;) {
        f->residual[f->path[i]] -= room;
        f->residual[f->path[i] ^ 1] += room;
        if (!f->residual[f->path[i]])
            usable = i;
    }
    f->work += n;
    *sent += room;
    return usable;
}

/* Flow along paths that go up a level with each arc, until there is none left. */
static int64_t block(struct flow *f) {
    uint32_t n = 0, node = SOURCE;
    int64_t sent = 0;
    memcpy(f->current, f->first_arc, f->n_nodes * sizeof *f->current);
    for (;;) {
        uint32_t a = advance(f, node);
        if (a != NOWHERE) {
            f->path[n++] = a;
            node = f->head[a];
            if (node == SINK) {
                n = augment(f, n, &sent);
                node = f->head[f->path[n] ^ 1];
            }
        } else if (n) { /* a dead end: nobody needs to come here again */
            f->level[node] = NOWHERE;
            node = f->head[f->path[--n] ^ 1];
        } else {
            return sent;
        }
    }
}

int64_t flow_solve(struct flow *f) {
    int64_t value = 0;
    for (uint32_t a = 0; a < f->n_arcs; a += 2) {
        f->residual[a] = f->capacity[a / 2];
        f->residual[a + 1] = 0;
    }
    while (count_levels(f))
        value += block(f);
    for (uint32_t node = 0; node < f->n_nodes; node++)
        f->source_side[node] = f->level[node] != NOWHERE;
    return value;
}
