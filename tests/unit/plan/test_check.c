/* The checker: plans written by hand that it must accept, and each rule broken in turn. */
#include "support/files.h"

#include <math.h>

#include "unit/plan/builder.h"

static struct builder b;
static struct plan_schedule schedule;
static struct plan_life life_array[32];
static struct plan_lives lives;
static struct plan_claim claim;

/* Live bytes by step: 384 384 448 704 640 384 0. */
static const char step_text[] = "input x 128\npersistent w\npersistent dw\npersistent n\n"
                                "forward 1 conv : x w -> y 256\n"
                                "forward 1 relu : y -> z 256 over y z\n"
                                "forward 1 loss : z -> p 64 updates n effect\n"
                                "backward 1 dloss : p -> dz 256\n"
                                "backward 1 drelu : dz z -> dy 256 over dz dy\n"
                                "backward 1 dconv : dy x -> updates dw\n"
                                "update 1 sgd : dw -> updates w last\n";
enum { X, Y, Z, P, DZ, DY };
static const struct {
    const char *value;
    struct plan_life life;
} step_lives[] = {
    [X] = {"x", {.first_step = 0, .last_step = 5, PLAN_NONE, .offset = 0, .bytes = 128}},
    [Y] = {"y", {.first_step = 0, .last_step = 1, PLAN_NONE, .offset = 128, .bytes = 256}},
    [Z] = {"z", {.first_step = 1, .last_step = 4, .in_place_of = Y, .offset = 128, .bytes = 256}},
    [P] = {"p", {.first_step = 2, .last_step = 3, PLAN_NONE, .offset = 384, .bytes = 64}},
    [DZ] = {"dz", {.first_step = 3, .last_step = 4, PLAN_NONE, .offset = 448, .bytes = 256}},
    [DY] = {"dy",
            {.first_step = 4, .last_step = 5, .in_place_of = DZ, .offset = 448, .bytes = 256}},
};

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    return 0;
}

static void set_schedule(const char *sequence) {
    release(NULL);
    read_schedule(&b, sequence, &schedule);
}

static void good_plan(void) {
    builder_read(&b, step_text);
    set_schedule(NULL);
    lives = (struct plan_lives){.at = life_array, .n = DY + 1, .capacity = 32};
    for (int i = 0; i <= DY; i++) {
        lives.at[i] = step_lives[i].life;
        lives.at[i].value = value_named(&b, step_lives[i].value);
    }
    claim = (struct plan_claim){
        .peak_bytes = 704, .arena_bytes = 704, .alignment_bytes = 64, .seconds = 7};
}

static void assert_accepted(void) {
    assert_no_error(plan_check(&b.problem, &schedule, &lives, &claim));
}

static void assert_refused(const char *rule) {
    char text[64];
    snprintf(text, sizeof text, "breaks '%s'", rule);
    assert_error(plan_check(&b.problem, &schedule, &lives, &claim), NEAP_ERROR_INTERNAL, text);
}

static void TheGoodPlanIsAccepted(void **state) {
    (void)state;
    good_plan();
    assert_accepted();
}

static void NotTakingAPlaceIsAllowed(void **state) {
    (void)state;
    good_plan();
    lives.at[DY].in_place_of = PLAN_NONE;
    lives.at[DY].offset = 704;
    claim.arena_bytes = 960;
    claim.peak_bytes = 128 + 256 + 256 + 256; /* x, z, dz, dy in step 4 */
    assert_accepted();
}

static void OpsThatRunOnceRunOnce(void **state) {
    (void)state;
    static const char *const sequences[] = {
        "conv relu loss dloss dloss drelu dconv sgd", /* backward twice */
        "conv relu loss loss dloss drelu dconv sgd",  /* effect twice */
        "conv relu loss dloss drelu dconv sgd sgd",   /* update twice */
        "conv relu loss dloss drelu dconv",           /* update never */
        "conv relu loss drelu dconv sgd",             /* backward never */
        "conv relu dloss drelu dconv sgd",            /* effect never */
        "conv loss dloss drelu dconv sgd",            /* forward never */
    };
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        good_plan();
        set_schedule(sequences[i]);
        assert_refused("once");
    }
    good_plan();
    schedule.ops[0] = 7;
    assert_refused("once");
}

