/* Exhaustive search on steps of a few ops, in the base order and in any: what no schedule can beat,
 * and what one reaches. Replay must find just that in the schedules found, and whatever is planned
 * or proven must not be better. */
#include "support/files.h"

#include "plan/plan.h"
#include "unit/plan/exhaustive.h"

enum { n_problems = 120, most_bits = 16 };

static struct builder b;
static struct exhaustive search;

/* Opens the search on the problem of this seed; false where that is too large. */
static bool open_problem(uint64_t seed, bool fixed_order, double alternatives) {
    struct dice dice = {.seed = seed};
    random_problem(&b, &dice, fixed_order ? 2 + dice_roll(&dice, 4) : 1 + dice_roll(&dice, 3));
    if (dice_chance(&dice, alternatives))
        random_alternatives(&b, &dice);
    exhaustive_close(&search);
    return b.problem.n_values > 3 && b.problem.n_ops > 2 &&
           exhaustive_open(&search, &b.problem, fixed_order, most_bits);
}

static void check_replay(bool fixed_order) {
    struct plan_schedule schedule = {0};
    struct plan_measure measure;
    int n_solved = 0, n_recomputing = 0;
    for (uint64_t seed = 0; n_solved < n_problems; seed++) {
        if (!open_problem(seed, fixed_order, 0.5))
            continue;
        n_solved++;
        double peak_bytes = exhaustive_solve(&search, true, INT64_MAX, &schedule);
        assert_true(isfinite(peak_bytes));
        assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
        assert_true((double)measure.peak_bytes == peak_bytes);
        double seconds = exhaustive_solve(&search, false, (int64_t)peak_bytes, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
        assert_true((double)measure.peak_bytes == peak_bytes);
        assert_true(fabs(measure.seconds - seconds) <= 1e-9 * seconds);
        n_recomputing += measure.recomputed > 0;
        assert_true(isinf(exhaustive_solve(&search, false, (int64_t)peak_bytes - 1, &schedule)));
    }
    assert_true(n_recomputing > n_problems / 40);
    plan_schedule_free(&schedule);
}

static void ReplayFindsInTheBestSchedulesWhatTheSearchFound(void **state) {
    (void)state;
    check_replay(true);
    check_replay(false);
}

static void NoRandomScheduleBeatsTheSearch(void **state) {
    (void)state;
    struct plan_schedule schedule = {0}, best = {0};
    struct plan_measure measure;
    int n_solved = 0, n_best = 0;
    for (uint64_t seed = 0; n_solved < n_problems; seed++) {
        if (!open_problem(seed, false, 0.5))
            continue;
        n_solved++;
        struct dice dice = {.seed = seed + 1};
        int64_t least_bytes = (int64_t)exhaustive_solve(&search, true, INT64_MAX, &best);
        for (int round = 0; round < 50; round++) {
            random_schedule(&b, search.rules, &dice, true, dice_roll(&dice, 4), &schedule);
            assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
            assert_true(measure.peak_bytes >= least_bytes);
            n_best += measure.peak_bytes == least_bytes;
            if (round % 10)
                continue;
            double seconds = exhaustive_solve(&search, false, measure.peak_bytes, &best);
            assert_true(measure.seconds >= seconds * (1 - 1e-9));
        }
    }
    assert_true(n_best > n_problems); /* what is searched is not out of reach */
    plan_schedule_free(&schedule);
    plan_schedule_free(&best);
}

static void check_bound(bool fixed_order) {
    struct plan_schedule schedule = {0};
    struct plan_measure all;
    struct plan_bound bound;
    int n_solved = 0, n_positive = 0, n_met = 0;
    for (uint64_t seed = 0; n_solved < n_problems; seed++) {
        if (!open_problem(seed, fixed_order, 0))
            continue;
        n_solved++;
        int64_t least = (int64_t)exhaustive_solve(&search, true, INT64_MAX, &schedule);
        schedule.n = 0;
        base_order(&b, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &all, NULL));
        for (int part = -1; part <= 4; part++) {
            int64_t budget_bytes = least + (all.peak_bytes - least) * part / 4 - (part < 0);
            assert_no_error(plan_bound(&b.problem, budget_bytes, &bound));
            assert_true(bound.floor_bytes <= least);
            double best = exhaustive_solve(&search, false, budget_bytes, &schedule);
            assert_true(all.seconds + bound.extra_seconds <= best * (1 + 1e-9) || isinf(best));
            n_positive += bound.extra_seconds > 0;
            n_met += isfinite(best) && bound.extra_seconds > 0 &&
                     all.seconds + bound.extra_seconds >= best * (1 - 1e-9);
        }
    }
    print_message("%d bounds above 0, %d of them met exactly\n", n_positive, n_met);
    assert_true(n_positive > n_problems / 20);
    plan_schedule_free(&schedule);
}

static void NoScheduleBeatsTheBound(void **state) {
    (void)state;
    check_bound(true);
    check_bound(false);
}

static void check_solve(bool fixed_order) {
    struct plan_schedule schedule = {0};
    struct plan_measure all;
    int n_solved = 0, n_plans = 0, n_optimal = 0;
    for (uint64_t seed = 0; n_solved < n_problems / 4; seed++) {
        if (!open_problem(seed, fixed_order, 0.5))
            continue;
        n_solved++;
        int64_t least = (int64_t)exhaustive_solve(&search, true, INT64_MAX, &schedule);
        schedule.n = 0;
        base_order(&b, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &all, NULL));
        for (int part = 0; part <= 4; part++) {
            int64_t budget_bytes = least + (all.peak_bytes - least) * part / 4;
            struct plan_request request = {.strategy = "auto",
                                           .fixed_order = fixed_order,
                                           .live_peak = true,
                                           .budget_bytes = budget_bytes,
                                           .alignment_bytes = 64};
            struct plan_result result = {0};
            assert_no_error(plan_solve(&b.problem, &request, &result));
            double best = exhaustive_solve(&search, false, budget_bytes, &schedule);
            assert_true(result.measure.peak_bytes >= least);
            n_plans++;
            if (result.fits) {
                assert_true(result.measure.seconds >= best * (1 - 1e-9));
                n_optimal += result.measure.seconds <= best * (1 + 1e-9);
            }
            plan_result_free(&result);
        }
    }
    print_message("%s order: %d of %d plans are optimal\n", fixed_order ? "base" : "any", n_optimal,
                  n_plans);
    assert_true(n_optimal >= n_plans * 9 / 10);
    plan_schedule_free(&schedule);
}

static void NothingPlannedIsBetterThanTheOptimum(void **state) {
    (void)state;
    check_solve(true);
    check_solve(false);
}

static int release(void **state) {
    (void)state;
    exhaustive_close(&search);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ReplayFindsInTheBestSchedulesWhatTheSearchFound),
        cmocka_unit_test(NoRandomScheduleBeatsTheSearch),
        cmocka_unit_test(NoScheduleBeatsTheBound),
        cmocka_unit_test(NothingPlannedIsBetterThanTheOptimum),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
