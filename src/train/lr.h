/* Learning rates: a function of the update, never of the micro-batch. */
#ifndef NEAP_TRAIN_LR_H
#define NEAP_TRAIN_LR_H

#include "base/status.h"

struct lr_schedule {
    const struct lr_shape *shape;
    double lr, min_lr;
    int64_t warmup_updates, updates; /* updates: of the whole run */
};

/* NEAP_ERROR_USAGE for an unknown schedule. */
MUST_USE neap_error *lr_schedule_of(const struct neap_options *options, int64_t updates_per_epoch,
                                    int64_t updates, struct lr_schedule *out);
double lr_at(const struct lr_schedule *schedule, int64_t update);

#endif
