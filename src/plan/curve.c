/* curve: the frontier of memory and time, each budget's plan being a start for its neighbours'.
 *
 *   seconds
 *     |o                  first the two ends; then, one budget at a time, the middle of a gap:
 *     | o    ← next here  half of the budgets go to the widest gap, so that none is empty, the
 *     |    o              rest to the one with the largest area of bytes × seconds, which is what
 *     |           o     o is not known of the frontier. A last pass goes from tight to loose.
 *     +------------------ bytes
 *
 * Every plan that is found is offered to the frontier: a plan for a tight budget fits a loose one
 * too, so what is neither smaller nor faster than another is forgotten. That makes the curve
 * monotone, whatever the solver does. Memory: O(points × steps). */
#include "plan/curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Effort of one solve, where the request does not say. */
enum { MOVES = 200000 };
/* sequential:K for more segments than this is not a strategy that anybody uses. */
enum { MOST_SEGMENTS = 64 };
enum { N_BOUNDS = 65 };
/* A gap of fewer bytes than 1/this of store-all's is not worth a budget. */
enum { FINEST = 2048 };

/* The sum of the same seconds in another order is not faster. */
static const double rounding = 1e-9;

struct search {
    const struct plan_problem *problem;
    const struct plan_request *request;
    struct plan_curve *curve;
};

void plan_curve_free(struct plan_curve *curve) {
    for (size_t i = 0; i < curve->n_points; i++)
        plan_result_free(&curve->points[i].plan);
    free(curve->points);
    free(curve->marks);
    free(curve->bounds);
    *curve = (struct plan_curve){0};
}

/* ---- the frontier --------------------------------------------------------------------------- */

static int64_t bytes_of(const struct search *s, const struct plan_result *plan) {
    return s->request->live_peak ? plan->measure.peak_bytes : plan->arena_bytes;
}

static bool faster(double a, double b) {
    return a < b - rounding * fabs(b);
}

/* The last point within the budget; the first where none is. There is at least one. */
static size_t answer(const struct plan_curve *curve, int64_t budget) {
    size_t i = 0;
    while (i + 1 < curve->n_points && curve->points[i + 1].bytes <= budget)
        i++;
    return i;
}

/* Puts the plan in front of point `at`, in place of `n_worse` points from there on. */
static neap_error *insert(struct plan_curve *curve, size_t at, size_t n_worse,
                          const struct plan_curve_point *point) {
    TRY(memory_grow(&curve->points, &curve->points_capacity, curve->n_points + 1,
                    sizeof *curve->points));
    for (size_t i = at; i < at + n_worse; i++)
        plan_result_free(&curve->points[i].plan);
    memmove(curve->points + at + 1, curve->points + at + n_worse,
            (curve->n_points - at - n_worse) * sizeof *curve->points);
    curve->points[at] = *point;
    curve->n_points += 1 - n_worse;
    return NULL;
}

/* Takes the plan, found for `budget`, or frees it where it is on no frontier. */
static neap_error *offer(const struct search *s, struct plan_result *plan, int64_t budget) {
    struct plan_curve *curve = s->curve;
    const struct plan_curve_point *points = curve->points;
    const struct plan_curve_point new = {
        .plan = *plan, .bytes = bytes_of(s, plan), .budget_bytes = bytes_of(s, plan)};
    size_t at = 0, n_worse = 0;
    while (at < curve->n_points && points[at].bytes < new.bytes)
        at++;
    /* the last point that fits in the plan's bytes is the fastest that does */
    size_t n_fitting = at + (at < curve->n_points && points[at].bytes == new.bytes);
    if (n_fitting && !faster(plan->measure.seconds, points[n_fitting - 1].plan.measure.seconds)) {
        plan_result_free(plan);
    } else {
        while (at + n_worse < curve->n_points &&
               !faster(points[at + n_worse].plan.measure.seconds, plan->measure.seconds))
            n_worse++;
        neap_error *error = insert(curve, at, n_worse, &new);
        if (error) {
            plan_result_free(plan);
            return error;
        }
    }
    struct plan_curve_point *point = &curve->points[answer(curve, budget)];
    if (point->budget_bytes < budget)
        point->budget_bytes = budget;
    return NULL;
}

/* ---- solving -------------------------------------------------------------------------------- */

static neap_error *solve(const struct search *s, const char *strategy, int64_t budget,
                         struct plan_result *plan) {
    const struct plan_curve *curve = s->curve;
    struct plan_request request = *s->request;
    struct plan_schedule warm[3];
    request.strategy = strategy;
    request.piece = NULL;
    request.given = NULL;
    request.budget_bytes = budget;
    request.moves = request.moves ? request.moves : MOVES;
    request.warm = warm;
    request.n_warm = 0;
    /* the plan that fits, a looser one to tighten, a tighter one to loosen */
    size_t at = curve->n_points ? answer(curve, budget) : 0;
    for (size_t i = at ? at - 1 : 0; i < curve->n_points && i <= at + 1; i++)
        warm[request.n_warm++] = curve->points[i].plan.schedule;
    return plan_solve(s->problem, &request, plan);
}

static neap_error *solve_and_offer(const struct search *s, int64_t budget) {
    struct plan_result plan;
    TRY(solve(s, "auto", budget, &plan));
    return offer(s, &plan, budget);
}

static bool stopped(const struct search *s) {
    const struct plan_request *r = s->request;
    s->curve->stopped = s->curve->stopped || (r->stop && r->stop(r->stop_context));
    return s->curve->stopped;
}

