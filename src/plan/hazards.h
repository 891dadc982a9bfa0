/* Hazards: ops that must keep their base order although no planned value joins them.
 *
 * Persistent values (weights, stored gradients, running statistics) are always there; what changes
 * one must stay behind everything that read it before, and in front of everything that reads it
 * after, every execution of either. */
#ifndef NEAP_PLAN_HAZARDS_H
#define NEAP_PLAN_HAZARDS_H

#include "plan/problem.h"

/* For op o: ops[first[o]] to ops[first[o + 1] - 1]. */
struct op_rows {
    uint32_t *ops, *first;
};

/* By primary op: those all of whose executions come before all of its own, and those after. What
 * follows from two such pairs is left out. */
struct hazards {
    struct op_rows before, after;
};

MUST_USE neap_error *hazards_find(const struct plan_problem *problem, struct hazards *out);
void hazards_free(struct hazards *hazards);

#endif
