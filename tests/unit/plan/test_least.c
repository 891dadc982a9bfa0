/* The smallest arena for so much time: within the time, and no larger than what an exhaustive
 * search needs for it. */
#include "support/files.h"

#include "plan/plan.h"
#include "unit/plan/exhaustive.h"

enum { n_problems = 20, log_states = 18 };

static const struct plan_request live = {
    .budget_bytes = INT64_MAX, .alignment_bytes = 1, .moves = 5000, .live_peak = true};

static double once_seconds(const struct plan_problem *problem) {
    double seconds = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        seconds += problem->ops[o].seconds;
    return seconds;
}

static void random_small(uint64_t seed, struct builder *b) {
    struct dice dice = {.seed = seed};
    random_problem(b, &dice, 2 + dice_roll(&dice, 3));
}

/* A budget between the least peak and store-all's, and the least seconds for it, are what the
 * exhaustive search says; in these seconds no more bytes are needed. */
static void needs_no_more_than_the_best_plan(void **state) {
    (void)state;
    static struct builder b;
    int compared = 0, tight = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct exhaustive e;
        struct plan_result all, least;
        random_small(seed, &b);
        struct plan_request none = live;
        none.strategy = "none";
        assert_no_error(plan_solve(&b.problem, &none, &all));
        if (exhaustive_open(&e, &b.problem, false, log_states)) {
            struct plan_schedule schedule = {0};
            int64_t floor = (int64_t)exhaustive_solve(&e, true, INT64_MAX, &schedule);
            int64_t budget = (floor + all.measure.peak_bytes) / 2;
            double seconds = exhaustive_solve(&e, false, budget, &schedule);
            assert_no_error(plan_least(&b.problem, &live, seconds, &least));
            assert_true(least.fits);
            assert_true(least.measure.seconds <= seconds * (1 + 1e-8));
            assert_true(least.measure.peak_bytes >= floor);
            assert_true(least.measure.peak_bytes <= budget);
            tight += least.measure.peak_bytes < all.measure.peak_bytes;
            compared++;
            plan_result_free(&least);
            plan_schedule_free(&schedule);
        }
        exhaustive_close(&e);
        plan_result_free(&all);
    }
    assert_true(compared > n_problems / 2);
    assert_true(tight > n_problems / 4); /* store-all would not have done */
}

static void plan_at(uint64_t seed, double factor, const struct plan_request *request,
                    struct plan_result *least) {
    static struct builder b;
    struct dice dice = {.seed = seed};
    random_problem(&b, &dice, 20);
    assert_no_error(plan_least(&b.problem, request, factor * once_seconds(&b.problem), least));
    struct plan_measure measure;
    assert_no_error(plan_replay(&b.problem, &least->schedule, &measure, NULL));
    assert_true(measure.seconds <= factor * once_seconds(&b.problem) * (1 + 1e-8));
    assert_true(measure.peak_bytes <= least->arena_bytes);
}

static void more_time_needs_fewer_bytes(void **state) {
    (void)state;
    const struct plan_request request = {
        .budget_bytes = INT64_MAX, .alignment_bytes = 64, .moves = 2000};
    int fewer = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct plan_result quick, slow;
        plan_at(seed, 1, &request, &quick);
        plan_at(seed, 1.5, &request, &slow);
        assert_true(slow.arena_bytes <= quick.arena_bytes);
        fewer += slow.arena_bytes < quick.arena_bytes;
        plan_result_free(&quick);
        plan_result_free(&slow);
    }
    assert_true(fewer > 4);
}

static void the_same_request_gives_the_same_plan(void **state) {
    (void)state;
    const struct plan_request request = {
        .budget_bytes = INT64_MAX, .alignment_bytes = 64, .moves = 2000};
    struct plan_result first, second;
    plan_at(3, 1.2, &request, &first);
    plan_at(3, 1.2, &request, &second);
    assert_int_equal(first.schedule.n, second.schedule.n);
    assert_memory_equal(first.schedule.ops, second.schedule.ops,
                        first.schedule.n * sizeof *first.schedule.ops);
    plan_result_free(&first);
    plan_result_free(&second);
}

static bool at_once(void *context) {
    (void)context;
    return true;
}

static void stopped_it_is_store_all(void **state) {
    (void)state;
    const struct plan_request request = {
        .budget_bytes = 1, .alignment_bytes = 64, .moves = 2000, .stop = at_once};
    struct plan_result plan;
    plan_at(3, 1.5, &request, &plan);
    assert_true(plan.stopped && !plan.fits && !plan.measure.recomputed);
    plan_result_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_no_more_than_the_best_plan),
        cmocka_unit_test(more_time_needs_fewer_bytes),
        cmocka_unit_test(the_same_request_gives_the_same_plan),
        cmocka_unit_test(stopped_it_is_store_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
