/* Slicings of a batch compared: halves, quarters, … single samples, and the whole. */
#ifndef NEAP_TRAIN_SLICING_H
#define NEAP_TRAIN_SLICING_H

#include "train/variant.h"

/* The slices that halving the batch `halvings` times gives, the last of them the smaller one. */
static inline int64_t slicing_size(int64_t batch, int halvings) {
    return (batch + ((int64_t)1 << halvings) - 1) >> halvings;
}
/* As many halvings as there can be: slices are single samples. */
int slicing_halvings(int64_t batch);

/* Of the ways to slice the session's batch, the one that takes the least time; *found false where
 * none fits in less than `below_seconds` a sample. Of equals the larger slices. */
MUST_USE neap_error *slicing_fastest(struct neap_plan *s, double below_seconds,
                                     struct variant *best, bool *found);
/* The one that needs the smallest budget, the whole batch in one piece included. */
MUST_USE neap_error *slicing_least(struct neap_plan *s, struct variant *best);

/* What slices of `micro` samples change in the results: "batch norm over 4 samples". */
enum { SLICING_TEXT = 96 };
const char *slicing_changes(const struct neap_plan *s, int64_t micro, char text[SLICING_TEXT]);

#endif
