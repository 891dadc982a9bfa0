/* What a schedule costs: small cases whose numbers were worked out by hand. */
#include "support/files.h"

#include "unit/plan/builder.h"

static struct builder b;
static struct plan_schedule schedule;
static struct plan_lives lives;
static struct plan_measure measure;

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    plan_lives_free(&lives);
    return 0;
}

static neap_error *replay(const char *problem, const char *sequence) {
    release(NULL);
    builder_read(&b, problem);
    read_schedule(&b, sequence, &schedule);
    return plan_replay(&b.problem, &schedule, &measure, &lives);
}

/* The life's steps; and in place of the life of which value ("" for none). */
static void assert_life(const char *value, int n, uint32_t first, uint32_t last,
                        const char *in_place_of) {
    const struct plan_life *life = life_named(&b, &lives, value, n);
    assert_int_equal(life->first_step, first);
    assert_int_equal(life->last_step, last);
    if (!*in_place_of)
        assert_int_equal(life->in_place_of, PLAN_NONE);
    else
        assert_int_equal(lives.at[life->in_place_of].value, value_named(&b, in_place_of));
}

static const char chain[] = "input x 64\n"
                            "forward 1 f1 : x -> a 256\n"
                            "forward 2 f2 : a -> b 128\n"
                            "forward 3 f3 : b -> c 512\n"
                            "backward 1 b3 : c b -> gb 128\n"
                            "backward 1 b2 : gb a -> ga 256\n"
                            "backward 1 b1 : ga x -> dx 64\n";

/* Live bytes by step: 320 448 960 1088 704 384. */
static void PeakIsTheMostLiveBytesOfAnyStep(void **state) {
    (void)state;
    assert_no_error(replay(chain, NULL));
    assert_int_equal(measure.peak_bytes, 1088);
    assert_int_equal(measure.peak_step, 3);
    assert_true(measure.seconds == 9);
    assert_int_equal(measure.recomputed, 0);
}

static void LivesEndAtTheirLastRead(void **state) {
    (void)state;
    assert_no_error(replay(chain, NULL));
    assert_int_equal(lives.n, 7);
    assert_life("x", 0, 0, 5, "");
    assert_life("a", 0, 0, 4, "");
    assert_life("b", 0, 1, 3, "");
    assert_life("c", 0, 2, 3, "");
    assert_life("gb", 0, 3, 4, "");
    assert_life("ga", 0, 4, 5, "");
    assert_life("dx", 0, 5, 5, "");
}

/* Live bytes by step: 320 448 704 832 448 704 384. */
static void RecomputeStartsANewLife(void **state) {
    (void)state;
    assert_no_error(replay(chain, "f1 f2 f3 b3 f1 b2 b1"));
    assert_int_equal(measure.peak_bytes, 832);
    assert_int_equal(measure.peak_step, 3);
    assert_true(measure.seconds == 10);
    assert_int_equal(measure.recomputed, 1);
    assert_life("a", 0, 0, 1, "");
    assert_life("a", 1, 4, 5, "");
}

static void ReadsBindToLatestExecution(void **state) {
    (void)state;
    assert_no_error(replay(chain, "f1 f1 f2 f3 b3 b2 b1"));
    assert_life("a", 0, 0, 0, "");
    assert_life("a", 1, 1, 5, "");
}

static void LivesStandByFirstStepThenByOutput(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> a 64 b 64 c 64\n"
                           "backward 1 g : c b a -> d 64\n",
                           "f f g"));
    static const char *const expected[] = {"x", "a", "b", "c", "a", "b", "c", "d"};
    assert_int_equal(lives.n, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(lives.at[i].value, value_named(&b, expected[i]));
}

static void InputsLiveFromStepZero(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\ninput late 640\ninput unread 32\n"
                           "forward 1 f : x -> a 64\n"
                           "backward 1 g : a late -> d 64\n",
                           NULL));
    assert_life("late", 0, 0, 1, "");
    assert_life("unread", 0, 0, 0, "");
    assert_int_equal(measure.peak_bytes, 64 + 640 + 32 + 64);
    assert_int_equal(measure.peak_step, 0);
}

static void ScratchDiesInItsStep(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> a 64 scratch 1024\n"
                           "backward 1 g : a -> d 512\n",
                           NULL));
    assert_life("scratch", 0, 0, 0, "");
    assert_int_equal(measure.peak_bytes, 64 + 64 + 1024);
}

static void PersistentValuesCostNothingAndHaveNoLives(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\npersistent w\npersistent loss\n"
                           "forward 1 f : x w -> loss\n",
                           NULL));
    assert_int_equal(lives.n, 1);
    assert_int_equal(measure.peak_bytes, 64);
}

static void InPlaceSharesBytesWhenTheInputDies(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> y 256\n"
                           "forward 1 relu : y -> z 256 over y z\n"
                           "backward 1 g : z -> d 64\n",
                           NULL));
    assert_life("z", 0, 1, 2, "y");
    assert_int_equal(measure.peak_bytes, 64 + 256);
    assert_int_equal(measure.peak_step, 0);
}

