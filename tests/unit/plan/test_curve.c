/* The frontier of memory and time on random steps: monotone, above the bound, below every fixed
 * strategy. */
#include "support/files.h"

#include <math.h>

#include "plan/curve.h"
#include "unit/plan/random_problem.h"

enum { n_problems = 8, n_budgets = 10 };

static const struct plan_request arena_request = {.alignment_bytes = 64, .moves = 2000};

static void random_curve(uint64_t seed, const struct plan_request *request, struct builder *b,
                         struct plan_curve *curve) {
    struct dice dice = {.seed = seed};
    random_problem(b, &dice, 4 + dice_roll(&dice, 20));
    assert_no_error(plan_curve(&b->problem, request, n_budgets, curve));
}

static struct drawn {
    struct builder b;
    struct plan_curve curve;
} drawn[n_problems];

static int draw_curves(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < n_problems; seed++)
        random_curve(seed, &arena_request, &drawn[seed].b, &drawn[seed].curve);
    return 0;
}

static int free_curves(void **state) {
    (void)state;
    for (size_t i = 0; i < n_problems; i++)
        plan_curve_free(&drawn[i].curve);
    return 0;
}

static double once_seconds(const struct plan_problem *problem) {
    double seconds = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        seconds += problem->ops[o].seconds;
    return seconds;
}

static void more_bytes_are_less_time(void **state) {
    (void)state;
    size_t n_points = 0;
    for (const struct drawn *d = drawn; d < drawn + n_problems; d++) {
        assert_true(d->curve.n_points > 0);
        for (size_t i = 1; i < d->curve.n_points; i++) {
            assert_true(d->curve.points[i - 1].bytes < d->curve.points[i].bytes);
            assert_true(d->curve.points[i - 1].plan.measure.seconds >
                        d->curve.points[i].plan.measure.seconds);
        }
        n_points += d->curve.n_points;
    }
    assert_true(n_points > 3 * n_problems); /* there was something to compare */
}

static void points_are_plans_of_their_bytes(void **state) {
    (void)state;
    for (const struct drawn *d = drawn; d < drawn + n_problems; d++) {
        for (size_t i = 0; i < d->curve.n_points; i++) {
            const struct plan_curve_point *point = &d->curve.points[i];
            struct plan_measure measure;
            assert_no_error(plan_replay(&d->b.problem, &point->plan.schedule, &measure, NULL));
            assert_true(measure.seconds == point->plan.measure.seconds);
            assert_true(measure.peak_bytes <= point->plan.arena_bytes);
            assert_true(point->plan.arena_bytes == point->bytes);
            assert_true(point->budget_bytes >= point->bytes);
        }
    }
}

static void no_point_is_below_the_bound(void **state) {
    (void)state;
    for (const struct drawn *d = drawn; d < drawn + n_problems; d++) {
        double once = once_seconds(&d->b.problem);
        for (size_t i = 0; i < d->curve.n_points; i++) {
            const struct plan_curve_point *point = &d->curve.points[i];
            assert_true(point->bytes >= d->curve.floor_bytes);
            assert_true(point->plan.measure.seconds >= (once + point->bound_seconds) * (1 - 1e-9));
        }
        assert_true(d->curve.bounds[0].bytes == d->curve.floor_bytes);
        for (size_t i = 1; i < d->curve.n_bounds; i++) {
            assert_true(d->curve.bounds[i].bytes >= d->curve.bounds[i - 1].bytes);
            assert_true(d->curve.bounds[i].extra_seconds <=
                        d->curve.bounds[i - 1].extra_seconds + 1e-9);
        }
    }
}

static void no_fixed_strategy_is_below_the_curve(void **state) {
    (void)state;
    for (const struct drawn *d = drawn; d < drawn + n_problems; d++) {
        assert_string_equal(d->curve.marks[0].strategy, "none");
        for (size_t m = 0; m < d->curve.n_marks; m++) {
            double least = INFINITY;
            for (size_t i = 0; i < d->curve.n_points; i++)
                if (d->curve.points[i].bytes <= d->curve.marks[m].arena_bytes)
                    least = d->curve.points[i].plan.measure.seconds;
            assert_true(least <= d->curve.marks[m].seconds * (1 + 1e-8));
        }
    }
}

static void the_same_request_gives_the_same_curve(void **state) {
    (void)state;
    static struct builder b;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct plan_curve first, second;
        random_curve(seed, &arena_request, &b, &first);
        random_curve(seed, &arena_request, &b, &second);
        assert_int_equal(first.n_points, second.n_points);
        for (size_t i = 0; i < first.n_points; i++) {
            const struct plan_schedule *a = &first.points[i].plan.schedule,
                                       *c = &second.points[i].plan.schedule;
            assert_int_equal(a->n, c->n);
            assert_memory_equal(a->ops, c->ops, a->n * sizeof *a->ops);
        }
        plan_curve_free(&first);
        plan_curve_free(&second);
    }
}

static void a_request_for_the_live_peak_is_in_its_bytes(void **state) {
    (void)state;
    static struct builder b;
    const struct plan_request request = {.alignment_bytes = 64, .moves = 2000, .live_peak = true};
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct plan_curve curve;
        random_curve(seed, &request, &b, &curve);
        for (size_t i = 0; i < curve.n_points; i++)
            assert_true(curve.points[i].bytes == curve.points[i].plan.measure.peak_bytes);
        plan_curve_free(&curve);
    }
}

static bool after_three(void *context) {
    return ++*(int *)context > 3;
}

static void a_stopped_curve_starts_at_store_all(void **state) {
    (void)state;
    static struct builder b;
    int asked = 0;
    struct plan_curve whole, cut;
    struct plan_request request = arena_request;
    random_curve(1, &request, &b, &whole);
    request.stop = after_three;
    request.stop_context = &asked;
    random_curve(1, &request, &b, &cut);
    assert_true(cut.stopped && !whole.stopped);
    assert_true(cut.n_points >= 1);
    assert_true(cut.points[cut.n_points - 1].plan.measure.seconds <=
                once_seconds(&b.problem) * (1 + 1e-9));
    plan_curve_free(&whole);
    plan_curve_free(&cut);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_bytes_are_less_time),
        cmocka_unit_test(points_are_plans_of_their_bytes),
        cmocka_unit_test(no_point_is_below_the_bound),
        cmocka_unit_test(no_fixed_strategy_is_below_the_curve),
        cmocka_unit_test(the_same_request_gives_the_same_curve),
        cmocka_unit_test(a_request_for_the_live_peak_is_in_its_bytes),
        cmocka_unit_test(a_stopped_curve_starts_at_store_all),
    };
    return cmocka_run_group_tests(tests, draw_curves, free_curves);
}
