/* cover: depth-first branch and bound, the items with the least seconds per byte first.
 *
 * The first descent is the greedy cover; a branch ends where its seconds and the fractional cover
 * of what is missing are no less than the best. Sums over items in order give that bound by a
 * binary search: O(log n) a node. */
#include "plan/cover.h"

#include <math.h>
#include <stdlib.h>

struct search {
    struct cover_item *items;
    size_t n;
    int64_t *bytes;  /* by item: of all items before it */
    double *seconds; /* likewise */
    bool *taken;
    double best;
    uint64_t nodes_left;
};

static int by_price(const void *a, const void *b) {
    const struct cover_item *x = a, *y = b;
    double left = x->seconds * (double)y->bytes, right = y->seconds * (double)x->bytes;
    if (left != right)
        return left < right ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The least seconds, in fractions of items from `first` on, that cover `bytes` > 0. */
static double fractional(const struct search *s, size_t first, int64_t bytes) {
    size_t low = first, high = s->n; /* the first item with which it is covered */
    if (s->bytes[s->n] - s->bytes[first] < bytes)
        return INFINITY;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->bytes[middle + 1] - s->bytes[first] < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t missing = bytes - (s->bytes[low] - s->bytes[first]);
    return s->seconds[low] - s->seconds[first] +
           s->items[low].seconds * (double)missing / (double)s->items[low].bytes;
}

static void branch(struct search *s, size_t first, int64_t missing, double seconds) {
    if (missing <= 0) {
        if (seconds >= s->best)
            return;
        s->best = seconds;
        for (size_t i = 0; i < s->n; i++)
            s->items[i].taken = s->taken[i];
        return;
    }
    for (size_t i = first; i < s->n && s->nodes_left; i++) {
        if (seconds + fractional(s, i, missing) >= s->best * (1 - 1e-12))
            return;
        s->nodes_left--;
        s->taken[i] = true;
        branch(s, i + 1, missing - s->items[i].bytes, seconds + s->items[i].seconds);
        s->taken[i] = false;
    }
}

neap_error *cover_items(struct cover_item *items, size_t n, int64_t bytes, uint64_t most_nodes,
                        double *seconds) {
    struct search s = {.items = items, .n = n, .best = INFINITY, .nodes_left = most_nodes};
    neap_error *error = NULL;
    qsort(items, n, sizeof *items, by_price);
    for (size_t i = 0; i < n; i++)
        items[i].taken = false;
    TRY_GOTO(memory_alloc(n + 1, sizeof *s.bytes, &s.bytes));
    TRY_GOTO(memory_alloc(n + 1, sizeof *s.seconds, &s.seconds));
    TRY_GOTO(memory_alloc(n, sizeof *s.taken, &s.taken));
    for (size_t i = 0; i < n; i++) {
        s.bytes[i + 1] = s.bytes[i] + items[i].bytes;
        s.seconds[i + 1] = s.seconds[i] + items[i].seconds;
    }
    branch(&s, 0, bytes, 0);
    *seconds = s.best;
done:
    free(s.bytes);
    free(s.seconds);
    free(s.taken);
    return error;
}
