/* The first execution of an op, by one of its implementations: what must be in memory then, and
 * what could be made again instead. */
#ifndef NEAP_PLAN_MOMENT_H
#define NEAP_PLAN_MOMENT_H

#include "plan/in_place.h"
#include "plan/knapsack.h"
#include "plan/precede.h"

/* What the op at the moment does with a value. */
enum moment_role { MOMENT_OTHER, MOMENT_READ, MOMENT_MADE };

struct moment {
    struct precede precede;
    const int64_t *cost; /* by op that is no alternative: of one more execution, the caller's */
    uint32_t
        *repeatable;     /* ops by the price of `full_bytes`, all their outputs that have readers */
    int64_t *full_bytes; /* by op */
    uint32_t n_repeatable;
    struct in_place in_place;

    /* What moment_set finds. Live at least: held_bytes, and each item unless it is made again. */
    uint32_t w, by;
    int64_t held_bytes, items_bytes;
    struct plan_item *items; /* by price */
    size_t n_items;
    int64_t used_bytes;   /* of the op's own values, with the most in place */
    int64_t loose_bytes;  /* live if nothing is made again and only w's ancestors ran before it */
    uint8_t *role;        /* by value: enum moment_role */
    int64_t *spare_bytes; /* by value: what an input saves in this step if it is made again later */
    struct plan_item *partial;
};

MUST_USE neap_error *moment_open(const struct plan_problem *problem, bool fixed_order,
                                 const int64_t *cost, struct moment *out);
void moment_close(struct moment *moment);

/* The first execution of op w is one of its implementation `by` (w itself or an alternative). */
void moment_set(struct moment *moment, uint32_t w, uint32_t by);

/* May the op that made it make it again? */
bool moment_repeatable(const struct moment *moment, const struct plan_work *work);

#endif
