/* The profile against a plain array, under random additions to ranges. */
#include "support/files.h"

#include "plan/profile.h"
#include "unit/plan/random_problem.h"

enum { n_trials = 40, n_changes = 300, most_blocks = 9, most_slots = most_blocks * PROFILE_BLOCK };

struct plain {
    int64_t at[most_slots];
    uint32_t n;
};

static int64_t over(int64_t bytes, int64_t limit) {
    return bytes > limit ? bytes - limit : 0;
}

static uint32_t first_largest(const struct plain *plain, uint32_t first, uint32_t end) {
    uint32_t largest = first;
    for (uint32_t i = first; i < end; i++)
        if (plain->at[i] > plain->at[largest])
            largest = i;
    return largest;
}

static void assert_same(const struct profile *p, const struct plain *plain, int64_t limit) {
    uint32_t peak_slot = first_largest(plain, 0, plain->n);
    int64_t excess = 0, area = 0;
    assert_int_equal(profile_peak(p), plain->at[peak_slot]);
    assert_int_equal(profile_peak_slot(p), peak_slot);
    for (uint32_t i = 0; i < plain->n; i++)
        area += over(plain->at[i], limit);
    for (uint32_t i = 0; i < plain->n; i += PROFILE_BLOCK)
        excess += over(plain->at[first_largest(plain, i, i + PROFILE_BLOCK)], limit);
    assert_int_equal(profile_area(p, limit), area);
    assert_int_equal(profile_excess(p, limit), excess);
}

/* Half of the ranges within a block or at its border. */
static void random_range(struct dice *dice, uint32_t n_slots, uint32_t *first, uint32_t *last) {
    *first = dice_roll(dice, n_slots);
    *last = *first + dice_roll(dice, n_slots - *first);
    if (dice_chance(dice, 0.5)) {
        *first -= dice_chance(dice, 0.5) ? *first % PROFILE_BLOCK : 0;
        *last = *first + dice_roll(dice, PROFILE_BLOCK + 1);
        *last = *last < n_slots ? *last : n_slots - 1;
    }
}

struct addition {
    uint32_t first, last;
    int64_t bytes;
};

static void add(struct profile *profile, struct plain *plain, const struct addition *a, int sign) {
    for (uint32_t slot = a->first; slot <= a->last; slot++)
        plain->at[slot] += sign * a->bytes;
    profile_add(profile, a->first, a->last, sign * a->bytes);
}

static int64_t few_or_many(struct dice *dice) {
    return (int64_t)dice_roll(dice, 1000) << dice_roll(dice, 30);
}

/* Half of the time something is added, else what was added is taken away again. */
static void APlainArrayAgrees(void **state) {
    (void)state;
    static struct plain plain;
    static struct addition additions[n_changes];
    for (uint64_t seed = 0; seed < n_trials; seed++) {
        struct dice dice = {.seed = seed};
        struct profile profile;
        uint32_t n = 0;
        plain = (struct plain){.n = PROFILE_BLOCK * (1 + dice_roll(&dice, most_blocks))};
        assert_no_error(profile_create(plain.n, &profile));
        assert_same(&profile, &plain, 0);
        for (int i = 0; i < n_changes; i++) {
            if (n && dice_chance(&dice, 0.5)) {
                struct addition *gone = &additions[dice_roll(&dice, n)];
                add(&profile, &plain, gone, -1);
                *gone = additions[--n];
            } else {
                random_range(&dice, plain.n, &additions[n].first, &additions[n].last);
                additions[n].bytes = few_or_many(&dice);
                add(&profile, &plain, &additions[n++], 1);
            }
            assert_same(&profile, &plain, few_or_many(&dice));
        }
        profile_free(&profile);
    }
}

/* Terabytes in every one of many slots. */
static void LargeNumbersAreExact(void **state) {
    (void)state;
    const int64_t bytes = (int64_t)1 << 42;
    struct profile profile;
    assert_no_error(profile_create(most_slots, &profile));
    profile_add(&profile, 0, most_slots - 1, bytes);
    profile_add(&profile, 70, 70, 1);
    assert_int_equal(profile_peak(&profile), bytes + 1);
    assert_int_equal(profile_peak_slot(&profile), 70);
    assert_int_equal(profile_area(&profile, bytes), 1);
    assert_int_equal(profile_area(&profile, 0), most_slots * bytes + 1);
    assert_int_equal(profile_excess(&profile, 0), most_blocks * bytes + 1);
    assert_int_equal(profile_area(&profile, INT64_MAX), 0);
    profile_free(&profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(APlainArrayAgrees),
        cmocka_unit_test(LargeNumbersAreExact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
