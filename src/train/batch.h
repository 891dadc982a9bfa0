/* A batch of noise, for proofs and measurements: a function of (seed, number) alone. */
#ifndef NEAP_TRAIN_BATCH_H
#define NEAP_TRAIN_BATCH_H

#include "ir/graph.h"

struct batch {
    int64_t samples, elements; /* elements of all images */
    int64_t classes;
    float *images; /* in [-1, 1) */
    int32_t *labels;
};

/* Room for `samples` of what the model takes. */
MUST_USE neap_error *batch_create(const neap_graph *model, int64_t samples, struct batch *out);
void batch_fill(struct batch *batch, uint64_t seed, uint64_t number);
void batch_free(struct batch *batch);

#endif
