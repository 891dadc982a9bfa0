/* flow: maximum flow along shortest paths, distances kept up to date (Ahuja and Orlin 1991, ISAP).
 *
 * Each node knows a lower bound of its distance to the sink. Flow goes along arcs that lead one
 * nearer; a node that has none steps back to one more than its nearest neighbour. Where the last
 * node of a distance does so, everything farther is cut off and it ends. Capacities are integers,
 * so that it ends exactly. At most O(nodes² × arcs), on the shallow graphs of the planner a few
 * passes over the arcs; nothing is recursive, so that chains of any length are fine. */
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
    TRY_GOTO(memory_alloc(n_nodes, sizeof *f->distance, &f->distance));
    TRY_GOTO(memory_alloc(n_nodes + 1, sizeof *f->n_at, &f->n_at));
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
    free(f->distance);
    free(f->n_at);
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

/* Distances to the sink; nodes that cannot reach it are as far as there are nodes. */
static void measure_distances(struct flow *f) {
    uint32_t n = 0;
    memset(f->n_at, 0, ((size_t)f->n_nodes + 1) * sizeof *f->n_at);
    for (uint32_t node = 0; node < f->n_nodes; node++)
        f->distance[node] = f->n_nodes;
    f->distance[SINK] = 0;
    f->queue[n++] = SINK;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = f->queue[i];
        f->n_at[f->distance[node]]++;
        for (uint32_t a = f->first_arc[node]; a != NOWHERE; a = f->next_arc[a]) {
            f->work++;
            if (f->distance[f->head[a]] < f->n_nodes || !f->residual[a ^ 1] || f->head[a] == SINK)
                continue;
            f->distance[f->head[a]] = f->distance[node] + 1;
            f->queue[n++] = f->head[a];
        }
    }
}

/* The next arc of `node` that has room and leads nearer. */
static uint32_t advance(struct flow *f, uint32_t node) {
    uint32_t *a = &f->current[node];
    while (*a != NOWHERE &&
           (!f->residual[*a] || f->distance[f->head[*a]] + 1 != f->distance[node])) {
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

/* Steps back; false where nothing is left at the node's old distance: all farther are cut off. */
static bool step_back(struct flow *f, uint32_t node) {
    uint32_t old = f->distance[node], nearest = f->n_nodes;
    for (uint32_t a = f->first_arc[node]; a != NOWHERE; a = f->next_arc[a]) {
        f->work++;
        if (f->residual[a] && f->distance[f->head[a]] + 1 < nearest)
            nearest = f->distance[f->head[a]] + 1;
    }
    f->distance[node] = nearest;
    f->current[node] = f->first_arc[node];
    f->n_at[nearest]++;
    return --f->n_at[old] > 0;
}

static int64_t send(struct flow *f) {
    uint32_t n = 0, node = SOURCE;
    int64_t sent = 0;
    memcpy(f->current, f->first_arc, f->n_nodes * sizeof *f->current);
    measure_distances(f);
    while (f->distance[SOURCE] < f->n_nodes) {
        uint32_t a = advance(f, node);
        if (a != NOWHERE) {
            f->work++;
            f->path[n++] = a;
            node = f->head[a];
            if (node == SINK) {
                n = augment(f, n, &sent);
                node = f->head[f->path[n] ^ 1];
            }
        } else {
            if (!step_back(f, node))
                break;
            node = n ? f->head[f->path[--n] ^ 1] : node;
        }
    }
    return sent;
}

/* What can still be reached from the source. */
static void find_source_side(struct flow *f) {
    uint32_t n = 0;
    memset(f->source_side, 0, f->n_nodes * sizeof *f->source_side);
    f->source_side[SOURCE] = true;
    f->queue[n++] = SOURCE;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t a = f->first_arc[f->queue[i]]; a != NOWHERE; a = f->next_arc[a])
            if (f->residual[a] && !f->source_side[f->head[a]]) {
                f->source_side[f->head[a]] = true;
                f->queue[n++] = f->head[a];
            }
    f->work += f->n_arcs;
}

int64_t flow_solve(struct flow *f) {
    for (uint32_t a = 0; a < f->n_arcs; a += 2) {
        f->residual[a] = f->capacity[a / 2];
        f->residual[a + 1] = 0;
    }
    int64_t value = send(f);
    find_source_side(f);
    return value;
}