static void AnOpThatUpdatesRunsOnceWhateverItsFlags(void **state) {
    (void)state;
    good_plan();
    b.ops[op_named(&b, "loss")].effect = false;
    set_schedule("conv relu loss loss dloss drelu dconv sgd");
    assert_refused("once");
}

static void NothingOfAMicroBatchRunsBehindTheUpdate(void **state) {
    (void)state;
    good_plan();
    set_schedule("conv relu loss dloss drelu sgd dconv");
    assert_refused("order");
    set_schedule("conv relu loss dloss drelu dconv sgd conv");
    assert_refused("order");
}

static void WhatIsReadWasMade(void **state) {
    (void)state;
    good_plan();
    set_schedule("relu conv loss dloss drelu dconv sgd");
    assert_refused("liveness");
}

/* Without sgd's `last` the order of the parts does not hide what is tested. */
static void ReadersKeepTheirSideOfAnUpdate(void **state) {
    (void)state;
    good_plan();
    b.ops[op_named(&b, "sgd")].update_part = false;
    set_schedule("conv relu loss dloss drelu dconv sgd conv"); /* conv reads the new w */
    claim.seconds = 8;
    assert_refused("hazard");
    good_plan();
    b.ops[op_named(&b, "sgd")].update_part = false;
    set_schedule("conv relu loss dloss drelu sgd dconv"); /* sgd reads dw before it is summed */
    assert_refused("hazard");
}

static void UpdatesOfOneValueKeepTheirOrder(void **state) {
    (void)state;
    builder_read(&b, "input x 64\npersistent sum\npersistent other\n"
                     "backward 1 a : x -> updates sum\n"
                     "backward 1 b : x -> updates sum\n"
                     "backward 1 c : x -> updates other\n");
    lives = (struct plan_lives){.at = life_array, .n = 1, .capacity = 32};
    lives.at[0] = (struct plan_life){
        .value = value_named(&b, "x"), .last_step = 2, .in_place_of = PLAN_NONE, .bytes = 64};
    claim = (struct plan_claim){
        .peak_bytes = 64, .arena_bytes = 64, .alignment_bytes = 64, .seconds = 3};
    set_schedule("c a b");
    assert_accepted();
    set_schedule("b a c");
    assert_refused("hazard");
}

/* As dw is read in the update, so is dy, of the step before. */
static void NoLifeCrossesTheSeam(void **state) {
    (void)state;
    good_plan();
    struct plan_op *sgd = &b.ops[op_named(&b, "sgd")];
    uint32_t ids[] = {value_named(&b, "dw"), value_named(&b, "dy")};
    sgd->inputs = builder_span(&b, ids, 2);
    lives.at[DY].last_step = 6;
    assert_refused("seam");
    sgd->update_part = false;
    assert_accepted();
}

/* dz is a sum in the arena: the loss's gradient, and one more. */
static void SumsInTheArenaKeepTheirOrder(void **state) {
    (void)state;
    builder_read(&b, "input x 64\n"
                     "forward 1 zero : x -> s 64\n"
                     "backward 1 a : x -> updates s\n"
                     "backward 1 b : x -> updates s\n"
                     "backward 1 end : s -> r 64\n");
    lives = (struct plan_lives){.at = life_array, .n = 3, .capacity = 32};
    lives.at[0] = (struct plan_life){0, 0, 2, PLAN_NONE, 0, 64};
    lives.at[1] = (struct plan_life){1, 0, 3, PLAN_NONE, 64, 64};
    lives.at[2] = (struct plan_life){2, 3, 3, PLAN_NONE, 0, 64};
    claim = (struct plan_claim){
        .peak_bytes = 128, .arena_bytes = 128, .alignment_bytes = 64, .seconds = 4};
    set_schedule(NULL);
    assert_accepted();
    static const char *const broken[] = {"zero b a end", "zero a end b", "zero a b zero end"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        set_schedule(broken[i]);
        claim.seconds = (double)schedule.n;
        assert_refused("hazard");
    }
    set_schedule("a zero b end");
    claim.seconds = 4;
    assert_refused("liveness");
}

