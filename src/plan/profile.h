/* The profile: how many bytes are live at each slot of a sequence, under range additions.
 *
 * Slots lie in blocks of 64, each with a pending addition and its own maximum. An addition touches
 * the slots of two blocks at most and a number for each block between; the peak is the largest of
 * the blocks' maxima. A flat segment tree, in other words: at the lengths that planning meets
 * (hundreds to ten thousands) vector instructions make it faster than a deep one. */
#ifndef NEAP_PLAN_PROFILE_H
#define NEAP_PLAN_PROFILE_H

#include <stdint.h>

#include "base/status.h"

enum { PROFILE_BLOCK = 64 };

struct profile {
    int64_t *at;      /* by slot, less its block's pending addition */
    int64_t *pending; /* by block */
    int64_t *most;    /* by block: the largest of its slots, all counted */
    uint32_t n_slots, n_blocks;
};

/* n_slots is a multiple of PROFILE_BLOCK; everything is 0. */
MUST_USE neap_error *profile_create(uint32_t n_slots, struct profile *out);
void profile_free(struct profile *p);

/* Adds to the slots first..last, both included. */
void profile_add(struct profile *p, uint32_t first, uint32_t last, int64_t bytes);

int64_t profile_peak(const struct profile *p);
/* The first slot that reaches the peak. */
uint32_t profile_peak_slot(const struct profile *p);
/* The sum over blocks of what their maximum is over the limit. */
int64_t profile_excess(const struct profile *p, int64_t limit);
/* The sum over slots of what they are over the limit. */
int64_t profile_area(const struct profile *p, int64_t limit);

#endif
