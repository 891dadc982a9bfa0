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

/* The schedules in `good` replay, those in `broken` do not. */
static void assert_judged(const char *problem, const char *const *good, const char *const *broken) {
    for (; *good; good++)
        assert_no_error(replay(problem, *good));
    for (; *broken; broken++) {
        neap_error *error = replay(problem, *broken);
        if (!error)
            print_error("accepted: %s\n", *broken);
        assert_error(error, NEAP_ERROR_INTERNAL, "");
    }
}

static void AnyOrderThatDataAndHazardsAllow(void **state) {
    (void)state;
    assert_judged("input x 64\npersistent w\n"
                  "forward 1 a : x w -> p 64\n"
                  "forward 1 b : x -> q 64\n"
                  "backward 1 c : p -> d 64\n"
                  "update 1 sgd : d -> updates w\n"
                  "backward 1 e : q -> f 64\n",
                  (const char *const[]){"b e a c sgd", "a c sgd b e", "b a c e sgd", NULL},
                  (const char *const[]){"b e a sgd c", "c a sgd b e", "a c sgd a b e", NULL});
}

/* What a step stores outside the arena is read as in the base order too. */
static void StoredGradientsAreReadBehindTheirProducer(void **state) {
    (void)state;
    assert_judged("input x 64\npersistent dw\npersistent norm\npersistent log\n"
                  "forward 1 old : dw -> updates log effect\n"
                  "backward 1 g : x -> dw\n"
                  "backward 1 n : dw -> norm\n"
                  "update 1 scale : norm -> updates dw\n"
                  "update 1 clear : -> updates dw\n",
                  (const char *const[]){NULL, NULL},
                  (const char *const[]){"g old n scale clear", "old n g scale clear",
                                        "old g scale n clear", "old g n clear scale", NULL});
}

static void WhatIsWrittenWholeIsNotWrittenAgainBehindAnUpdate(void **state) {
    (void)state;
    assert_judged("persistent loss\npersistent log\n"
                  "forward 1 f : -> loss\n"
                  "backward 1 g : loss -> updates log\n"
                  "backward 1 h : -> updates loss\n",
                  (const char *const[]){"f g h", "f g f h", "f f g h", NULL},
                  (const char *const[]){"f g h f", "g f f h", "f h g", NULL});
}

/* Contributions to one sum in the arena. */
static const char sum[] = "input x 64\n"
                          "forward 1 zero : x -> s 64\n"
                          "forward 1 peek : s -> p 64\n"
                          "backward 1 a : x -> updates s\n"
                          "backward 1 between : s -> q 64\n"
                          "backward 1 b : x -> updates s\n"
                          "backward 1 end : s -> r 64\n";

static void SumsKeepTheirOrderAndTheirReaders(void **state) {
    (void)state;
    assert_judged(
        sum,
        (const char *const[]){"zero peek a between b end", "zero zero peek a between b end",
                              "zero peek zero a between b end", NULL},
        (const char *const[]){"zero peek b between a end", "zero a peek between b end",
                              "zero peek a b between end", "zero peek a between end b",
                              "zero peek a zero between b end", "zero peek a between b zero end",
                              "zero peek a a between b end", "peek zero a between b end", NULL});
}

static void AnUpdateKeepsItsValueAlive(void **state) {
    (void)state;
    assert_no_error(replay(sum, "zero peek a between b end"));
    assert_life("s", 0, 0, 5, "");
    assert_int_equal(measure.peak_bytes, 3 * 64);
}

/* Of a value nobody reads any more the producer may run again, for what else it makes. */
static void ASumIsNotMissedWhereNobodyReadsIt(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n"
                           "forward 1 f : x -> s 64 t 64\n"
                           "backward 1 a : x -> updates s\n"
                           "backward 1 b : t -> d 64\n",
                           "f a f b"));
    assert_life("s", 0, 0, 1, "");
    assert_life("s", 1, 2, 2, "");
}

