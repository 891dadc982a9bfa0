/* Settling moves executions back towards the base order and changes nothing else. */
#include "plan/settle.h"

#include "unit/plan/random_sequence.h"

enum { n_problems = 500 };

static struct builder b;
static struct plan_schedule given, found, other;

static void run(bool fixed_order, int64_t limit_bytes, struct plan_schedule *out) {
    struct sequence *s;
    assert_no_error(sequence_create(&b.problem, fixed_order, &s));
    assert_no_error(plan_schedule_copy(out, &given));
    assert_no_error(settle(s, limit_bytes, out));
    sequence_free(s);
}

static void assert_same_executions(void) {
    uint32_t n_more[max_ops] = {0};
    assert_int_equal(found.n, given.n);
    for (size_t i = 0; i < given.n; i++)
        n_more[given.ops[i]]++;
    for (size_t i = 0; i < found.n; i++)
        assert_true(n_more[found.ops[i]]-- > 0);
}

/* Pairs of ops whose first runs stand in the base order. */
static int n_in_order(const struct plan_schedule *schedule) {
    uint32_t first[max_ops] = {0};
    int n = 0;
    for (size_t i = schedule->n; i-- > 0;)
        first[plan_primary(&b.problem, schedule->ops[i])] = (uint32_t)i;
    for (uint32_t o = 1; o < b.problem.n_ops; o++)
        n += first[o - 1] < first[o];
    return n;
}

static void ThePeakStaysWithinTheLimit(void **state) {
    (void)state;
    int n_before = 0, n_after = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        bool fixed_order = dice_chance(&dice, 0.3);
        random_sequence_problem(&b, &dice);
        random_start(&b, &dice, fixed_order, &given);
        int64_t peak = measure_of(&b, &given).peak_bytes;
        int64_t limit = peak * (8 + dice_roll(&dice, 5)) / 10;
        run(fixed_order, limit, &found);
        assert_true(measure_of(&b, &found).peak_bytes <= (limit > peak ? limit : peak));
        assert_same_executions();
        if (fixed_order)
            assert_true(keeps_base_order(&b, &found));
        run(fixed_order, limit, &other);
        assert_true(same_schedules(&found, &other));
        n_before += n_in_order(&given);
        n_after += n_in_order(&found);
    }
    assert_true(n_after > n_before);
}

static void settles_to(const char *text, const char *before, int64_t limit_bytes,
                       const char *after) {
    builder_read(&b, text);
    plan_schedule_free(&given);
    plan_schedule_free(&other);
    read_schedule(&b, before, &given);
    read_schedule(&b, after, &other);
    run(false, limit_bytes, &found);
    assert_true(same_schedules(&found, &other));
}

static void TheBaseOrderComesBackWhereItFits(void **state) {
    (void)state;
    const char *const branches = "input x 64\n"
                                 "forward 1 a : x -> a1 8\n"
                                 "forward 1 b : a1 -> a2 8\n"
                                 "forward 1 c : -> c1 64\n"
                                 "forward 1 d : c1 -> c2 8\n"
                                 "forward 1 e : a2 c2 -> y 8\n";
    settles_to(branches, "c a b d e", INT64_MAX, "a b c d e");
    settles_to(branches, "c a b d e", 79, "c a b d e"); /* b needs 80 bytes even so */
}

/* Without a1 beside c1 80 bytes are enough. */
static void FurtherRunsStandBeforeTheirReaders(void **state) {
    (void)state;
    const char *const skip = "input x 8\n"
                             "forward 1 a : x -> a1 64\n"
                             "forward 1 b : a1 -> a2 8\n"
                             "forward 1 c : a2 -> c1 64\n"
                             "forward 1 d : c1 -> c2 8\n"
                             "forward 1 e : a1 c2 -> y 8\n";
    settles_to(skip, "a b c a d e", 80, "a b c d a e");
    settles_to(skip, "a b a c d e", 136, "a b c d a e");
    settles_to(skip, "a b c a d e", 79, "a b c a d e");
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
        cmocka_unit_test(ThePeakStaysWithinTheLimit),
        cmocka_unit_test(TheBaseOrderComesBackWhereItFits),
        cmocka_unit_test(FurtherRunsStandBeforeTheirReaders),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
