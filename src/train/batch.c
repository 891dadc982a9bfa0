/* Batches of noise: see batch.h. */
#include "train/batch.h"

#include <stdlib.h>

#include "base/philox.h"
#include "train/session.h"

neap_error *batch_create(const neap_graph *model, int64_t samples, struct batch *out) {
    int64_t shape[3];
    *out = (struct batch){.samples = samples};
    session_sample_shape(model, shape, &out->classes);
    out->elements = samples * shape[0] * shape[1] * shape[2];
    TRY(memory_alloc((size_t)out->elements, sizeof *out->images, &out->images));
    neap_error *error = memory_alloc((size_t)samples, sizeof *out->labels, &out->labels);
    if (error)
        batch_free(out);
    return error;
}

void batch_fill(struct batch *b, uint64_t seed, uint64_t number) {
    struct philox_block block = {{0}};
    for (int64_t i = 0; i < b->elements; i++) {
        if (i % 4 == 0)
            block = philox_at(seed, number, (uint64_t)(i / 4));
        b->images[i] = 2 * philox_float(block.word[i % 4]) - 1;
    }
    for (int64_t i = 0; i < b->samples; i++)
        b->labels[i] =
            (int32_t)(philox_at(~seed, number, (uint64_t)i).word[0] % (uint64_t)b->classes);
}

void batch_free(struct batch *b) {
    free(b->images);
    free(b->labels);
    *b = (struct batch){0};
}
