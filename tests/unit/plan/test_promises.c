/* What plan_solve promises, on random steps of all kinds at budgets from the floor to store-all's
 * arena, whatever the solver is: every result is a plan, no fixed strategy is better, the same
 * request gives the same plan, and one that is stopped at once still gives what a fixed strategy
 * has. */
#include "support/files.h"

#include "plan/plan.h"
#include "unit/plan/random_problem.h"

enum { n_problems = 120, n_budgets = 4, alignment = 64, moves = 2000 };

static struct builder b;

static bool at_once(void *context) {
    ++*(int *)context;
    return true;
}

static struct plan_request request_of(const char *strategy, int64_t budget_bytes) {
    return (struct plan_request){.strategy = strategy,
                                 .budget_bytes = budget_bytes,
                                 .alignment_bytes = alignment,
                                 .moves = moves};
}

/* Calls `test` with a request for `auto` on each problem at each budget. */
static void for_each_request(void (*test)(struct plan_request request, void *context),
                             void *context) {
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct plan_request none = request_of("none", INT64_MAX);
        struct plan_result all;
        struct plan_bound bound;
        random_problem(&b, &dice, 2 + dice_roll(&dice, 8));
        random_alternatives(&b, &dice);
        assert_no_error(plan_solve(&b.problem, &none, &all));
        assert_no_error(plan_bound(&b.problem, INT64_MAX, &bound));
        for (int part = 0; part < n_budgets; part++) {
            int64_t range = all.arena_bytes - bound.floor_bytes;
            struct plan_request request =
                request_of("auto", bound.floor_bytes + range * part / n_budgets);
            request.live_peak = dice_chance(&dice, 0.3);
            request.fixed_order = dice_chance(&dice, 0.3);
            request.seed = dice_roll(&dice, 3);
            test(request, context);
        }
        plan_result_free(&all);
    }
}

/* ---- every result is a plan ----------------------------------------------------------------- */

static bool is_in_base_order(const struct plan_schedule *schedule) {
    bool runs[max_ops] = {false};
    for (size_t s = 0; s < schedule->n; s++) {
        uint32_t o = plan_primary(&b.problem, schedule->ops[s]);
        if (!runs[o] && o > 0 && !runs[o - 1])
            return false;
        runs[o] = true;
    }
    return true;
}

static void check_result(struct plan_request request, void *context) {
    struct plan_result result;
    struct plan_measure measure;
    (void)context;
    assert_no_error(plan_solve(&b.problem, &request, &result));
    struct plan_claim claim = {.peak_bytes = result.measure.peak_bytes,
                               .arena_bytes = result.arena_bytes,
                               .alignment_bytes = alignment,
                               .seconds = result.measure.seconds};
    assert_no_error(plan_check(&b.problem, &result.schedule, &result.lives, &claim));
    assert_no_error(plan_replay(&b.problem, &result.schedule, &measure, NULL));
    assert_int_equal(measure.peak_bytes, result.measure.peak_bytes);
    assert_int_equal(measure.recomputed, result.measure.recomputed);
    assert_true(measure.seconds == result.measure.seconds);
    if (!request.live_peak)
        assert_int_equal(result.fits, result.arena_bytes <= request.budget_bytes);
    if (request.fixed_order)
        assert_true(is_in_base_order(&result.schedule));
    assert_true(result.strategy[0] && !result.stopped);
    plan_result_free(&result);
}

static void EveryResultIsAPlan(void **state) {
    (void)state;
    for_each_request(check_result, NULL);
}

/* ---- no fixed strategy is better ------------------------------------------------------------ */

static const char *const strategies[] = {"none",         "sqrt",         "all",
                                         "sequential:2", "sequential:3", "sequential:4"};
enum { n_strategies = sizeof strategies / sizeof *strategies };

/* NULL: there is no such plan, or it does not fit. */
static const struct plan_result *fixed_plan(struct plan_request request, const char *strategy,
                                            struct plan_result *result) {
    request.strategy = strategy;
    neap_error *error = plan_solve(&b.problem, &request, result);
    if (error) {
        assert_error(error, NEAP_ERROR_USAGE, "cut");
        return NULL;
    }
    return result->fits ? result : NULL;
}

