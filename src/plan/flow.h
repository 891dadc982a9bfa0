/* Maximum flow and minimum cut in a directed graph with integer capacities. */
#ifndef NEAP_PLAN_FLOW_H
#define NEAP_PLAN_FLOW_H

#include "base/memory.h"

/* No cut takes such an arc, as long as the other capacities add up to less. */
#define FLOW_UNBOUNDED ((int64_t)1 << 61)

struct flow {
    uint32_t n_nodes, n_arcs; /* arc a and its reverse a ^ 1 */
    uint32_t *first_arc;      /* by node; PLAN_NONE-terminated through next_arc */
    uint32_t *next_arc, *head;
    int64_t *capacity; /* by pair of arcs: of arc a at a / 2; the caller may change it */
    bool *source_side; /* by node, set by flow_solve: the smallest source side of a minimum cut */
    int64_t *residual;
    uint32_t *distance, *current, *queue, *path; /* by node */
    uint32_t *n_at;                              /* by distance: how many nodes */
    uint64_t work;                               /* arcs looked at so far: the effort, counted */
};

/* Room for so many nodes and (one-way) arcs; node 0 is the source, node 1 the sink. */
MUST_USE neap_error *flow_open(struct flow *flow, size_t n_nodes, size_t n_arcs);
void flow_close(struct flow *flow);

/* Capacities are set in flow->capacity[]; the index of the new arc there. */
uint32_t flow_arc(struct flow *flow, uint32_t from, uint32_t to);

/* The value of a maximum flow, which is the capacity of the minimum cut. */
int64_t flow_solve(struct flow *flow);

#endif