/* The middle of the gap that says the most, or -1 where none is worth a budget. */
static int64_t next_budget(const struct plan_curve *curve, bool widest) {
    const struct plan_curve_point *p = curve->points;
    const int64_t finest = curve->n_points ? p[curve->n_points - 1].bytes / FINEST + 2 : 2;
    int64_t budget = -1;
    double most = 0;
    for (size_t i = 0; i + 1 < curve->n_points; i++) {
        int64_t width = p[i + 1].bytes - p[i].budget_bytes;
        double drop = p[i].plan.measure.seconds - p[i + 1].plan.measure.seconds;
        double worth = (double)width * (widest ? 1 : drop);
        if (width >= finest && worth > most) {
            most = worth;
            budget = p[i].budget_bytes + width / 2;
        }
    }
    return budget;
}

static neap_error *refine(const struct search *s, size_t n_budgets) {
    for (size_t solved = 2; solved < n_budgets && !stopped(s); solved++) {
        int64_t budget = next_budget(s->curve, solved < n_budgets / 2);
        if (budget < 0)
            return NULL;
        TRY(solve_and_offer(s, budget));
    }
    return NULL;
}

/* Once more from tight to loose: by now every point has close neighbours to start from. */
static neap_error *polish(const struct search *s) {
    int64_t *budgets;
    const size_t n = s->curve->n_points;
    TRY(memory_alloc(n, sizeof *budgets, &budgets));
    for (size_t i = 0; i < n; i++)
        budgets[i] = s->curve->points[i].budget_bytes;
    neap_error *error = NULL;
    for (size_t i = 0; !error && i < n && !stopped(s); i++)
        error = solve_and_offer(s, budgets[i]);
    free(budgets);
    return error;
}

/* ---- what it is compared with --------------------------------------------------------------- */

static neap_error *mark(const struct search *s, const char *strategy) {
    struct plan_curve *curve = s->curve;
    struct plan_result plan;
    TRY(memory_grow(&curve->marks, &curve->marks_capacity, curve->n_marks + 1,
                    sizeof *curve->marks));
    TRY(solve(s, strategy, INT64_MAX, &plan));
    struct plan_curve_mark *m = &curve->marks[curve->n_marks++];
    *m = (struct plan_curve_mark){.arena_bytes = plan.arena_bytes,
                                  .peak_bytes = plan.measure.peak_bytes,
                                  .recomputed = plan.measure.recomputed,
                                  .seconds = plan.measure.seconds};
    snprintf(m->strategy, sizeof m->strategy, "%s", strategy);
    return offer(s, &plan, 0);
}

static neap_error *mark_segments(const struct search *s) {
    int64_t cuts;
    TRY(plan_count_cuts(s->problem, &cuts));
    if (!cuts)
        return NULL;
    TRY(mark(s, "sqrt"));
    TRY(mark(s, "all"));
    for (int64_t k = 2; k <= cuts + 1 && k <= MOST_SEGMENTS; k++) {
        char strategy[32];
        snprintf(strategy, sizeof strategy, "sequential:%lld", (long long)k);
        TRY(mark(s, strategy));
    }
    return NULL;
}

static double bound_at(const struct search *s, int64_t bytes, neap_error **error) {
    struct plan_bound bound = {.extra_seconds = 0};
    if (!*error)
        *error = plan_bound(s->problem, bytes, &bound);
    return isfinite(bound.extra_seconds) ? bound.extra_seconds : 0;
}

static neap_error *bound_everywhere(const struct search *s, int64_t store_all_bytes) {
    struct plan_curve *curve = s->curve;
    struct plan_bound bound;
    neap_error *error = NULL;
    TRY(plan_bound(s->problem, store_all_bytes, &bound));
    curve->floor_bytes = bound.floor_bytes;
    TRY(memory_alloc(N_BOUNDS, sizeof *curve->bounds, &curve->bounds));
    const double span = (double)(store_all_bytes - bound.floor_bytes);
    for (size_t i = 0; i < N_BOUNDS; i++) {
        int64_t bytes = bound.floor_bytes + (int64_t)(span * (double)i / (N_BOUNDS - 1));
        curve->bounds[i] = (struct plan_curve_bound){bytes, bound_at(s, bytes, &error)};
    }
    curve->n_bounds = N_BOUNDS;
    for (size_t i = 0; i < curve->n_points; i++)
        curve->points[i].bound_seconds = bound_at(s, curve->points[i].bytes, &error);
    for (size_t i = 0; i < curve->n_marks; i++) {
        struct plan_curve_mark *m = &curve->marks[i];
        m->bound_seconds =
            bound_at(s, s->request->live_peak ? m->peak_bytes : m->arena_bytes, &error);
    }
    return error;
}

static neap_error *draw(const struct search *s, size_t n_budgets) {
    TRY(mark(s, "none"));
    int64_t store_all_bytes = s->curve->points[0].bytes;
    TRY(solve_and_offer(s, store_all_bytes));
    TRY(solve_and_offer(s, 0));
    TRY(refine(s, n_budgets));
    TRY(polish(s));
    TRY(mark_segments(s));
    return bound_everywhere(s, store_all_bytes);
}

neap_error *plan_curve(const struct plan_problem *problem, const struct plan_request *request,
                       size_t n_budgets, struct plan_curve *out) {
    const struct search s = {problem, request, out};
    *out = (struct plan_curve){0};
    neap_error *error = draw(&s, n_budgets);
    if (error)
        plan_curve_free(out);
    return error;
}