static void check_against_fixed(struct plan_request request, void *context) {
    struct plan_result result;
    int *n_compared = context;
    assert_no_error(plan_solve(&b.problem, &request, &result));
    for (int i = 0; i < n_strategies; i++) {
        struct plan_result fixed = {0};
        if (fixed_plan(request, strategies[i], &fixed)) {
            assert_true(result.fits);
            assert_true(result.measure.seconds <= fixed.measure.seconds);
            ++*n_compared;
        }
        plan_result_free(&fixed);
    }
    plan_result_free(&result);
}

static void NoFixedStrategyIsBetter(void **state) {
    (void)state;
    int n_compared = 0;
    for_each_request(check_against_fixed, &n_compared);
    assert_true(n_compared > n_problems / 2);
}

/* ---- the same request, the same plan -------------------------------------------------------- */

static void check_repetition(struct plan_request request, void *context) {
    struct plan_result one, other;
    (void)context;
    assert_no_error(plan_solve(&b.problem, &request, &one));
    assert_no_error(plan_solve(&b.problem, &request, &other));
    assert_int_equal(one.schedule.n, other.schedule.n);
    assert_memory_equal(one.schedule.ops, other.schedule.ops,
                        one.schedule.n * sizeof *one.schedule.ops);
    assert_int_equal(one.lives.n, other.lives.n);
    for (size_t i = 0; i < one.lives.n; i++)
        assert_int_equal(one.lives.at[i].offset, other.lives.at[i].offset);
    assert_string_equal(one.strategy, other.strategy);
    plan_result_free(&one);
    plan_result_free(&other);
}

static void TheSameRequestGivesTheSamePlan(void **state) {
    (void)state;
    for_each_request(check_repetition, NULL);
}

/* ---- more bytes, no more seconds ------------------------------------------------------------ */

static void check_monotone(struct plan_request request, void *context) {
    struct plan_result less, more;
    double step_seconds = 0;
    int *n_compared = context;
    for (uint32_t o = 0; o < b.problem.n_ops; o++)
        step_seconds += b.ops[o].seconds;
    request.moves = 0; /* as many as a user's plan gets */
    assert_no_error(plan_solve(&b.problem, &request, &less));
    request.budget_bytes += round_up(request.budget_bytes / 10, alignment);
    assert_no_error(plan_solve(&b.problem, &request, &more));
    assert_true(more.fits || !less.fits);
    if (less.fits) {
        assert_true(more.measure.seconds <= less.measure.seconds + 0.001 * step_seconds);
        ++*n_compared;
    }
    plan_result_free(&less);
    plan_result_free(&more);
}

static void MoreBytesCostNoMoreSeconds(void **state) {
    (void)state;
    int n_compared = 0;
    for_each_request(check_monotone, &n_compared);
    assert_true(n_compared > n_problems);
}

/* ---- stopped -------------------------------------------------------------------------------- */

static void check_stopped(struct plan_request request, void *context) {
    struct plan_result result;
    int *n_fit = context, n_asked = 0;
    request.stop = at_once;
    request.stop_context = &n_asked;
    assert_no_error(plan_solve(&b.problem, &request, &result));
    for (int i = 0; i < n_strategies; i++) {
        struct plan_result fixed = {0};
        if (fixed_plan(request, strategies[i], &fixed)) {
            assert_true(result.fits);
            assert_true(result.measure.seconds <= fixed.measure.seconds);
            ++*n_fit;
        }
        plan_result_free(&fixed);
    }
    plan_result_free(&result);
}

static void StoppedAtOnceItGivesWhatAFixedStrategyHas(void **state) {
    (void)state;
    int n_fit = 0;
    for_each_request(check_stopped, &n_fit);
    assert_true(n_fit > n_problems / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryResultIsAPlan),
        cmocka_unit_test(NoFixedStrategyIsBetter),
        cmocka_unit_test(TheSameRequestGivesTheSamePlan),
        cmocka_unit_test(MoreBytesCostNoMoreSeconds),
        cmocka_unit_test(StoppedAtOnceItGivesWhatAFixedStrategyHas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
