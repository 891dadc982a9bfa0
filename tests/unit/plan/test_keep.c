/* From what is kept to a schedule. */
#include "support/files.h"

#include "plan/plan.h"
#include "unit/plan/random_bare.h"

static struct builder b;
static struct plan_schedule from, schedule, expected;

static const char step[] = "input x 8\n"
                           "forward 1 f : x -> a 16\n"
                           "forward 1 g : a -> b 64\n"
                           "forward 1 h : b -> c 32\n"
                           "backward 1 h2 : c b -> db 8\n"
                           "backward 1 g2 : db a -> da 8\n"
                           "backward 1 f2 : da x -> dx 8\n";

/* The same without phases. */
static const char bare[] = "forward 1 x : -> x 8\n"
                           "forward 1 f : x -> a 16\n"
                           "forward 1 g : a -> b 64\n"
                           "forward 1 h : b -> c 32\n"
                           "forward 1 h2 : c b -> db 8\n"
                           "forward 1 g2 : db a -> da 8\n"
                           "forward 1 f2 : da x -> dx 8\n";

static void assert_schedule(const char *text) {
    plan_schedule_free(&expected);
    read_schedule(&b, text, &expected);
    assert_int_equal(schedule.n, expected.n);
    assert_memory_equal(schedule.ops, expected.ops, schedule.n * sizeof *schedule.ops);
}

static void TheBorderIsTheFirstOpThatIsNotForward(void **state) {
    (void)state;
    builder_read(&b, step);
    assert_int_equal(plan_border(&b.problem), op_named(&b, "h2"));
}

static void WithoutPhasesTheBorderIsThePeakOfKeepingEverything(void **state) {
    (void)state;
    builder_read(&b, bare);
    assert_int_equal(plan_border(&b.problem), op_named(&b, "h2")); /* x a b c db: 128 */
}

static void assert_drops(const char *text, const char *dropped, const char *result) {
    bool drop[max_values] = {0};
    builder_read(&b, text);
    for (const char *name = dropped; *name; name++)
        drop[value_named(&b, (char[]){*name, 0})] = true;
    assert_no_error(plan_schedule_dropping(&b.problem, drop, &schedule));
    assert_schedule(result);
}

static void DroppedValuesAreMadeJustBeforeTheirUse(void **state) {
    (void)state;
    assert_drops(step, "", "f g h h2 g2 f2");
    assert_drops(step, "a", "f g h h2 f g2 f2");
    assert_drops(step, "b", "f g h g h2 g2 f2");
    assert_drops(step, "ab", "f g h f g h2 g2 f2");
    assert_drops(bare, "a", "x f g h h2 f g2 f2");
    assert_drops(bare, "xa", "x f g h h2 x f g2 f2");
}

static void assert_keeps(const char *start, uint32_t before, const char *forgotten,
                         const char *result) {
    bool kept[max_values];
    memset(kept, true, sizeof kept);
    builder_read(&b, bare);
    plan_schedule_free(&from);
    read_schedule(&b, start, &from);
    for (const char *name = forgotten; *name; name++)
        kept[value_named(&b, (char[]){*name, 0})] = false;
    assert_no_error(plan_schedule_keeping(&b.problem, &from, before, kept, &schedule));
    assert_schedule(result);
}

static void ValuesCanBeForgottenAtAnyStepOfAnySchedule(void **state) {
    (void)state;
    const char *const base = "x f g h h2 g2 f2";
    assert_keeps(base, 0, "xabc", base); /* nothing is there yet */
    assert_keeps(base, 5, "x", "x f g h h2 g2 x f2");
    assert_keeps(base, 7, "xabc", base); /* nothing comes any more */
    assert_keeps("x f g h f g h2 g2 f2", 7, "a", "x f g h f g h2 f g2 f2");
    assert_keeps("x f g h f g h2 g2 f2", 4, "x", "x f g h x f g h2 g2 f2");
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&from);
    plan_schedule_free(&schedule);
    plan_schedule_free(&expected);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheBorderIsTheFirstOpThatIsNotForward),
        cmocka_unit_test(WithoutPhasesTheBorderIsThePeakOfKeepingEverything),
        cmocka_unit_test(DroppedValuesAreMadeJustBeforeTheirUse),
        cmocka_unit_test(ValuesCanBeForgottenAtAnyStepOfAnySchedule),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
