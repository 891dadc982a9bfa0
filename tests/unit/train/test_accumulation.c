/* Accumulation schedules: what is read and refused, and windows counted against a walk through all
 * of them. */
#include "support/files.h"

#include "base/philox.h"
#include "train/accumulation.h"

static struct accumulation parsed(const char *text) {
    struct accumulation a;
    assert_no_error(accumulation_parse(text, &a));
    return a;
}

static void ANumberHoldsThroughout(void **state) {
    (void)state;
    const char *const texts[] = {"4", "0:4", "s0:4"};
    for (int i = 0; i < 3; i++) {
        struct accumulation a = parsed(texts[i]);
        assert_int_equal(a.most_steps, 4);
        assert_int_equal(accumulation_steps(&a, 0, 0), 4);
        assert_int_equal(accumulation_steps(&a, 1000, 1000000), 4);
    }
}

static void EntriesHoldFromTheirEpochOn(void **state) {
    (void)state;
    struct accumulation a = parsed("0:8,4:4,8:1");
    const int64_t steps[] = {8, 8, 8, 8, 4, 4, 4, 4, 1, 1};
    assert_int_equal(a.most_steps, 8);
    for (int epoch = 0; epoch < 10; epoch++)
        assert_int_equal(accumulation_steps(&a, epoch, 12345), steps[epoch]);
}

static void EntriesHoldFromTheirUpdateOn(void **state) {
    (void)state;
    struct accumulation a = parsed("s0:2,s500:16");
    assert_int_equal(a.most_steps, 16);
    assert_int_equal(accumulation_steps(&a, 9, 499), 2);
    assert_int_equal(accumulation_steps(&a, 0, 500), 16);
}

static void WhatIsNoScheduleIsRefused(void **state) {
    (void)state;
    const char *const texts[] = {"",
                                 "0",
                                 "-1",
                                 "x",
                                 "1.5",
                                 "0:0",
                                 "1:4",
                                 "0:4,0:2",
                                 "0:4,",
                                 ",0:4",
                                 "0:4,2",
                                 "s0:4,5:2",
                                 "0:4,s5:2",
                                 "0:4,5:2,4:1",
                                 "0:4 5:2",
                                 "s1:4",
                                 "0:-4",
                                 "0:4:2",
                                 "99999999999999999999",
                                 "0:2000000000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct accumulation a;
        assert_error(accumulation_parse(texts[i], &a), NEAP_ERROR_USAGE, texts[i]);
    }
}

static void MoreEntriesThanThereIsRoomForAreRefused(void **state) {
    (void)state;
    char text[2048] = "0:1";
    struct accumulation a;
    for (int i = 1; i <= ACCUMULATION_ENTRIES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d:1", i);
    assert_error(accumulation_parse(text, &a), NEAP_ERROR_USAGE, "too many entries");
}

/* Every window of every epoch, one by one. */
static int64_t walk(const struct calendar *c) {
    int64_t update = 0;
    for (int64_t epoch = 0; epoch < c->epochs; epoch++) {
        int64_t samples = 0, first = update;
        while (samples < c->samples) {
            int64_t steps = accumulation_steps(c->accumulation, epoch, update);
            int64_t window = calendar_window(c, epoch, update, samples);
            assert_true(window > 0 && window <= steps * c->batch);
            assert_true(window == steps * c->batch || samples + window == c->samples);
            samples += window;
            update++;
        }
        assert_int_equal(samples, c->samples);
        assert_int_equal(calendar_updates(c, epoch, first), update - first);
        assert_int_equal(calendar_updates_before(c, (double)(epoch + 1)), update);
    }
    return update;
}

static void UpdatesAreThoseOfAWalk(void **state) {
    (void)state;
    const char *const texts[] = {"1",           "3",         "0:4,2:2,3:1",
                                 "0:1,1:7,2:3", "s0:4,s1:1", "s0:1,s3:2,s4:5,s20:1",
                                 "s0:8,s100:1", "s0:2,s7:9"};
    for (uint64_t i = 0; i < 400; i++) {
        const struct philox_block random = philox_at(1, i, 0);
        struct accumulation a = parsed(texts[random.word[0] % 8]);
        const struct calendar c = {.accumulation = &a,
                                   .samples = 1 + random.word[1] % 200,
                                   .batch = 1 + random.word[2] % 20,
                                   .epochs = 1 + random.word[3] % 9};
        walk(&c);
    }
}

static void PartsOfAnEpochCountInWholeUpdates(void **state) {
    (void)state;
    struct accumulation a = parsed("0:2,1:1");
    const struct calendar c = {&a, .samples = 100, .batch = 10, .epochs = 2};
    assert_int_equal(calendar_updates_before(&c, 0), 0);
    assert_int_equal(calendar_updates_before(&c, 0.5), 2); /* of five */
    assert_int_equal(calendar_updates_before(&c, 1), 5);
    assert_int_equal(calendar_updates_before(&c, 1.25), 7); /* of ten */
    assert_int_equal(calendar_updates_before(&c, 2), 15);
}

static void EntriesBehindTheRunsEndAreRefused(void **state) {
    (void)state;
    struct accumulation by_epoch = parsed("0:2,3:1"), by_update = parsed("s0:2,s15:1");
    struct calendar c = {&by_epoch, .samples = 100, .batch = 10, .epochs = 3};
    assert_error(calendar_check(&c), NEAP_ERROR_USAGE,
                 "from epoch 3 on: the run ends with epoch 2");
    c.epochs = 4;
    assert_no_error(calendar_check(&c));
    c.accumulation = &by_update;
    c.epochs = 3;
    assert_error(calendar_check(&c), NEAP_ERROR_USAGE, "from update 15 on");
    c.epochs = 4;
    assert_no_error(calendar_check(&c));
}

static void TheTableHasALineAnEntry(void **state) {
    (void)state;
    struct accumulation a = parsed("0:8,4:2,5:1"), constant = parsed("8");
    struct calendar c = {&a, .samples = 1000, .batch = 10, .epochs = 9};
    char *table;
    assert_no_error(calendar_table(&c, &table));
    assert_string_equal(
        table, "accumulation by epoch, counted from 0, batch 10\n"
               "  epochs                    steps    samples an update   updates an epoch\n"
               "  0-3                           8                   80                 13\n"
               "  4                             2                   20                 50\n"
               "  5-                            1                   10                100");
    free(table);
    c.accumulation = &constant;
    assert_no_error(calendar_table(&c, &table));
    assert_null(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ANumberHoldsThroughout),
        cmocka_unit_test(EntriesHoldFromTheirEpochOn),
        cmocka_unit_test(EntriesHoldFromTheirUpdateOn),
        cmocka_unit_test(WhatIsNoScheduleIsRefused),
        cmocka_unit_test(MoreEntriesThanThereIsRoomForAreRefused),
        cmocka_unit_test(UpdatesAreThoseOfAWalk),
        cmocka_unit_test(PartsOfAnEpochCountInWholeUpdates),
        cmocka_unit_test(EntriesBehindTheRunsEndAreRefused),
        cmocka_unit_test(TheTableHasALineAnEntry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
