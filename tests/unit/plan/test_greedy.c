/* The greedy comes under the target where it can, and never makes what it was given worse. */
#include "plan/greedy.h"

#include "unit/plan/random_sequence.h"

enum { n_problems = 400 };

static struct builder b;
static struct plan_schedule given, found, other;

static void run(bool fixed_order, int64_t target_bytes, struct plan_schedule *out) {
    struct sequence *s;
    assert_no_error(sequence_create(&b.problem, fixed_order, &s));
    assert_no_error(plan_schedule_copy(out, &given));
    assert_no_error(plan_greedy(s, target_bytes, out));
    sequence_free(s);
}

static void ItIsNeverWorseThanItsStart(void **state) {
    (void)state;
    int n_better = 0, n_within = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        bool fixed_order = dice_chance(&dice, 0.3);
        random_sequence_problem(&b, &dice);
        random_start(&b, &dice, fixed_order, &given);
        struct plan_measure before = measure_of(&b, &given), after;
        int64_t target = before.peak_bytes * (2 + dice_roll(&dice, 10)) / 10;
        run(fixed_order, target, &found);
        after = measure_of(&b, &found);
        if (before.peak_bytes <= target) {
            assert_true(after.peak_bytes <= target);
            assert_true(after.seconds <= before.seconds + 1e-9);
            n_better += after.seconds < before.seconds;
        } else {
            assert_true(after.peak_bytes <= before.peak_bytes);
            n_better += after.peak_bytes < before.peak_bytes;
            n_within += after.peak_bytes <= target;
        }
        if (fixed_order)
            assert_true(keeps_base_order(&b, &found));
        run(fixed_order, target, &other);
        assert_true(same_schedules(&found, &other));
    }
    assert_true(n_better > n_problems / 4 && n_within > n_problems / 10);
}

static void reads(const char *text, const char *names) {
    builder_read(&b, text);
    plan_schedule_free(&given);
    read_schedule(&b, names, &given);
}

static const char skip[] = "input x 8\n"
                           "forward 1 f : x -> a 64\n"
                           "forward 1 g : a -> c 32\n"
                           "forward 1 h : c -> d 64\n"
                           "forward 1 i : d -> e 8\n"
                           "forward 1 j : e a -> k 8\n";

/* At h a lies in the way; made again before j it does not. */
static void AGapAtThePeakIsClosed(void **state) {
    (void)state;
    reads(skip, NULL);
    assert_int_equal(measure_of(&b, &given).peak_bytes, 160);
    run(false, 110, &found);
    plan_schedule_free(&other);
    read_schedule(&b, "f g h i f j", &other);
    assert_true(same_schedules(&found, &other));
}

/* The second f is what keeps the peak down: it stays, although nothing is to be closed. */
static void WhatFitsKeepsTheRunsThatItNeeds(void **state) {
    (void)state;
    reads(skip, "f g h i f j");
    run(false, 110, &found);
    assert_true(same_schedules(&found, &given));
    run(false, 160, &found);
    assert_int_equal(found.n, b.problem.n_ops);
}

/* Nothing can be made again: the schedule stays as it is. */
static void WithoutAGapNothingChanges(void **state) {
    (void)state;
    reads("input x 8\n"
          "backward 1 f : x -> a 64\n"
          "backward 1 g : a -> c 32\n"
          "backward 1 h : a c -> d 64\n",
          NULL);
    run(false, 0, &found);
    assert_true(same_schedules(&found, &given));
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&given);
    plan_schedule_free(&found);
    plan_schedule_free(&other);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ItIsNeverWorseThanItsStart),
        cmocka_unit_test(AGapAtThePeakIsClosed),
        cmocka_unit_test(WhatFitsKeepsTheRunsThatItNeeds),
        cmocka_unit_test(WithoutAGapNothingChanges),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
