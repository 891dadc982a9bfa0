/* The cheapest items that cover a number of bytes: a 0/1 knapsack turned round. */
#ifndef NEAP_PLAN_COVER_H
#define NEAP_PLAN_COVER_H

#include "base/memory.h"

struct cover_item {
    double seconds;
    int64_t bytes; /* > 0 */
    uint32_t id;
    bool taken;
};

/* Sorts the items, the least seconds per byte first, and marks those to take: at least `bytes`
 * together, for the least seconds found with `most_nodes` nodes of search; proven least where those
 * were enough. The seconds; INFINITY where all of them are too few. */
MUST_USE neap_error *cover_items(struct cover_item *items, size_t n, int64_t bytes,
                                 uint64_t most_nodes, double *seconds);

#endif