static void AnAlternativeStandsInForItsOp(void **state) {
    (void)state;
    builder_read(&b, "input x 64\npersistent w\n"
                     "forward 1 f : x -> y 256 mask 64\n"
                     "backward 1 g : mask -> d 64\n"
                     "update 1 sgd : x -> updates w\n"
                     "instead g 3 h : y w -> d scratch 512 over y d\n");
    lives = (struct plan_lives){.at = life_array, .n = 5, .capacity = 32};
    lives.at[0] = (struct plan_life){value_named(&b, "x"), 0, 2, PLAN_NONE, 0, 64};
    lives.at[1] = (struct plan_life){value_named(&b, "y"), 0, 1, PLAN_NONE, 64, 256};
    lives.at[2] = (struct plan_life){value_named(&b, "mask"), 0, 0, PLAN_NONE, 320, 64};
    lives.at[3] = (struct plan_life){value_named(&b, "d"), 1, 1, 1, 64, 64};
    lives.at[4] = (struct plan_life){value_named(&b, "scratch"), 1, 1, PLAN_NONE, 320, 512};
    claim = (struct plan_claim){
        .peak_bytes = 832, .arena_bytes = 832, .alignment_bytes = 64, .seconds = 5};
    set_schedule("f h sgd");
    assert_accepted();
    set_schedule("f g sgd");
    assert_refused("seconds");
    claim.seconds = 3;
    assert_refused("life");
    static const char *const broken[][2] = {
        {"f h g sgd", "once"}, {"f sgd", "once"}, {"f sgd h", "hazard"}, {"h f sgd", "liveness"}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        set_schedule(broken[i][0]);
        claim.seconds = 0;
        for (size_t s = 0; s < schedule.n; s++)
            claim.seconds += b.ops[schedule.ops[s]].seconds;
        assert_refused(broken[i][1]);
    }
    set_schedule("f h sgd");
    schedule.ops[1] = 4; /* three ops, one alternative */
    assert_refused("once");
}

static void WhatIsWrittenWholeIsReadBehindItAndMayBeWrittenAgain(void **state) {
    (void)state;
    builder_read(&b, "persistent loss\npersistent log\n"
                     "forward 1 f : -> loss\n"
                     "backward 1 g : loss -> updates log\n"
                     "backward 1 h : -> updates loss\n");
    lives = (struct plan_lives){.at = life_array, .n = 0, .capacity = 32};
    claim = (struct plan_claim){.alignment_bytes = 64, .seconds = 4};
    set_schedule("f g f h");
    assert_accepted();
    set_schedule("f g h f"); /* loses what h did */
    assert_refused("hazard");
    set_schedule("g f f h"); /* reads what is not written yet */
    assert_refused("hazard");
}

static void LivesAreAsLongAsTheirReads(void **state) {
    (void)state;
    for (int i = X; i <= DY; i++)
        for (int change = -1; change <= 1; change += 2) {
            good_plan();
            lives.at[i].last_step += (uint32_t)change;
            assert_refused("life");
        }
}

static void LivesStartWhereTheirValueIsMade(void **state) {
    (void)state;
    for (int i = X; i <= DY; i++) {
        good_plan();
        lives.at[i].first_step++;
        assert_refused("life");
    }
}

static void AValueNeverReadLivesOneStep(void **state) {
    (void)state;
    builder_read(&b, "input x 64\nforward 1 f : x -> a 64 scratch 64\nforward 1 g : x -> d 64\n");
    set_schedule(NULL);
    lives = (struct plan_lives){.at = life_array, .n = 4, .capacity = 32};
    static const char *const values[] = {"x", "a", "scratch", "d"};
    for (uint32_t i = 0; i < 4; i++)
        lives.at[i] = (struct plan_life){.value = value_named(&b, values[i]),
                                         .first_step = i == 3,
                                         .last_step = i == 0 || i == 3,
                                         .in_place_of = PLAN_NONE,
                                         .offset = i == 3 ? 64 : 64 * (int64_t)i,
                                         .bytes = 64};
    claim = (struct plan_claim){
        .peak_bytes = 192, .arena_bytes = 192, .alignment_bytes = 64, .seconds = 2};
    assert_accepted();
    lives.at[2].last_step = 1;
    assert_refused("life");
}

