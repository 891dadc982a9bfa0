/* hazards: see hazards.h. O(ops × degree). */
#include "plan/hazards.h"

#include <stdlib.h>

/* ---- hazards -------------------------------------------------------------------------------- */

struct edge {
    uint32_t before, after;
};

struct edges {
    struct edge *at;
    size_t n, capacity;
};

static neap_error *add_edge(struct edges *edges, uint32_t before, uint32_t after) {
    if (before == after || before == PLAN_NONE)
        return NULL;
    TRY(memory_grow(&edges->at, &edges->capacity, edges->n + 1, sizeof *edges->at));
    edges->at[edges->n++] = (struct edge){before, after};
    return NULL;
}

static bool contains(const struct plan_problem *p, struct plan_span span, uint32_t v) {
    for (uint32_t i = 0; i < span.n; i++)
        if (p->ids[span.first + i] == v)
            return true;
    return false;
}

/* What touches value v keeps its base-order side of everything that changes it: edges from and to
 * each op that changes it, and no further. */
static neap_error *order_touches(const struct plan_problem *p, uint32_t v, const uint32_t *touches,
                                 uint32_t n, struct edges *edges) {
    uint32_t changer = PLAN_NONE, first_reader = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_op *op = &p->ops[touches[i]];
        TRY(add_edge(edges, changer, touches[i]));
        if (!contains(p, op->updates, v) && !contains(p, op->outputs, v))
            continue;
        for (uint32_t r = first_reader; r < i; r++)
            TRY(add_edge(edges, touches[r], touches[i]));
        changer = touches[i];
        first_reader = i + 1;
    }
    return NULL;
}

/* By persistent value, the primaries that touch it, in base order. */
static neap_error *collect_touches(const struct plan_problem *p, uint32_t *first,
                                   uint32_t *touches) {
    uint32_t n_all = p->n_ops + p->n_alternatives;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t o = n_all; o-- > 0;) {
            const struct plan_op *op = &p->ops[o];
            const struct plan_span spans[] = {op->inputs, op->outputs, op->updates};
            for (int k = 0; k < 3; k++)
                for (uint32_t i = 0; i < spans[k].n; i++) {
                    uint32_t v = p->ids[spans[k].first + i];
                    if (!p->values[v].persistent)
                        continue;
                    if (fill)
                        touches[--first[v]] = plan_primary(p, o);
                    else
                        first[v]++;
                }
        }
        for (uint32_t v = 0; !fill && v < p->n_values; v++)
            first[v + 1] += first[v];
    }
    return NULL;
}

static int ascending(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static neap_error *find_edges(const struct plan_problem *p, struct edges *edges) {
    uint32_t *first = NULL, *touches = NULL;
    neap_error *error;
    TRY_GOTO(memory_alloc((size_t)p->n_values + 1, sizeof *first, &first));
    TRY_GOTO(memory_alloc(p->n_ids, sizeof *touches, &touches));
    TRY_GOTO(collect_touches(p, first, touches));
    for (uint32_t v = 0; v < p->n_values; v++) {
        uint32_t *of_value = touches + first[v], n = first[v + 1] - first[v];
        if (!p->values[v].persistent)
            continue;
        qsort(of_value, n, sizeof *of_value, ascending);
        TRY_GOTO(order_touches(p, v, of_value, n, edges));
    }
done:
    free(first);
    free(touches);
    return error;
}

/* The edges' other ends, by one end. */
static neap_error *index_edges(const struct edges *edges, uint32_t n_ops, bool by_after,
                               struct op_rows *rows) {
    TRY(memory_alloc(edges->n, sizeof *rows->ops, &rows->ops));
    TRY(memory_alloc((size_t)n_ops + 2, sizeof *rows->first, &rows->first));
    uint32_t *at = rows->first + 1; /* shifted by one while it is filled */
    for (size_t i = 0; i < edges->n; i++)
        at[(by_after ? edges->at[i].after : edges->at[i].before) + 1]++;
    for (uint32_t o = 0; o < n_ops; o++)
        at[o + 1] += at[o];
    for (size_t i = 0; i < edges->n; i++) {
        const struct edge *e = &edges->at[i];
        rows->ops[at[by_after ? e->after : e->before]++] = by_after ? e->before : e->after;
    }
    return NULL;
}

neap_error *hazards_find(const struct plan_problem *problem, struct hazards *out) {
    struct edges edges = {0};
    neap_error *error;
    *out = (struct hazards){0};
    TRY_GOTO(find_edges(problem, &edges));
    TRY_GOTO(index_edges(&edges, problem->n_ops, true, &out->before));
    TRY_GOTO(index_edges(&edges, problem->n_ops, false, &out->after));
done:
    free(edges.at);
    if (error)
        hazards_free(out);
    return error;
}

void hazards_free(struct hazards *hazards) {
    free(hazards->before.ops);
    free(hazards->before.first);
    free(hazards->after.ops);
    free(hazards->after.first);
    *hazards = (struct hazards){0};
}
