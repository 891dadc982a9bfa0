/* What a store holds to and from safetensors files, under PyTorch's names. */
#ifndef NEAP_TRAIN_WEIGHTS_H
#define NEAP_TRAIN_WEIGHTS_H

#include "exec/store.h"

/* Values of a store, as bits of their kind. */
enum weights_kinds {
    WEIGHTS_OF_MODEL = 1 << VALUE_PARAMETER | 1 << VALUE_BUFFER,
    WEIGHTS_OF_OPTIMIZER = 1 << VALUE_OPTIMIZER_STATE,
};

/* Every value of these kinds must be there with its shape; what else the file holds is refused but
 * for PyTorch's num_batches_tracked. */
MUST_USE neap_error *weights_load(struct store *store, enum weights_kinds kinds, const char *path);
MUST_USE neap_error *weights_save(const struct store *store, enum weights_kinds kinds,
                                  const char *path);

/* A run's folder becomes its last checkpoint's file, a checkpoint its own, another path stays
 * itself. free() it. */
MUST_USE neap_error *weights_path(const char *path, char **out);

#endif
