/* Bare planning problems: read, planned under a budget for the live peak, reported, written. The
 * plan comes first; what time is left goes into the smallest budget there is. */
#include <math.h>
#include <stdio.h>

#include "base/digits.h"
#include "base/file.h"
#include "base/process.h"
#include "fmt/problem_text.h"
#include "plan/plan.h"
#include "train/deadline.h"

/* Sums of the same costs in another order differ by no more of the whole. */
static const double rounding = 1e-11;

struct bare {
    const struct neap_problem_options *options;
    struct neap_problem_report *report;
    struct plan_problem problem;
    struct plan_result plan;
    struct deadline deadline;
};

static neap_error *measure_store_all(struct bare *b) {
    struct plan_schedule schedule = {0};
    struct plan_measure measure;
    neap_error *error = NULL;
    for (uint32_t o = 0; o < b->problem.n_ops; o++)
        TRY_GOTO(plan_schedule_push(&schedule, o));
    TRY_GOTO(plan_replay(&b->problem, &schedule, &measure, NULL));
    b->report->peak_store_all_bytes = measure.peak_bytes;
    b->report->cost_store_all = measure.seconds;
done:
    plan_schedule_free(&schedule);
    return error;
}

/* Rounded down; long double holds the product exactly for whole percents. */
static int64_t budget_of(const struct neap_size *arena, int64_t peak_bytes) {
    if (arena->kind == NEAP_SIZE_BYTES)
        return arena->bytes;
    if (arena->kind != NEAP_SIZE_PERCENT)
        return peak_bytes;
    long double bytes = (long double)arena->percent * (long double)peak_bytes / 100;
    return bytes < 0x1p62L ? (int64_t)bytes : (int64_t)1 << 62;
}

/* The plan, and the smallest peak that any was found for. */
static neap_error *solve_both(struct bare *b) {
    struct neap_problem_report *r = b->report;
    const struct plan_request request = {.strategy = "auto",
                                         .budget_bytes = r->budget_bytes,
                                         .alignment_bytes = 1,
                                         .live_peak = true,
                                         .fixed_order = b->options->order == NEAP_ORDER_FIXED,
                                         .seed = b->options->seed,
                                         .stop = deadline_passed,
                                         .stop_context = &b->deadline};
    struct plan_result least;
    TRY(plan_solve(&b->problem, &request, &b->plan));
    r->smallest_budget_bytes = b->plan.measure.peak_bytes;
    r->stopped = b->plan.stopped;
    if (deadline_passed(&b->deadline))
        return NULL;
    TRY(plan_solve_smallest(&b->problem, &request, &least));
    if (least.measure.peak_bytes < r->smallest_budget_bytes)
        r->smallest_budget_bytes = least.measure.peak_bytes;
    plan_result_free(&least);
    return NULL;
}

static double fraction(double seconds, double whole_seconds) {
    return whole_seconds > 0 ? seconds / whole_seconds : 0;
}

/* What the plan costs beside what any must. A bound above a plan is a bug of ours. */
static neap_error *compare(struct bare *b, double extra_seconds) {
    struct neap_problem_report *r = b->report;
    bool possible = isfinite(extra_seconds);
    r->cost = b->plan.measure.seconds;
    r->overhead = fraction(r->cost - r->cost_store_all, r->cost_store_all);
    r->overhead_lower_bound = possible ? fraction(extra_seconds, r->cost_store_all) : INFINITY;
    r->gap = r->fits ? r->overhead - r->overhead_lower_bound : NAN;
    r->proven = r->fits && r->gap <= rounding;
    if (r->fits && r->gap < -rounding)
        return error_make(NEAP_ERROR_INTERNAL,
                          "%s: a plan costs %.17g more, yet the bound says %.17g at least",
                          b->options->path, r->cost - r->cost_store_all, extra_seconds);
    return NULL;
}

static neap_error *fill_report(struct bare *b) {
    struct neap_problem_report *r = b->report;
    struct plan_bound bound;
    struct plan_bounds *bounds;
    TRY(plan_bounds_open(&b->problem, b->options->order == NEAP_ORDER_FIXED, &bounds));
    plan_bounds_at(bounds, r->budget_bytes, &bound, NULL);
    plan_bounds_close(bounds);
    r->peak_bytes = b->plan.measure.peak_bytes;
    r->arena_bytes = b->plan.arena_bytes;
    r->fits = r->peak_bytes <= r->budget_bytes;
    r->recomputed_ops = b->plan.measure.recomputed;
    r->peak_lower_bound_bytes = bound.floor_bytes;
    r->smallest_proven = r->smallest_budget_bytes == bound.floor_bytes;
    snprintf(r->strategy, sizeof r->strategy, "%s", b->plan.strategy);
    return compare(b, bound.extra_seconds);
}

/* The error of a budget that no plan was found for. */
static neap_error *refuse(const struct bare *b) {
    const struct neap_problem_report *r = b->report;
    bool impossible = !isfinite(r->overhead_lower_bound);
    return error_make(NEAP_ERROR_BUDGET,
                      "%s does not fit in %s bytes%s\n"
                      "  least found is %s bytes, and every schedule needs at least %s\n"
                      "  would fit:  --arena %lld",
                      b->options->path, digits_of(r->budget_bytes).text,
                      impossible   ? ": no schedule does"
                      : r->stopped ? ", as far as the time limit let the search go"
                                   : ", as far as the search went",
                      digits_of(r->smallest_budget_bytes).text,
                      digits_of(r->peak_lower_bound_bytes).text,
                      (long long)r->smallest_budget_bytes);
}

static neap_error *plan_and_report(struct bare *b) {
    struct neap_problem_report *r = b->report;
    double start = process_seconds();
    b->deadline = deadline_start(b->options->time_limit_seconds);
    TRY(measure_store_all(b));
    r->budget_bytes = budget_of(&b->options->arena, r->peak_store_all_bytes);
    TRY(solve_both(b));
    TRY(fill_report(b));
    r->solver_seconds = process_seconds() - start;
    r->ops = b->problem.n_ops;
    return r->fits ? NULL : refuse(b);
}

neap_error *neap_problem_plan(const struct neap_problem_options *options,
                              struct neap_problem_report *report) {
    struct bare b = {.options = options, .report = report};
    struct file_writer *writer = NULL;
    neap_error *error;
    *report = (struct neap_problem_report){0};
    TRY_GOTO(problem_text_read(options->path, &b.problem));
    if (options->output) /* better known now than after the search */
        TRY_GOTO(file_writer_open(options->output, &writer));
    TRY_GOTO(plan_and_report(&b));
    if (writer) {
        problem_text_write_schedule(&b.plan.schedule, file_writer_stream(writer));
        error = file_writer_commit(writer);
        writer = NULL;
    }
done:
    file_writer_abort(writer);
    plan_result_free(&b.plan);
    pool_free(&b.problem.pool);
    return error;
}
