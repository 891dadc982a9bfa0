/* Cuts at peaks as a seed: its schedules on random training steps and bare problems, and on chains,
 * where the bound says what can be had. */
#include "support/files.h"

#include <math.h>

#include "plan/plan.h"
#include "unit/plan/random_bare.h"

enum { n_problems = 40 };

static struct builder b;
static struct plan_schedule schedule, other;
static struct plan_measure all, measure; /* keeping everything; the schedule */

static void store_all(void) {
    assert_no_error(plan_base_order(&b.problem, &schedule));
    assert_no_error(plan_replay(&b.problem, &schedule, &all, NULL));
}

static void seed_at(int64_t budget_bytes) {
    assert_no_error(plan_seed_cut(&b.problem, budget_bytes, &schedule));
    assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
}

static void assert_first_runs_in_base_order(void) {
    uint32_t next = 0;
    for (size_t s = 0; s < schedule.n; s++) {
        assert_true(schedule.ops[s] <= next);
        next += schedule.ops[s] == next;
    }
}

/* Everything that holds at any budget; true where the schedule fits. */
static bool check_at(int64_t budget_bytes) {
    struct plan_bound bound;
    seed_at(budget_bytes);
    assert_first_runs_in_base_order();
    assert_no_error(plan_bound(&b.problem, budget_bytes, &bound));
    assert_true(measure.peak_bytes <= all.peak_bytes && measure.peak_bytes >= bound.floor_bytes);
    bool fits = measure.peak_bytes <= budget_bytes;
    if (fits)
        assert_true(measure.seconds >= (all.seconds + bound.extra_seconds) * (1 - 1e-9));
    return fits;
}

static void check_budgets(int *n_fits, int *n_recomputing) {
    store_all();
    for (int part = 10; part > 0; part -= 2) {
        bool fits = check_at(all.peak_bytes * part / 10);
        assert_true(fits || part < 10);
        *n_fits += fits;
        *n_recomputing += fits && measure.recomputed > 0;
    }
}

static void SchedulesOfTrainingStepsReplay(void **state) {
    (void)state;
    int n_fits = 0, n_recomputing = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        random_problem(&b, &dice, 2 + dice_roll(&dice, 16));
        check_budgets(&n_fits, &n_recomputing);
    }
    assert_true(n_fits > n_problems && n_recomputing > n_problems / 4);
}

static void SchedulesOfBareProblemsReplay(void **state) {
    (void)state;
    int n_fits = 0, n_recomputing = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        random_bare(&b, &dice, 2 + dice_roll(&dice, 40));
        check_budgets(&n_fits, &n_recomputing);
    }
    assert_true(n_fits > n_problems && n_recomputing > n_problems / 4);
}

static void KeepingEverythingIsTakenWhereItFits(void **state) {
    (void)state;
    random_bare(&b, &(struct dice){.seed = 3}, 30);
    store_all();
    seed_at(all.peak_bytes);
    assert_int_equal(schedule.n, b.problem.n_ops);
    seed_at(INT64_MAX);
    assert_int_equal(schedule.n, b.problem.n_ops);
}

static void ChainsAreSolvedExactlyDownToSqrtMemory(void **state) {
    (void)state;
    const uint32_t n_layers = 64;
    unit_chain(&b, n_layers);
    store_all();
    for (int64_t slots = all.peak_bytes; slots >= 17; slots--) {
        struct plan_bound bound;
        assert_no_error(plan_bound(&b.problem, slots, &bound));
        seed_at(slots);
        assert_true(measure.peak_bytes <= slots);
        assert_true(measure.seconds <= all.seconds + bound.extra_seconds + 0.5);
    }
}

/* Below the square root, values have to be made again more than once. */
static void ValuesAreMadeAgainSeveralTimesWhereMemoryIsVeryShort(void **state) {
    (void)state;
    uint32_t runs[max_ops] = {0}, most = 0;
    unit_chain(&b, 64);
    store_all();
    seed_at(9);
    assert_true(measure.peak_bytes <= 9);
    for (size_t s = 0; s < schedule.n; s++) {
        runs[schedule.ops[s]]++;
        most = runs[schedule.ops[s]] > most ? runs[schedule.ops[s]] : most;
    }
    assert_true(most > 2);
}

static void WhatCannotFitComesAsNearAsItCan(void **state) {
    (void)state;
    unit_chain(&b, 32);
    store_all();
    seed_at(0);
    assert_true(measure.peak_bytes < all.peak_bytes / 4);
}

static void TheSameProblemGivesTheSameSchedule(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < n_problems / 4; seed++) {
        struct dice dice = {.seed = seed};
        random_problem(&b, &dice, 16);
        store_all();
        seed_at(all.peak_bytes / 2);
        assert_no_error(plan_seed_cut(&b.problem, all.peak_bytes / 2, &other));
        assert_int_equal(schedule.n, other.n);
        assert_memory_equal(schedule.ops, other.ops, schedule.n * sizeof *schedule.ops);
    }
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    plan_schedule_free(&other);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(SchedulesOfTrainingStepsReplay),
        cmocka_unit_test(SchedulesOfBareProblemsReplay),
        cmocka_unit_test(KeepingEverythingIsTakenWhereItFits),
        cmocka_unit_test(ChainsAreSolvedExactlyDownToSqrtMemory),
        cmocka_unit_test(ValuesAreMadeAgainSeveralTimesWhereMemoryIsVeryShort),
        cmocka_unit_test(WhatCannotFitComesAsNearAsItCan),
        cmocka_unit_test(TheSameProblemGivesTheSameSchedule),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
