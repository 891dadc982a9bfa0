/* knapsack: the cheapest set of items that covers a number of bytes.
 *
 * Items are looked at by price. Of the sets made of those so far, the front holds each that no
 * other beats in both bytes and cost (Nemhauser and Ullmann 1969), and that could still become
 * cheaper than the best cover: with the rest in fractions, a binary search in prefix sums. So items
 * of equal price and size, of which networks have many, count once. All numbers are integers. */
#include "plan/knapsack.h"

#include <stdlib.h>
#include <string.h>

#define NO_SET UINT32_MAX
__extension__ typedef __int128 wide;

/* Some of the first items: those of `rest`, and one more. */
struct knapsack_set {
    int64_t bytes, cost;
    uint32_t rest, item; /* NO_SET: the empty set */
};

int knapsack_by_price(const void *a, const void *b) {
    const struct plan_item *x = a, *y = b;
    wide left = (wide)x->cost * y->bytes, right = (wide)y->cost * x->bytes;
    if (left != right)
        return left < right ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

neap_error *knapsack_open(size_t most_items, size_t most_sets, struct knapsack *k) {
    neap_error *error = NULL;
    *k = (struct knapsack){.most_sets = most_sets};
    TRY_GOTO(memory_alloc(most_items + 1, sizeof *k->bytes_before, &k->bytes_before));
    TRY_GOTO(memory_alloc(most_items + 1, sizeof *k->cost_before, &k->cost_before));
    TRY_GOTO(memory_alloc(most_items, sizeof *k->best, &k->best));
    TRY_GOTO(memory_alloc(most_sets, sizeof *k->sets, &k->sets));
    TRY_GOTO(memory_alloc(most_sets, sizeof *k->front, &k->front));
    TRY_GOTO(memory_alloc(most_sets, sizeof *k->next_front, &k->next_front));
done:
    if (error)
        knapsack_close(k);
    return error;
}

void knapsack_close(struct knapsack *k) {
    free(k->bytes_before);
    free(k->cost_before);
    free(k->best);
    free(k->sets);
    free(k->front);
    free(k->next_front);
    *k = (struct knapsack){0};
}

void knapsack_load(struct knapsack *k, const struct plan_item *items, size_t n) {
    k->items = items;
    k->n = n;
    for (size_t i = 0; i < n; i++) {
        k->bytes_before[i + 1] = k->bytes_before[i] + items[i].bytes;
        k->cost_before[i + 1] = k->cost_before[i] + items[i].cost;
    }
}

/* The first item from `first` on with which all from there cover `bytes`; n where none does. */
static size_t find_last(const struct knapsack *k, size_t first, int64_t bytes) {
    size_t low = first, high = k->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->bytes_before[middle + 1] - k->bytes_before[first] >= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The least cost, rounded up, at which fractions of the items from `first` on cover `bytes`. */
static int64_t fraction_from(const struct knapsack *k, size_t first, int64_t bytes) {
    if (bytes <= 0)
        return 0;
    size_t last = find_last(k, first, bytes);
    if (last == k->n)
        return INT64_MAX;
    const struct plan_item *item = &k->items[last];
    int64_t rest = bytes - (k->bytes_before[last] - k->bytes_before[first]);
    return k->cost_before[last] - k->cost_before[first] +
           (int64_t)(((wide)item->cost * rest + item->bytes - 1) / item->bytes);
}

int64_t knapsack_fraction(const struct knapsack *k, int64_t bytes) {
    return fraction_from(k, 0, bytes);
}

/* Takes items by price until one of those left completes the cover at the least cost. */
int64_t knapsack_greedy(struct knapsack *k, int64_t bytes) {
    memset(k->best, 0, k->n * sizeof *k->best);
    if (bytes <= 0)
        return 0;
    size_t end = find_last(k, 0, bytes), with = k->n, taken = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < k->n; i++) { /* items before the completing one, and it */
        size_t first = i <= end ? i : end;
        int64_t cost = k->cost_before[first] + k->items[i].cost;
        if (k->bytes_before[first] + k->items[i].bytes >= bytes && cost < least) {
            least = cost;
            with = i;
            taken = first;
        }
    }
    for (size_t i = 0; i < taken; i++)
        k->best[i] = true;
    k->best[with] = true;
    return least;
}

/* ---- exact ---------------------------------------------------------------------------------- */

struct search {
    struct knapsack *k;
    int64_t bytes, least; /* to cover; the cost of the best set so far */
    uint32_t best;        /* NO_SET: the greedy one */
    size_t n_next;
};

/* Puts a set into the next front unless one there does as well or no cover with it is cheaper than
 * the best; they come by bytes upward, so what costs no less than the new one is worse. */
static void keep(struct search *s, uint32_t index, size_t first_left) {
    struct knapsack *k = s->k;
    const struct knapsack_set *set = &k->sets[index];
    int64_t rest = fraction_from(k, first_left, s->bytes - set->bytes);
    if (rest >= s->least - set->cost)
        return;
    if (set->bytes >= s->bytes) {
        s->least = set->cost;
        s->best = index;
        return;
    }
    const struct knapsack_set *last = s->n_next ? &k->sets[k->next_front[s->n_next - 1]] : NULL;
    if (last && last->bytes == set->bytes && last->cost <= set->cost)
        return;
    while (s->n_next && k->sets[k->next_front[s->n_next - 1]].cost >= set->cost)
        s->n_next--;
    k->next_front[s->n_next++] = index;
}

/* Every set of the front with and without item i, merged by bytes; false: there are too many. */
static bool add_item(struct search *s, size_t n_front, size_t i) {
    struct knapsack *k = s->k;
    const struct plan_item *item = &k->items[i];
    size_t without = 0, with = 0;
    s->n_next = 0;
    while (with < n_front) {
        const struct knapsack_set *old = &k->sets[k->front[with]];
        if (without < n_front && k->sets[k->front[without]].bytes <= old->bytes + item->bytes) {
            keep(s, k->front[without++], i + 1);
            continue;
        }
        if (k->n_sets == k->most_sets)
            return false;
        k->sets[k->n_sets++] = (struct knapsack_set){
            old->bytes + item->bytes, old->cost + item->cost, k->front[with++], (uint32_t)i};
        keep(s, (uint32_t)k->n_sets - 1, i + 1);
    }
    return true;
}

static void read_best(const struct search *s) {
    struct knapsack *k = s->k;
    if (s->best == NO_SET)
        return;
    memset(k->best, 0, k->n * sizeof *k->best);
    for (uint32_t set = s->best; k->sets[set].rest != NO_SET; set = k->sets[set].rest)
        k->best[k->sets[set].item] = true;
}

int64_t knapsack_cover(struct knapsack *k, int64_t bytes, bool *exact) {
    struct search s = {k, bytes, knapsack_greedy(k, bytes), NO_SET, 0};
    int64_t bound = fraction_from(k, 0, bytes);
    size_t n_front = 1;
    *exact = true;
    k->sets[0] = (struct knapsack_set){0, 0, NO_SET, 0};
    k->n_sets = 1;
    k->front[0] = 0;
    for (size_t i = 0; i < k->n && n_front && s.least > bound && *exact; i++) {
        *exact = add_item(&s, n_front, i);
        uint32_t *front = k->front;
        k->front = k->next_front;
        k->next_front = front;
        n_front = s.n_next;
    }
    read_best(&s);
    return *exact ? s.least : bound;
}
