/* least: the smallest arena for so much time, by solving budgets.
 *
 *   bytes   floor ── the bound's ──x──x──o── best so far ── store-all
 *                    no plan below   └ next budget: from the bound on in growing steps,
 *                                      then halving what is left
 *
 * The bound is near what can be reached, so that few budgets are solved; each starts from the
 * plans on both sides of it. Needs a strategy of `auto`. O(SOLVES solves). */
#include <math.h>
#include <stdlib.h>

#include "plan/plan.h"

enum {
    SOLVES = 8,
    MOVES = 50000,   /* of one solve */
    FINEST = 200,    /* what is left to gain, as a part of the best: not worth a solve */
    FIRST_STEP = 32, /* of the way from the bound to store-all, the inverse */
    BOUND_HALVINGS = 12,
    LAST_MOVES = 100000 /* to find the fastest plan in the bytes found */
};

/* Sums of the same seconds in another order differ by this much. */
static const double rounding = 1e-9;

struct least {
    const struct plan_problem *problem;
    const struct plan_request *request;
    double most_seconds;
    struct plan_result best;  /* takes at most so long, in the fewest bytes */
    struct plan_result other; /* of the last solve that did not: to start from */
    int64_t below;            /* in so few bytes no plan was found, or there is none */
};

static int64_t bytes_of(const struct least *l, const struct plan_result *plan) {
    return l->request->live_peak ? plan->measure.peak_bytes : plan->arena_bytes;
}

static double once_seconds(const struct plan_problem *problem) {
    double seconds = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        seconds += problem->ops[o].seconds;
    return seconds;
}

/* The most bytes, about, for which the bound rules out every plan that takes no longer. */
static neap_error *find_bound(struct least *l) {
    struct plan_bounds *bounds;
    struct plan_bound bound;
    TRY(plan_bounds_open(l->problem, l->request->fixed_order, &bounds));
    double most_extra = l->most_seconds * (1 + rounding) - once_seconds(l->problem);
    plan_bounds_at(bounds, INT64_MAX, &bound, NULL);
    int64_t below = bound.floor_bytes - 1, above = bytes_of(l, &l->best);
    for (int i = 0; i < BOUND_HALVINGS && above - below > 1; i++) {
        int64_t middle = below + (above - below) / 2;
        plan_bounds_at(bounds, middle, &bound, NULL);
        *(bound.extra_seconds > most_extra ? &below : &above) = middle;
    }
    plan_bounds_close(bounds);
    l->below = below;
    return NULL;
}

static neap_error *solve_from_both(const struct least *l, int64_t budget_bytes, uint64_t moves,
                                   struct plan_result *plan) {
    struct plan_request request = *l->request;
    const struct plan_schedule warm[] = {l->best.schedule, l->other.schedule};
    request.strategy = "auto";
    request.piece = NULL;
    request.given = NULL;
    request.budget_bytes = budget_bytes;
    request.moves = request.moves ? request.moves : moves;
    request.warm = warm;
    request.n_warm = l->other.schedule.n ? 2 : 1;
    return plan_solve(l->problem, &request, plan);
}

static neap_error *solve(struct least *l, int64_t budget_bytes) {
    struct plan_result plan;
    TRY(solve_from_both(l, budget_bytes, MOVES, &plan));
    bool good = plan.measure.seconds <= l->most_seconds * (1 + rounding) &&
                bytes_of(l, &plan) < bytes_of(l, &l->best);
    if (!good || bytes_of(l, &plan) > budget_bytes)
        l->below = budget_bytes;
    struct plan_result *to = good ? &l->best : &l->other;
    plan_result_free(to);
    *to = plan;
    return NULL;
}

/* Steps from the bound up, until there is a plan; then halves. */
static neap_error *close_in(struct least *l) {
    int64_t step = (bytes_of(l, &l->best) - l->below) / FIRST_STEP;
    bool found = false;
    for (int i = 0; i < SOLVES && !(l->request->stop && l->request->stop(l->request->stop_context));
         i++) {
        int64_t best = bytes_of(l, &l->best), left = best - l->below;
        if (left <= best / FINEST + l->request->alignment_bytes)
            return NULL;
        int64_t ahead = found || step >= left / 2 ? left / 2 : step;
        TRY(solve(l, l->below + ahead));
        found = found || bytes_of(l, &l->best) < best;
        step *= 2;
    }
    l->best.stopped = l->request->stop && l->request->stop(l->request->stop_context);
    return NULL;
}

/* The bytes are what they are: is there a faster plan in them? */
static neap_error *hurry(struct least *l) {
    struct plan_result plan;
    TRY(solve_from_both(l, bytes_of(l, &l->best), LAST_MOVES, &plan));
    bool better = bytes_of(l, &plan) <= bytes_of(l, &l->best) &&
                  plan.measure.seconds < l->best.measure.seconds;
    plan_result_free(better ? &l->best : &plan);
    if (better)
        l->best = plan;
    return NULL;
}

neap_error *plan_least(const struct plan_problem *problem, const struct plan_request *request,
                       double most_seconds, struct plan_result *result) {
    struct least l = {.problem = problem, .request = request, .most_seconds = most_seconds};
    struct plan_request all = *request;
    all.strategy = "none";
    all.piece = NULL;
    all.given = NULL;
    all.budget_bytes = INT64_MAX;
    TRY(plan_solve(problem, &all, &l.best));
    neap_error *error = find_bound(&l);
    if (!error)
        error = close_in(&l);
    if (!error && !l.best.stopped)
        error = hurry(&l);
    plan_result_free(&l.other);
    l.best.fits = bytes_of(&l, &l.best) <= request->budget_bytes;
    *result = l.best;
    if (error)
        plan_result_free(result);
    return error;
}
