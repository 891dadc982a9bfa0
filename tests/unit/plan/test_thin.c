/* Runs that are not needed go, others stay. */
#include "support/files.h"

#include "plan/plan.h"
#include "unit/plan/random_bare.h"

enum { n_problems = 1000 };

static struct builder b;
static struct plan_schedule schedule, expected;

static const char diamond[] = "input x 8\n"
                              "forward 2 f : x -> a 16\n"
                              "forward 1 g : a -> b 64\n"
                              "forward 4 h : b -> c 32\n"
                              "forward 1 i : c a -> d 8\n"
                              "forward 1 j : d b -> e 8\n";

static void thins_to(const char *text, const char *before, int64_t limit_bytes, const char *after) {
    plan_schedule_free(&schedule);
    plan_schedule_free(&expected);
    builder_read(&b, text);
    read_schedule(&b, before, &schedule);
    read_schedule(&b, after, &expected);
    assert_no_error(plan_schedule_thin(&b.problem, limit_bytes, &schedule));
    assert_int_equal(schedule.n, expected.n);
    assert_memory_equal(schedule.ops, expected.ops, schedule.n * sizeof *schedule.ops);
}

static void assert_thins_to(const char *before, int64_t limit_bytes, const char *after) {
    thins_to(diamond, before, limit_bytes, after);
}

static void ARunThatNobodyReadsGoes(void **state) {
    (void)state;
    assert_thins_to("f g h i g j h", 0, "f g h i g j");
    assert_thins_to("f g f h i j", 0, "f g h i j"); /* a's first life goes on */
}

/* With everything kept, a, b, c and d are live at i: 120 bytes. */
static void ARunGoesWhereItsOutputCanStay(void **state) {
    (void)state;
    assert_thins_to("f g h f i f g j", 120, "f g h i j");
    assert_thins_to("f g h f i f g j", 119, "f g h f i g j"); /* a stays from i to g for nothing */
}

/* It needs x, b and c at h: 104 bytes. */
/* At r, b takes the place of a; were a to stay, both would need bytes there. */
static void AnInputOverwrittenInPlaceCannotStayForNothing(void **state) {
    (void)state;
    const char *const text = "input x 8\n"
                             "forward 2 f : x -> a 64\n"
                             "forward 1 r : a -> b 64 over a b\n"
                             "forward 1 k : a -> d 8\n";
    thins_to(text, "f r f k", 135, "f r f k");
    thins_to(text, "f r f k", 136, "f r k");
}

static void APeakAboveTheLimitIsNoWorseAfterwards(void **state) {
    (void)state;
    assert_thins_to("f g h f i f g j", 0, "f g h f i g j");
    assert_thins_to("f g h i f g j", 0, "f g h i j"); /* 120 bytes at h before, at i now */
}

static void RandomSchedulesNeverNeedMoreMemoryOrTime(void **state) {
    (void)state;
    static struct order_rules rules;
    uint32_t n_gone = 0, n_left = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct plan_measure before, after;
        random_problem(&b, &dice, 2 + dice_roll(&dice, 12));
        order_rules_of(&b, &rules);
        random_schedule(&b, &rules, &dice, false, 10, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &before, NULL));
        int64_t limit = dice_chance(&dice, 0.5) ? 0 : before.peak_bytes * 5 / 4;
        assert_no_error(plan_schedule_thin(&b.problem, limit, &schedule));
        assert_no_error(plan_replay(&b.problem, &schedule, &after, NULL));
        int64_t allowed = before.peak_bytes > limit ? before.peak_bytes : limit;
        assert_true(after.peak_bytes <= allowed && after.seconds <= before.seconds * (1 + 1e-9));
        n_gone += before.recomputed - after.recomputed;
        n_left += after.recomputed;
    }
    assert_true(n_gone > n_problems && n_left > n_problems / 10);
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    plan_schedule_free(&expected);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ARunThatNobodyReadsGoes),
        cmocka_unit_test(ARunGoesWhereItsOutputCanStay),
        cmocka_unit_test(AnInputOverwrittenInPlaceCannotStayForNothing),
        cmocka_unit_test(APeakAboveTheLimitIsNoWorseAfterwards),
        cmocka_unit_test(RandomSchedulesNeverNeedMoreMemoryOrTime),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