static void NoLifeIsMissingOrExtra(void **state) {
    (void)state;
    for (int i = X; i <= DY; i++) {
        good_plan();
        for (int j = i; j < DY; j++)
            lives.at[j] = lives.at[j + 1];
        lives.n--;
        assert_refused("life");
        good_plan();
        lives.at[DY + 1] = lives.at[DY];
        lives.at[DY + 1].value = lives.at[i].value;
        lives.n++;
        assert_refused("life");
    }
    good_plan();
    lives.at[DY + 1] = lives.at[DY]; /* the same again */
    lives.n++;
    assert_refused("life");
    good_plan();
    lives.at[DY].value = 1000;
    assert_refused("life");
}

static void LivesStandByFirstStep(void **state) {
    (void)state;
    good_plan();
    struct plan_life p = lives.at[P];
    lives.at[P] = lives.at[DZ];
    lives.at[DZ] = p;
    lives.at[DY].in_place_of = P;
    assert_refused("life");
    good_plan();
    struct plan_life x = lives.at[X]; /* inputs come first */
    lives.at[X] = lives.at[Y];
    lives.at[Y] = x;
    lives.at[Z].in_place_of = X;
    assert_refused("life");
}

static void LivesHaveTheirValuesBytes(void **state) {
    (void)state;
    good_plan();
    lives.at[P].bytes = 32;
    assert_refused("life");
}

static void InPlaceOnlyWhereTheOpAllowsIt(void **state) {
    (void)state;
    good_plan();
    b.ops[op_named(&b, "relu")].n_overwrites = 0;
    assert_refused("in place");
    good_plan();
    lives.at[P].in_place_of = Y; /* no pair of the loss's */
    assert_refused("in place");
    good_plan();
    lives.at[X].in_place_of = Y; /* an input takes no place */
    assert_refused("in place");
    good_plan();
    lives.at[Z].in_place_of = 100;
    assert_refused("in place");
}

/* dz is given a reader behind drelu, and a life as long as that asks for. */
static void InPlaceOnlyOfWhatDiesThere(void **state) {
    (void)state;
    good_plan();
    struct plan_op *dconv = &b.ops[op_named(&b, "dconv")];
    b.ids[dconv->inputs.first + 1] = value_named(&b, "dz"); /* instead of x */
    lives.at[X].last_step = 0;
    lives.at[DZ].last_step = 5;
    assert_refused("in place");
}

static void InPlaceNeverGrows(void **state) {
    (void)state;
    good_plan();
    b.values[value_named(&b, "dy")].bytes = lives.at[DY].bytes = 320;
    assert_refused("in place");
}

static void InPlaceIsAtTheSameOffset(void **state) {
    (void)state;
    good_plan();
    lives.at[DY].offset = 704;
    claim.arena_bytes = 960;
    assert_refused("in place");
}

static void APlaceIsTakenOnce(void **state) {
    (void)state;
    builder_read(&b, "input x 64\nforward 1 f : x -> a 64 c 64 over x a over x c\n");
    set_schedule(NULL);
    lives = (struct plan_lives){.at = life_array, .n = 3, .capacity = 32};
    static const char *const values[] = {"x", "a", "c"};
    for (uint32_t i = 0; i < 3; i++)
        lives.at[i] = (struct plan_life){
            .value = value_named(&b, values[i]), .in_place_of = i ? 0 : PLAN_NONE, .bytes = 64};
    claim = (struct plan_claim){
        .peak_bytes = 64, .arena_bytes = 64, .alignment_bytes = 64, .seconds = 1};
    assert_refused("in place");
    lives.at[2].in_place_of = PLAN_NONE;
    lives.at[2].offset = 64;
    claim.peak_bytes = claim.arena_bytes = 128;
    assert_accepted();
}

static void OffsetsAreAligned(void **state) {
    (void)state;
    good_plan();
    lives.at[P].offset = 384 + 32;
    assert_refused("offset");
    good_plan();
    lives.at[P].offset = -64;
    assert_refused("offset");
    good_plan();
    claim.alignment_bytes = 256;
    assert_refused("offset");
    good_plan();
    claim.alignment_bytes = 0;
    assert_refused("offset");
}