static void InPlaceIsRefusedWhereTheInputIsReadLater(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> y 256\n"
                           "forward 1 relu : y -> z 256 over y z\n"
                           "backward 1 g : z y -> d 64\n",
                           NULL));
    assert_life("z", 0, 1, 2, "");
    assert_int_equal(measure.peak_bytes, 256 + 256 + 64);
}

/* The second execution of relu reads y after the first: only the second may overwrite it. */
static void RecomputeIsANewReader(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> y 256\n"
                           "forward 1 relu : y -> z 256 over y z\n"
                           "forward 1 h : z -> u 64\n"
                           "backward 1 g : u z -> d 64\n",
                           "f relu h relu g"));
    assert_life("z", 0, 1, 2, "");
    assert_life("z", 1, 3, 4, "y");
    assert_int_equal(measure.peak_bytes, 256 + 256 + 64);
    assert_int_equal(measure.peak_step, 2);
}

static void InPlaceNeedsNoMoreBytesThanTheInputHas(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> y 64\n"
                           "forward 1 grow : y -> z 128 over y z\n"
                           "forward 1 shrink : z -> u 64 over z u\n",
                           NULL));
    assert_life("z", 0, 1, 2, "");
    assert_life("u", 0, 2, 2, "z");
    assert_int_equal(measure.peak_bytes, 64 + 128);
}

static void AnInputMayBeOverwrittenToo(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\nforward 1 f : x -> y 64 over x y\n", NULL));
    assert_life("y", 0, 0, 0, "x");
    assert_int_equal(measure.peak_bytes, 64);
}

static void InPlaceGoesToTheFirstPairInOrder(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> a 64 b 64\n"
                           "forward 1 g : a b -> c 64 d 64 over b c over a c over b d over a d\n",
                           NULL));
    assert_life("c", 0, 1, 1, "b");
    assert_life("d", 0, 1, 1, "a");
    assert_int_equal(measure.peak_bytes, 3 * 64);
}

static const char training[] = "input x 64\npersistent w\npersistent dw\npersistent n\n"
                               "forward 1 f : x w -> y 64\n"
                               "forward 1 count : y -> updates n effect\n"
                               "backward 1 g1 : y -> dy 64\n"
                               "backward 1 g2 : dy x -> updates dw\n"
                               "backward 1 g3 : dy y -> updates dw\n"
                               "update 1 sgd : dw -> updates w last\n";

static void BreakingARuleIsRefused(void **state) {
    (void)state;
    static const char *const broken[] = {
        "count f g1 g2 g3 sgd",       /* reads y before it is made */
        "f count g1 g2 g3",           /* sgd never runs */
        "f count g1 g2 g3 sgd g3",    /* a backward op runs twice */
        "f count count g1 g2 g3 sgd", /* an effect runs twice */
        "f g1 g2 g3 sgd",             /* an effect never runs */
        "f count g1 g3 g2 sgd",       /* two updates of dw change places */
        "f count g1 g2 sgd g3",       /* a micro-batch's op behind the update */
        "f count g1 g2 g3 sgd f",     /* f would read the new w */
    };
    assert_no_error(replay(training, NULL));
    assert_no_error(replay(training, "f g1 f g2 count g3 sgd"));
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        neap_error *error = replay(training, broken[i]);
        if (!error)
            print_error("accepted: %s\n", broken[i]);
        assert_error(error, NEAP_ERROR_INTERNAL, "");
    }
}

static void LivesAreOptional(void **state) {
    (void)state;
    assert_no_error(replay(chain, NULL));
    struct plan_measure alone;
    assert_no_error(plan_replay(&b.problem, &schedule, &alone, NULL));
    assert_memory_equal(&alone.peak_bytes, &measure.peak_bytes, sizeof alone.peak_bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PeakIsTheMostLiveBytesOfAnyStep),
        cmocka_unit_test(LivesEndAtTheirLastRead),
        cmocka_unit_test(RecomputeStartsANewLife),
        cmocka_unit_test(ReadsBindToLatestExecution),
        cmocka_unit_test(LivesStandByFirstStepThenByOutput),
        cmocka_unit_test(InputsLiveFromStepZero),
        cmocka_unit_test(ScratchDiesInItsStep),
        cmocka_unit_test(PersistentValuesCostNothingAndHaveNoLives),
        cmocka_unit_test(InPlaceSharesBytesWhenTheInputDies),
        cmocka_unit_test(InPlaceIsRefusedWhereTheInputIsReadLater),
        cmocka_unit_test(RecomputeIsANewReader),
        cmocka_unit_test(InPlaceNeedsNoMoreBytesThanTheInputHas),
        cmocka_unit_test(AnInputMayBeOverwrittenToo),
        cmocka_unit_test(InPlaceGoesToTheFirstPairInOrder),
        cmocka_unit_test(BreakingARuleIsRefused),
        cmocka_unit_test(LivesAreOptional),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
