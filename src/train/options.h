/* Options with nothing left to say: what the optimizer, the schedule and the accumulation make of
 * what is unset. */
#ifndef NEAP_TRAIN_OPTIONS_H
#define NEAP_TRAIN_OPTIONS_H

#include "base/memory.h"
#include "base/status.h"

/* `pool` owns what is made. NEAP_ERROR_USAGE for options that contradict each other. */
MUST_USE neap_error *options_complete(struct neap_options *options, struct pool *pool);

#endif
