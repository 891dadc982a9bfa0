/* Beam search gives an order that replays, every op once; wide enough, the best there is. */
#include "plan/order.h"

#include "unit/plan/random_sequence.h"

enum { n_problems = 400 };

static struct builder b;
static struct plan_schedule found, other;

static void EveryOpRunsOnceAndItReplays(void **state) {
    (void)state;
    int n_better = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        uint32_t width = 1 + dice_roll(&dice, 12);
        random_sequence_problem(&b, &dice);
        assert_no_error(plan_order_beam(&b.problem, width, &found));
        assert_int_equal(found.n, b.problem.n_ops);
        assert_int_equal(measure_of(&b, &found).recomputed, 0);
        other.n = 0;
        base_order(&b, &other);
        n_better += measure_of(&b, &found).peak_bytes < measure_of(&b, &other).peak_bytes;
        assert_no_error(plan_order_beam(&b.problem, width, &other));
        assert_true(same_schedules(&found, &other));
    }
    assert_true(n_better > n_problems / 10);
}

/* Two branches of three ops, in turns in the base order: one after the other is better. */
static void BranchesRunOneAfterTheOther(void **state) {
    (void)state;
    builder_read(&b, "input x 8\n"
                     "forward 1 a : x -> a1 64\n"
                     "forward 1 b : x -> b1 64\n"
                     "forward 1 c : a1 -> a2 64\n"
                     "forward 1 d : b1 -> b2 64\n"
                     "forward 1 e : a2 -> a3 8\n"
                     "forward 1 f : b2 -> b3 8\n"
                     "forward 1 g : a3 b3 -> y 8\n");
    assert_no_error(plan_order_beam(&b.problem, 16, &found));
    assert_int_equal(measure_of(&b, &found).peak_bytes, 8 + 64 + 64);
}

/* More ops than are tried from one state, and more states than there are orders. */
static void ManyReadyOpsAreNoTrouble(void **state) {
    (void)state;
    builder_start(&b);
    for (uint32_t o = 0; o < 100; o++) {
        struct op_spec spec = {.phase = PLAN_FORWARD, .seconds = 1, .n_outputs = 1};
        spec.outputs[0] = builder_output(&b, 1 + o % 3);
        builder_op(&b, &spec);
    }
    assert_no_error(plan_order_beam(&b.problem, 64, &found));
    assert_int_equal(found.n, 100);
    assert_int_equal(measure_of(&b, &found).peak_bytes, 3);
    builder_start(&b);
    assert_no_error(plan_order_beam(&b.problem, 64, &found));
    assert_int_equal(found.n, 0);
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&found);
    plan_schedule_free(&other);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryOpRunsOnceAndItReplays),
        cmocka_unit_test(BranchesRunOneAfterTheOther),
        cmocka_unit_test(ManyReadyOpsAreNoTrouble),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
