/* Poison: fills every life with NaN when it ends and watches the bytes between lives, so that a
 * read of dead memory or a write past a tensor shows. */
#ifndef NEAP_TRAIN_POISON_H
#define NEAP_TRAIN_POISON_H

#include "exec/arena.h"
#include "plan/problem.h"

struct poison {
    const struct arena *arena;
    const struct plan_lives *lives;
    bool *handed_over; /* by life: its bytes go on as another life's */
    bool intact;       /* nothing was written outside the lives so far */
};

MUST_USE neap_error *poison_create(const struct arena *arena, const struct plan_lives *lives,
                                   struct poison *out);
void poison_free(struct poison *poison);
/* Before the first step: all but the inputs, which are in place. */
void poison_start(struct poison *poison);
/* To be called after each step. O(lives). */
void poison_step(struct poison *poison, size_t step);

#endif
