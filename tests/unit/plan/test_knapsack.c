/* The knapsack against every set of a few items. */
#include "plan/knapsack.h"
#include "support/files.h"

#include "base/philox.h"

enum { n_problems = 3000, most_items = 12, most_sets = 5000 };

static struct knapsack knapsack;
static struct plan_item items[most_items];
static uint64_t n_rolled;

static uint32_t roll(uint32_t n) {
    return (uint32_t)(((uint64_t)philox_at(7, 0, n_rolled++).word[0] * n) >> 32);
}

/* Sizes and costs from a few or from many, some of them huge, some costs 0. */
static size_t make_items(void) {
    size_t n = 1 + roll(most_items);
    uint32_t sizes = 1 + roll(20), costs = 1 + roll(20);
    int64_t huge = roll(4) ? 1 : (int64_t)1 << 40;
    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct plan_item){huge * roll(costs), huge * (1 + roll(sizes)) + roll(2), i};
    qsort(items, n, sizeof *items, knapsack_by_price);
    knapsack_load(&knapsack, items, n);
    return n;
}

static int64_t bytes_of(uint32_t set, size_t n) {
    int64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += set >> i & 1 ? items[i].bytes : 0;
    return bytes;
}

static int64_t cost_of(uint32_t set, size_t n) {
    int64_t cost = 0;
    for (size_t i = 0; i < n; i++)
        cost += set >> i & 1 ? items[i].cost : 0;
    return cost;
}

static int64_t least_cost(int64_t bytes, size_t n) {
    int64_t least = INT64_MAX;
    for (uint32_t set = 0; set < 1u << n; set++)
        if (bytes_of(set, n) >= bytes && cost_of(set, n) < least)
            least = cost_of(set, n);
    return least;
}

static uint32_t best_set(size_t n) {
    uint32_t set = 0;
    for (size_t i = 0; i < n; i++)
        set |= (uint32_t)knapsack.best[i] << i;
    return set;
}

static int open_knapsack(void **state) {
    (void)state;
    assert_no_error(knapsack_open(most_items, most_sets, &knapsack));
    return 0;
}

static int close_knapsack(void **state) {
    (void)state;
    knapsack_close(&knapsack);
    return 0;
}

static void CoversAreTheCheapest(void **state) {
    (void)state;
    int n_between = 0;
    for (int i = 0; i < n_problems; i++) {
        size_t n = make_items();
        int64_t total = bytes_of((1u << n) - 1, n),
                bytes = 1 + (int64_t)(roll(1000) * (total / 1000));
        int64_t least = least_cost(bytes, n), greedy = knapsack_greedy(&knapsack, bytes);
        assert_true(bytes_of(best_set(n), n) >= bytes);
        assert_int_equal(cost_of(best_set(n), n), greedy);
        bool exact;
        assert_int_equal(knapsack_cover(&knapsack, bytes, &exact), least);
        assert_true(exact);
        assert_true(bytes_of(best_set(n), n) >= bytes);
        assert_int_equal(cost_of(best_set(n), n), least);
        int64_t fraction = knapsack_fraction(&knapsack, bytes);
        assert_true(fraction <= least && least <= greedy);
        n_between += fraction < least && least < greedy;
    }
    assert_true(n_between > n_problems / 50);
}

static void FractionsAreRoundedUpFromTheirExactValue(void **state) {
    (void)state;
    make_items();
    items[0] = (struct plan_item){((int64_t)1 << 51) + 1, ((int64_t)1 << 60) + 3, 0};
    knapsack_load(&knapsack, items, 1);
    assert_int_equal(knapsack_fraction(&knapsack, 1), 1);
    assert_int_equal(knapsack_fraction(&knapsack, (int64_t)1 << 59), ((int64_t)1 << 50) + 1);
    assert_int_equal(knapsack_fraction(&knapsack, ((int64_t)1 << 60) + 3), ((int64_t)1 << 51) + 1);
}

static void ASearchThatIsCutShortGivesTheFraction(void **state) {
    (void)state;
    struct knapsack small;
    bool exact;
    assert_no_error(knapsack_open(most_items, 2, &small));
    for (uint32_t i = 0; i < most_items; i++)
        items[i] = (struct plan_item){3 + 2 * i, 3 + 2 * i + (i < 6), i};
    qsort(items, most_items, sizeof *items, knapsack_by_price);
    knapsack_load(&small, items, most_items);
    int64_t cost = knapsack_cover(&small, 50, &exact);
    assert_false(exact);
    assert_int_equal(cost, knapsack_fraction(&small, 50));
    assert_true(cost <= least_cost(50, most_items));
    knapsack_close(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(CoversAreTheCheapest),
        cmocka_unit_test(FractionsAreRoundedUpFromTheirExactValue),
        cmocka_unit_test(ASearchThatIsCutShortGivesTheFraction),
    };
    return cmocka_run_group_tests(tests, open_knapsack, close_knapsack);
}
