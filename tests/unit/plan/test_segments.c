/* Segments of chains, with phases and without. */
#include "support/files.h"

#include "plan/plan.h"
#include "unit/plan/random_bare.h"

enum { n_layers = 64, n_problems = 300 };

static struct builder b;
static struct plan_schedule schedule;
static struct plan_measure measure;
static bool drop[max_values], other[max_values];

static void replay_dropping(void) {
    assert_no_error(plan_schedule_dropping(&b.problem, drop, &schedule));
    assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
}

static void AChainWithoutPhasesIsDividedWhereItsBackwardBegins(void **state) {
    (void)state;
    int64_t n_cuts, n_other;
    for (int64_t k = 1; k <= n_layers / 2; k++) {
        unit_chain(&b, n_layers);
        assert_no_error(plan_count_cuts(&b.problem, &n_cuts));
        assert_no_error(plan_drop_segments(&b.problem, k, drop));
        for (uint32_t o = n_layers; o < b.problem.n_ops; o++)
            b.ops[o].phase = PLAN_BACKWARD;
        assert_no_error(plan_count_cuts(&b.problem, &n_other));
        assert_no_error(plan_drop_segments(&b.problem, k, other));
        assert_int_equal(n_cuts, n_other);
        assert_memory_equal(drop, other, b.problem.n_values * sizeof *drop);
    }
}

/* K − 1 values are kept, and a segment of at most ⌈64 / K⌉ layers made again. */
static void SequentialSegmentsNeedTheirCutsAndOneSegment(void **state) {
    (void)state;
    unit_chain(&b, n_layers);
    for (int64_t k = 1; k <= n_layers / 2; k++) {
        assert_no_error(plan_drop_segments(&b.problem, k, drop));
        replay_dropping();
        assert_true(measure.peak_bytes <= k + (n_layers + k - 1) / k + 1);
        assert_true(measure.seconds <= 3 * n_layers);
    }
}

static void ThereCanBeNoMoreSegmentsThanCutsAllow(void **state) {
    (void)state;
    int64_t n_cuts;
    unit_chain(&b, n_layers);
    assert_no_error(plan_count_cuts(&b.problem, &n_cuts));
    assert_true(n_cuts > n_layers / 2);
    assert_no_error(plan_drop_segments(&b.problem, n_cuts + 1, drop));
    assert_error(plan_drop_segments(&b.problem, n_cuts + 2, drop), NEAP_ERROR_USAGE, "can be cut");
}

static void TwoChainsSideBySideHaveNoCut(void **state) {
    (void)state;
    int64_t n_cuts;
    builder_read(&b, "forward 1 s : -> a 8 b 8\n"
                     "forward 1 c : a -> c 8\n"
                     "forward 1 d : b -> d 8\n"
                     "forward 1 g : c d -> g 8\n"
                     "forward 1 e : a b c d g -> e 8\n"
                     "forward 1 f : e a b -> f 8\n");
    assert_no_error(plan_count_cuts(&b.problem, &n_cuts));
    assert_int_equal(n_cuts, 0);
    assert_no_error(plan_drop_segments(&b.problem, 0, drop));
    for (uint32_t v = 0; v < b.problem.n_values; v++)
        assert_false(drop[v]);
    assert_error(plan_drop_segments(&b.problem, 2, drop), NEAP_ERROR_USAGE, "1 at most");
}

static void SegmentsOfAnyBareProblemReplay(void **state) {
    (void)state;
    uint32_t n_recomputing = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        int64_t n_cuts;
        random_bare(&b, &dice, 1 + dice_roll(&dice, 40));
        assert_no_error(plan_count_cuts(&b.problem, &n_cuts));
        for (int64_t k = 0; k <= n_cuts + 1; k++) {
            assert_no_error(plan_drop_segments(&b.problem, k, drop));
            replay_dropping();
            n_recomputing += measure.recomputed > 0;
        }
    }
    assert_true(n_recomputing > n_problems);
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AChainWithoutPhasesIsDividedWhereItsBackwardBegins),
        cmocka_unit_test(SequentialSegmentsNeedTheirCutsAndOneSegment),
        cmocka_unit_test(ThereCanBeNoMoreSegmentsThanCutsAllow),
        cmocka_unit_test(TwoChainsSideBySideHaveNoCut),
        cmocka_unit_test(SegmentsOfAnyBareProblemReplay),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
