/* Weights and buffers to and from safetensors files, under PyTorch's names. */
#ifndef NEAP_TRAIN_WEIGHTS_H
#define NEAP_TRAIN_WEIGHTS_H

#include "exec/store.h"

/* Every parameter and buffer of the store must be there with its shape; what
 * else the file holds is refused but for PyTorch's num_batches_tracked. */
MUST_USE neap_error *weights_load(struct store *store, const char *path);
MUST_USE neap_error *weights_save(const struct store *store, const char *path);

/* A run's folder becomes its last checkpoint's file, another path stays itself. free() it. */
MUST_USE neap_error *weights_path(const char *path, char **out);

#endif
