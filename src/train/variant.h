/* A variant: a session's network at another batch and another slicing, under the same limits. What
 * the search for a slicing and for the largest batch compare.
 *
 * Opening one compiles it and asks for the bounds, which takes milliseconds; solving plans it. */
#ifndef NEAP_TRAIN_VARIANT_H
#define NEAP_TRAIN_VARIANT_H

#include "train/session.h"

/* Local search of a plan that is only compared, and of one that decides whether a batch fits. */
enum { VARIANT_MOVES = 20000, VARIANT_FULL_MOVES = 200000 };

struct variant {
    struct neap_plan s; /* shares model, device and data with the session it is made from */
    int64_t batch, micro, micro_batches;
    int64_t floor_bytes;  /* no plan needs less, in the unit of the limits */
    double floor_seconds; /* of a sample: no plan that fits is faster; INFINITY: none fits */
    double seconds;       /* of a sample; once solved */
    int64_t least_arena_bytes, least_bytes; /* of the smallest plan found; once solved for it */
};

/* `session` needs what compiling needs. */
MUST_USE neap_error *variant_open(struct neap_plan *session, int64_t batch, int64_t micro,
                                  struct variant *v);
/* The plan under the limits by the options' strategy: v->s.plan, which may not fit. */
MUST_USE neap_error *variant_solve(struct variant *v, uint64_t moves);
/* The smallest budget that a plan is found for, whatever the limits and the strategy. */
MUST_USE neap_error *variant_solve_least(struct variant *v);
/* What a report says of a solved variant. */
void variant_totals(const struct variant *v, int64_t *peak_bytes, int64_t *arena_bytes);
void variant_close(struct variant *v);

#endif
