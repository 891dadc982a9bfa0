/* The options that decide what a run computes: a checkpoint records them, and a run that is resumed
 * must have the same. Those that may change (the budget, how to recompute, loader threads, how long
 * to train, where to write) are not among them. */
#ifndef NEAP_TRAIN_RECORDED_H
#define NEAP_TRAIN_RECORDED_H

#include "fmt/fields_json.h"

/* Fields of struct neap_options. */
extern const struct json_field recorded_options[];
extern const size_t n_recorded_options;

/* In the place of what is left to neap, what it was found to be: the batch and the slices are kept
 * whatever the budget is now. */
void recorded_keep(struct neap_options *options, const struct neap_options *recorded);
/* NEAP_ERROR_USAGE, with each option that differs and both its values; `checkpoint` is its path. */
MUST_USE neap_error *recorded_compare(const struct neap_options *options,
                                      const struct neap_options *recorded, const char *checkpoint);

#endif
