/* Planning: which schedule to run under a budget. The entry point of this folder. */
#ifndef NEAP_PLAN_PLAN_H
#define NEAP_PLAN_PLAN_H

#include "plan/problem.h"

struct plan_request {
    const char *strategy;  /* auto, none, all, sqrt, sequential:K; or the name of what follows */
    const uint32_t *piece; /* by op: recompute with the others of that number what only they read;
                              PLAN_NONE: keep. NULL: as the strategy says */
    const struct plan_schedule *given; /* to be placed as it is; NULL: as the strategy says */
    int64_t budget_bytes;              /* for the arena; INT64_MAX: none */
    int64_t alignment_bytes;
    bool live_peak;   /* the budget is for the live peak instead; the arena is as it comes */
    bool fixed_order; /* first executions stay in the base order */
    uint64_t seed;
    uint64_t moves; /* the most that local search makes; 0: as many as the problem deserves */
    const struct plan_schedule *warm; /* more seeds, that replay: plans of other budgets */
    size_t n_warm;
    bool (*stop)(void *context); /* asked every few milliseconds: true, and the best so far is it */
    void *stop_context;          /* NULL stop: never */
};

struct plan_result {
    struct plan_schedule schedule;
    struct plan_lives lives; /* placed */
    struct plan_measure measure;
    int64_t arena_bytes;
    bool fits;
    bool stopped;      /* by the request's stop: more time could have given a better plan */
    char strategy[64]; /* what was chosen: "greedy", "sequential:3", … */
};
void plan_result_free(struct plan_result *result);

/* The plan with the least time whose arena fits, never slower than any fixed strategy that fits
 * too; where nothing fits, the one with the smallest arena and fits = false. Every result has
 * passed plan_check. Deterministic. */
MUST_USE neap_error *plan_solve(const struct plan_problem *problem,
                                const struct plan_request *request, struct plan_result *result);

/* The plan with the smallest arena that takes at most `most_seconds`, no less than one run of each
 * op; store-all's where nothing smaller is found. Strategy, piece, given and warm of the request
 * are not read; its moves are those of one solve, of which there are about ten. Deterministic. */
MUST_USE neap_error *plan_least(const struct plan_problem *problem,
                                const struct plan_request *request, double most_seconds,
                                struct plan_result *result);

/* The smallest arena, or live peak, that a search of fixed effort finds: as above, whatever the
 * request's budget and moves are. What is within a budget here is found by plan_solve too,
 * unless its moves are few. */
MUST_USE neap_error *plan_solve_smallest(const struct plan_problem *problem,
                                         const struct plan_request *request,
                                         struct plan_result *result);

/* ---- seeds: where local search starts -------------------------------------------------------
 *
 * Each gives a schedule that replays, aiming at the least seconds whose live peak is at most
 * budget_bytes, or at a small peak where it reaches none; an empty schedule where its method does
 * not apply. */

/* chain.c: dynamic programming over a chain of blocks. */
MUST_USE neap_error *plan_seed_chain(const struct plan_problem *problem, int64_t budget_bytes,
                                     struct plan_schedule *schedule);
/* cut.c: minimum cuts between what is kept and what is made again. */
MUST_USE neap_error *plan_seed_cut(const struct plan_problem *problem, int64_t budget_bytes,
                                   struct plan_schedule *schedule);

/* ---- what strategies are made of ------------------------------------------------------------ */

MUST_USE neap_error *plan_base_order(const struct plan_problem *problem,
                                     struct plan_schedule *schedule);

/* The border between forward and backward: the first op of another phase than forward; where there
 * is none, the op at which keeping everything first needs the most memory (PLAN_NONE: out of it).
 */
uint32_t plan_border(const struct plan_problem *problem);

/* May this value be dropped at the border and made again: produced before it by an op that may run
 * again, and read behind it? */
bool *plan_droppable(
    const struct plan_problem *problem); /* by value; NULL: out of memory; free() */

/* keep.c: the base order in which the values of `drop` are forgotten at the border and made again,
 * with what that needs, just before their first use behind it. */
MUST_USE neap_error *plan_schedule_dropping(const struct plan_problem *problem, const bool *drop,
                                            struct plan_schedule *schedule);

/* keep.c: the schedule `from`, in which all but the `kept` values (by value) are forgotten just
 * before step `before` and made again, with what that needs, just before their next use. Not for
 * values whose op may not run again there. */
MUST_USE neap_error *plan_schedule_keeping(const struct plan_problem *problem,
                                           const struct plan_schedule *from, uint32_t before,
                                           const bool *kept, struct plan_schedule *schedule);

/* thin.c: takes out runs that are not needed: what they make can stay from before without a step
 * needing more than limit_bytes, or than the schedule's peak where that is more. */
MUST_USE neap_error *plan_schedule_thin(const struct plan_problem *problem, int64_t limit_bytes,
                                        struct plan_schedule *schedule);

/* segments.c: the values to drop when the forward is cut into n_segments at single-tensor cuts (the
 * largest segment's bytes minimised, the last segment never recomputed); n_segments 0: a cut
 * wherever there can be one. NEAP_ERROR_USAGE where there are too few cuts. */
MUST_USE neap_error *plan_drop_segments(const struct plan_problem *problem, int64_t n_segments,
                                        bool *drop);
/* The values to drop when each piece, by op (PLAN_NONE: none), is recomputed as a whole: made in
 * it, read in forward nowhere else, and not small. NEAP_ERROR_USAGE where there are none. */
MUST_USE neap_error *plan_drop_pieces(const struct plan_problem *problem, const uint32_t *piece,
                                      bool *drop);
MUST_USE neap_error *plan_count_cuts(const struct plan_problem *problem, int64_t *n_cuts);

/* bound.c: what no schedule can beat. */
struct plan_bound {
    int64_t floor_bytes;  /* no schedule has a smaller peak */
    uint32_t floor_op;    /* when this op first runs, so much is live; PLAN_NONE: before step 0 */
    double extra_seconds; /* beyond one run of each op, within the budget; INFINITY: none fits */
    uint32_t op;          /* when this op first runs, so much is missing; PLAN_NONE: nothing is */
};
MUST_USE neap_error *plan_bound(const struct plan_problem *problem, int64_t budget_bytes,
                                struct plan_bound *out);

/* The same for many budgets, and for schedules whose first executions keep the base order. The
 * problem must live as long. */
struct plan_bounds;
MUST_USE neap_error *plan_bounds_open(const struct plan_problem *problem, bool fixed_order,
                                      struct plan_bounds **out);
void plan_bounds_close(struct plan_bounds *bounds);

/* `again`, by op, becomes what to run once more after out->op's first execution, the cheapest way
 * past it that is known; all false where nothing is missing or nothing fits. NULL: not asked. */
void plan_bounds_at(struct plan_bounds *bounds, int64_t budget_bytes, struct plan_bound *out,
                    bool *again);

#endif
