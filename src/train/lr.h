/* Learning rates: a function of the update and the epoch it is in, never of the micro-batch. */
#ifndef NEAP_TRAIN_LR_H
#define NEAP_TRAIN_LR_H

#include "train/accumulation.h"

enum { LR_MILESTONES = 64 };

struct lr_schedule {
    const struct lr_shape *shape;
    double lr, min_lr, decay_rate;
    double rise;             /* updates over which onecycle rises */
    int64_t warmup, updates; /* of the whole run */
    int64_t decay_epochs;
    int64_t milestones[LR_MILESTONES]; /* epochs, rising */
    int n_milestones;
};

/* Fills in the schedule's own numbers that are unset. */
void lr_complete(struct neap_options *options);

/* Do its rates depend on how many updates there will have been? */
bool lr_looks_at_the_end(const struct neap_options *options);

/* The options complete. NEAP_ERROR_USAGE for an unknown schedule, and for options that it would
 * ignore. `updates` of the calendar's run are made. */
MUST_USE neap_error *lr_schedule_of(const struct neap_options *options,
                                    const struct calendar *calendar, int64_t updates,
                                    struct lr_schedule *out);
/* Both counted from 0. */
double lr_at(const struct lr_schedule *schedule, int64_t epoch, int64_t update);

#endif
