/* The cheapest set of items that weighs enough. */
#ifndef NEAP_PLAN_KNAPSACK_H
#define NEAP_PLAN_KNAPSACK_H

#include "base/memory.h"

struct plan_item {
    int64_t cost, bytes; /* bytes > 0; the sums of either fit */
    uint32_t op;         /* the caller's */
};

/* Cost per byte upward, then bytes downward, then op: for qsort. */
int knapsack_by_price(const void *a, const void *b);

struct knapsack {
    const struct plan_item *items; /* by price */
    size_t n;
    int64_t *bytes_before, *cost_before; /* of the first i items */
    bool *best;                          /* by item: in the best set so far */
    struct knapsack_set *sets;
    uint32_t *front, *next_front; /* sets that may grow, by bytes and cost upward */
    size_t n_sets, most_sets;
};
MUST_USE neap_error *knapsack_open(size_t most_items, size_t most_sets, struct knapsack *out);
void knapsack_close(struct knapsack *knapsack);
void knapsack_load(struct knapsack *knapsack, const struct plan_item *items, size_t n);

/* What covers `bytes`, which all items together do: no set costs less than the first, items taken
 * in fractions; one that costs the second is found quickly, and left in knapsack->best. */
int64_t knapsack_fraction(const struct knapsack *knapsack, int64_t bytes);
int64_t knapsack_greedy(struct knapsack *knapsack, int64_t bytes);

/* The least cost of a set, left in knapsack->best; where the search would make more than most_sets,
 * what knapsack_fraction gives, and *exact is false. */
int64_t knapsack_cover(struct knapsack *knapsack, int64_t bytes, bool *exact);

#endif
