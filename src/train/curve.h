/* The frontier of a planning problem as the report that callers see. */
#ifndef NEAP_TRAIN_CURVE_H
#define NEAP_TRAIN_CURVE_H

#include "plan/curve.h"

/* What turns a schedule's seconds and bytes into those of a whole step. All zero: the schedule is
 * the step, and what it is compared with is the strategy `none`. */
struct curve_scale {
    double once_seconds;   /* of a step in which every op runs once in each micro-batch */
    double times;          /* micro-batches: recompute is paid for in each */
    double whole_seconds;  /* of store-all's step, the whole batch in one piece */
    int64_t whole_bytes;   /* of its arena, or its live peak where the request bounds that */
    int64_t outside_bytes; /* of a process, beside the arena */
};

struct curve_request {
    const struct plan_problem *problem;
    const struct plan_request *plan; /* as plan_curve reads it */
    struct curve_scale scale;
    const char *title;
    int64_t n_budgets;
};
MUST_USE neap_error *curve_create(const struct curve_request *request, neap_curve **out);

#endif
