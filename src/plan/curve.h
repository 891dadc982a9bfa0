/* The whole frontier of memory and time: for every number of bytes the fastest plan known. */
#ifndef NEAP_PLAN_CURVE_H
#define NEAP_PLAN_CURVE_H

#include "plan/plan.h"

struct plan_curve_point {
    struct plan_result plan;
    int64_t bytes;        /* of its arena, or its live peak where the request bounds that */
    int64_t budget_bytes; /* the largest solved for that gave nothing faster; at least bytes */
    double bound_seconds; /* beyond one run of each op: what no plan in these bytes does without */
};

/* A fixed strategy, for comparison. */
struct plan_curve_mark {
    char strategy[32];
    int64_t arena_bytes, peak_bytes;
    uint32_t recomputed;
    double seconds;
    double bound_seconds; /* of its bytes, as a point's */
};

/* The least extra seconds of any plan in so many bytes. */
struct plan_curve_bound {
    int64_t bytes;
    double extra_seconds;
};

struct plan_curve {
    struct plan_curve_point *points; /* bytes rising, seconds falling, both strictly */
    size_t n_points, points_capacity;
    struct plan_curve_mark *marks; /* none first; sqrt, all, sequential:2, … where there are cuts */
    size_t n_marks, marks_capacity;
    struct plan_curve_bound *bounds; /* bytes rising from the floor to store-all's */
    size_t n_bounds;
    int64_t floor_bytes; /* no plan has a smaller live peak */
    bool stopped;        /* by the request's stop: fewer budgets than asked for */
};
void plan_curve_free(struct plan_curve *curve);

/* The frontier from store-all down to the smallest plan found, from `n_budgets` (at least 2)
 * solved budgets, more of them where the curve bends. Strategy, pieces, what is given, budget and
 * warm of the request are not read; its moves are those of one solve, of which there are 2
 * n_budgets. There are fewer points than budgets where neighbouring budgets have the same best
 * plan, and more where a fixed strategy lies on the frontier between two of them. Deterministic. */
MUST_USE neap_error *plan_curve(const struct plan_problem *problem,
                                const struct plan_request *request, size_t n_budgets,
                                struct plan_curve *out);

#endif
