/* Where a session's seconds come from: the model, or what was measured here and is kept in
 * $XDG_CACHE_HOME/neap, by default ~/.cache/neap. */
#ifndef NEAP_TRAIN_COSTS_H
#define NEAP_TRAIN_COSTS_H

#include "backend/device.h"
#include "compile/measured.h"

/* *out is NULL where the options want the model. */
MUST_USE neap_error *costs_open(const struct neap_options *options, const struct device *device,
                                struct measured **out);

#endif