/* Without a part of its own the update may read what lies in the arena. */
static void NoLifeCrossesTheSeam(void **state) {
    (void)state;
    static const char crossing[] = "input x 64\npersistent w\npersistent dw\n"
                                   "backward 1 g : x -> d 64 updates dw\n"
                                   "update 1 sgd : d dw -> updates w last\n";
    static const char input[] = "input x 64\npersistent w\npersistent dw\n"
                                "backward 1 g : x -> updates dw\n"
                                "update 1 sgd : x dw -> updates w last\n";
    static const char inside[] = "input x 64\npersistent w\npersistent dw\n"
                                 "backward 1 g : x -> updates dw\n"
                                 "update 1 norm : dw -> n 64 last\n"
                                 "update 1 sgd : n dw -> updates w last\n";
    assert_error(replay(input, NULL), NEAP_ERROR_INTERNAL, "of a micro-batch");
    assert_no_error(replay(inside, NULL));
    assert_error(replay(crossing, NULL), NEAP_ERROR_INTERNAL, "of a micro-batch");
    b.ops[1].update_part = false;
    assert_no_error(plan_replay(&b.problem, &schedule, &measure, &lives));
}

static const char choice[] = "input x 64\n"
                             "forward 2 f : x -> y 256 mask 64\n"
                             "backward 1 g : mask -> d 64\n"
                             "instead g 3 h : y -> d scratch 512 over y d\n"
                             "instead f 4 slow : x -> y mask scratch2 1024\n";

static void AnAlternativeCountsAsItsOp(void **state) {
    (void)state;
    assert_judged(choice,
                  (const char *const[]){"f g", "f h", "slow g", "f slow h", "slow f g", NULL},
                  (const char *const[]){"f", "f g h", "f h g", "f h h", "h f", "slow", NULL});
    assert_no_error(replay(choice, "slow f h"));
    assert_int_equal(measure.recomputed, 1);
    assert_true(measure.seconds == 4 + 2 + 3);
}

static void AnAlternativeHasItsOwnInputsScratchAndRights(void **state) {
    (void)state;
    assert_no_error(replay(choice, "f g"));
    assert_int_equal(measure.peak_bytes, 64 + 256 + 64); /* y dies, as nobody reads it */
    assert_life("y", 0, 0, 0, "");
    assert_life("mask", 0, 0, 1, "");
    assert_no_error(replay(choice, "f h"));
    assert_life("mask", 0, 0, 0, "");
    assert_life("y", 0, 0, 1, "");
    assert_life("d", 0, 1, 1, "y");
    assert_life("scratch", 0, 1, 1, "");
    assert_int_equal(measure.peak_bytes, 256 + 512);
    assert_no_error(replay(choice, "slow g"));
    assert_int_equal(measure.peak_bytes, 64 + 256 + 64 + 1024);
}

/* It stands where its primary does: h reads w as it was before sgd. */
static void AnAlternativeHasItsPrimarysPlace(void **state) {
    (void)state;
    assert_judged("input x 64\npersistent w\n"
                  "backward 1 g : x -> d 64\n"
                  "update 1 sgd : x -> updates w\n"
                  "instead g 1 h : x w -> d\n",
                  (const char *const[]){"g sgd", "sgd g", "h sgd", NULL},
                  (const char *const[]){"sgd h", NULL});
}

static void ANumberThatIsNoOpIsRefused(void **state) {
    (void)state;
    assert_no_error(replay(choice, "f g"));
    schedule.ops[1] = 4; /* two ops, two alternatives */
    assert_error(plan_replay(&b.problem, &schedule, &measure, &lives), NEAP_ERROR_INTERNAL,
                 "there is no op 4");
}

static void AnEmptyScheduleOfNothingIsFree(void **state) {
    (void)state;
    assert_no_error(replay("input x 64\n", NULL));
    assert_int_equal(measure.peak_bytes, 0);
    assert_int_equal(lives.n, 1);
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
        cmocka_unit_test(AnyOrderThatDataAndHazardsAllow),
        cmocka_unit_test(StoredGradientsAreReadBehindTheirProducer),
        cmocka_unit_test(WhatIsWrittenWholeIsNotWrittenAgainBehindAnUpdate),
        cmocka_unit_test(SumsKeepTheirOrderAndTheirReaders),
        cmocka_unit_test(AnUpdateKeepsItsValueAlive),
        cmocka_unit_test(ASumIsNotMissedWhereNobodyReadsIt),
        cmocka_unit_test(NoLifeCrossesTheSeam),
        cmocka_unit_test(AnAlternativeCountsAsItsOp),
        cmocka_unit_test(AnAlternativeHasItsOwnInputsScratchAndRights),
        cmocka_unit_test(AnAlternativeHasItsPrimarysPlace),
        cmocka_unit_test(ANumberThatIsNoOpIsRefused),
        cmocka_unit_test(AnEmptyScheduleOfNothingIsFree),
        cmocka_unit_test(LivesAreOptional),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
