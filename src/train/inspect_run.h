/* What `inspect` says of the checkpoints of a run, for inspect.c. */
#ifndef NEAP_TRAIN_INSPECT_RUN_H
#define NEAP_TRAIN_INSPECT_RUN_H

#include "base/status.h"

/* A line for each checkpoint of the run's folder, and one for its best weights. */
MUST_USE neap_error *inspect_checkpoints(const char *run, FILE *file);
/* One checkpoint; NEAP_ERROR_DATA where it is torn. */
MUST_USE neap_error *inspect_checkpoint(const char *path, FILE *file);

#endif