static void NoByteIsInTwoLives(void **state) {
    (void)state;
    static const struct {
        int life;
        int64_t offset;
    } collisions[] = {{P, 0}, {P, 64}, {P, 128}, {P, 320}, {P, 448}, {P, 640}, {X, 64}, {X, 384}};
    for (size_t i = 0; i < sizeof collisions / sizeof *collisions; i++) {
        good_plan();
        lives.at[collisions[i].life].offset = collisions[i].offset;
        assert_refused("overlap");
    }
}

/* Life by life z and dz would do; but z's place was y's, and y is still there in step 1. */
static void WithoutTheWordInPlaceTheSameBytesOverlap(void **state) {
    (void)state;
    good_plan();
    lives.at[Z].in_place_of = PLAN_NONE;
    assert_refused("overlap");
}

static void TheArenaEndsWhereTheHighestLifeDoes(void **state) {
    (void)state;
    good_plan();
    claim.arena_bytes += 64;
    assert_refused("arena");
    good_plan();
    claim.arena_bytes -= 64;
    assert_refused("arena");
    good_plan();
    lives.at[P].offset = INT64_MAX / 64 * 64;
    assert_refused("arena");
}

static void ThePeakIsAsClaimed(void **state) {
    (void)state;
    good_plan();
    claim.peak_bytes += 64;
    assert_refused("peak");
    good_plan();
    claim.peak_bytes -= 64;
    assert_refused("peak");
}

static void TheSecondsAreAsClaimed(void **state) {
    (void)state;
    static const double wrong[] = {7 + 1e-7, 7 - 1e-7, 0, -7, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        good_plan();
        claim.seconds = wrong[i];
        assert_refused("seconds");
    }
    good_plan();
    claim.seconds = 7 + 1e-12;
    assert_accepted();
}

static void AnEmptyPlanIsAccepted(void **state) {
    (void)state;
    builder_read(&b, "");
    set_schedule(NULL);
    lives.n = 0;
    claim = (struct plan_claim){.alignment_bytes = 64};
    assert_accepted();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheGoodPlanIsAccepted),
        cmocka_unit_test(NotTakingAPlaceIsAllowed),
        cmocka_unit_test(OpsThatRunOnceRunOnce),
        cmocka_unit_test(AnOpThatUpdatesRunsOnceWhateverItsFlags),
        cmocka_unit_test(NothingOfAMicroBatchRunsBehindTheUpdate),
        cmocka_unit_test(WhatIsReadWasMade),
        cmocka_unit_test(ReadersKeepTheirSideOfAnUpdate),
        cmocka_unit_test(UpdatesOfOneValueKeepTheirOrder),
        cmocka_unit_test(NoLifeCrossesTheSeam),
        cmocka_unit_test(SumsInTheArenaKeepTheirOrder),
        cmocka_unit_test(AnAlternativeStandsInForItsOp),
        cmocka_unit_test(WhatIsWrittenWholeIsReadBehindItAndMayBeWrittenAgain),
        cmocka_unit_test(LivesAreAsLongAsTheirReads),
        cmocka_unit_test(LivesStartWhereTheirValueIsMade),
        cmocka_unit_test(AValueNeverReadLivesOneStep),
        cmocka_unit_test(NoLifeIsMissingOrExtra),
        cmocka_unit_test(LivesStandByFirstStep),
        cmocka_unit_test(LivesHaveTheirValuesBytes),
        cmocka_unit_test(InPlaceOnlyWhereTheOpAllowsIt),
        cmocka_unit_test(InPlaceOnlyOfWhatDiesThere),
        cmocka_unit_test(InPlaceNeverGrows),
        cmocka_unit_test(InPlaceIsAtTheSameOffset),
        cmocka_unit_test(APlaceIsTakenOnce),
        cmocka_unit_test(OffsetsAreAligned),
        cmocka_unit_test(NoByteIsInTwoLives),
        cmocka_unit_test(WithoutTheWordInPlaceTheSameBytesOverlap),
        cmocka_unit_test(TheArenaEndsWhereTheHighestLifeDoes),
        cmocka_unit_test(ThePeakIsAsClaimed),
        cmocka_unit_test(TheSecondsAreAsClaimed),
        cmocka_unit_test(AnEmptyPlanIsAccepted),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
