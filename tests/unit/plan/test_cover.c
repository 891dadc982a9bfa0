/* The cheapest cover against all subsets of a few items. */
#include "support/files.h"

#include <math.h>

#include "plan/cover.h"
#include "unit/plan/random_problem.h"

enum { n_problems = 2000, most_items = 12 };

static double cheapest(const struct cover_item *items, uint32_t n, int64_t bytes) {
    double best = INFINITY;
    for (uint32_t set = 0; set < 1u << n; set++) {
        int64_t sum = 0;
        double seconds = 0;
        for (uint32_t i = 0; i < n; i++) {
            sum += set >> i & 1 ? items[i].bytes : 0;
            seconds += set >> i & 1 ? items[i].seconds : 0;
        }
        if (sum >= bytes && seconds < best)
            best = seconds;
    }
    return best;
}

static uint32_t random_items(struct dice *dice, struct cover_item *items) {
    uint32_t n = dice_roll(dice, most_items + 1);
    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct cover_item){random_seconds(dice), random_bytes(dice) + 1, i, true};
    return n;
}

static void TheCoverIsTheCheapest(void **state) {
    (void)state;
    int n_covered = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct cover_item items[most_items];
        uint32_t n = random_items(&dice, items);
        int64_t bytes = dice_roll(&dice, 2500), taken = 0;
        double best = cheapest(items, n, bytes), seconds, sum = 0;
        assert_no_error(cover_items(items, n, bytes, 100000, &seconds));
        for (uint32_t i = 0; i < n; i++) {
            taken += items[i].taken ? items[i].bytes : 0;
            sum += items[i].taken ? items[i].seconds : 0;
        }
        if (isinf(best)) {
            assert_true(isinf(seconds));
            assert_int_equal(taken, 0);
            continue;
        }
        assert_true(fabs(seconds - best) <= 1e-9 && fabs(sum - best) <= 1e-9);
        assert_true(taken >= bytes);
        n_covered++;
    }
    assert_true(n_covered > n_problems / 2);
}

static void FewNodesStillCover(void **state) {
    (void)state;
    int n_worse = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct cover_item items[most_items];
        uint32_t n = random_items(&dice, items);
        int64_t bytes = dice_roll(&dice, 2500), taken = 0;
        double best = cheapest(items, n, bytes), seconds;
        assert_no_error(cover_items(items, n, bytes, most_items, &seconds)); /* one descent */
        for (uint32_t i = 0; i < n; i++)
            taken += items[i].taken ? items[i].bytes : 0;
        assert_true(isinf(best) || taken >= bytes);
        assert_true(isinf(best) == isinf(seconds));
        n_worse += isfinite(best) && seconds > best + 1e-9;
    }
    assert_true(n_worse > 0); /* the limit does limit */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheCoverIsTheCheapest),
        cmocka_unit_test(FewNodesStillCover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
