/* Synthetic data: any shape and number of classes, made by Philox from (seed, sample), no memory.
 *
 * A sample is its class's pattern plus noise, both uniform in [-1, 1): a network can learn it, and
 * training and validation samples share the patterns but no noise. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/philox.h"
#include "data/source.h"

enum { TRAIN_SAMPLES = 1024, VAL_SAMPLES = 256 };

/* One key per stream of numbers, so that none repeats another. */
struct synthetic {
    uint64_t labels, noise, patterns;
};

static neap_error *open_synthetic(const struct source_request *request, const char *folder,
                                  struct source *source) {
    (void)folder;
    const char *how = request->normalize;
    if (how && strcmp(how, "auto") != 0 && strcmp(how, "none") != 0)
        return error_make(NEAP_ERROR_USAGE, "normalisation '%s' has no effect on synthetic data",
                          how);
    const bool training = request->split == SPLIT_TRAIN;
    const int64_t wanted = request->n_samples;
    source->shape = request->shape;
    source->n_classes = request->n_classes;
    source->n_samples = wanted ? wanted : training ? TRAIN_SAMPLES : VAL_SAMPLES;
    if (request->shape.channels < 1 || request->shape.height < 1 || request->shape.width < 1 ||
        sample_elements(request->shape) < 0 || request->n_classes < 1 ||
        request->n_classes > INT32_MAX || wanted < 0)
        return error_make(NEAP_ERROR_USAGE,
                          "synthetic data needs a shape, classes and samples: not %lldx%lldx%lld, "
                          "%lld and %lld",
                          (long long)request->shape.channels, (long long)request->shape.height,
                          (long long)request->shape.width, (long long)request->n_classes,
                          (long long)wanted);
    struct synthetic *synthetic;
    TRY(memory_alloc(1, sizeof *synthetic, &synthetic));
    source->state = synthetic;
    synthetic->labels = request->seed ^ philox_hash(training ? "train labels" : "val labels");
    synthetic->noise = request->seed ^ philox_hash(training ? "train noise" : "val noise");
    synthetic->patterns = request->seed ^ philox_hash("class patterns");
    return NULL;
}

static neap_error *read_synthetic(const struct source *source, struct sample_request request,
                                  float *image, int32_t *label) {
    const struct synthetic *synthetic = source->state;
    const uint64_t sample = (uint64_t)request.index;
    const uint32_t drawn = philox_at(synthetic->labels, 0, sample).word[0];
    const uint64_t class = (uint64_t)drawn * (uint64_t)source->n_classes >> 32;
    *label = (int32_t) class;
    const int64_t elements = sample_elements(source->shape);
    for (int64_t first = 0; first < elements; first += 4) {
        struct philox_block noise = philox_at(synthetic->noise, sample, (uint64_t)first / 4);
        struct philox_block pattern = philox_at(synthetic->patterns, class, (uint64_t)first / 4);
        for (int64_t i = first; i < elements && i < first + 4; i++)
            image[i] = 2 * philox_float(noise.word[i - first]) - 1 +
                       (2 * philox_float(pattern.word[i - first]) - 1);
    }
    return NULL;
}

static void close_synthetic(void *state) {
    free(state);
}

const struct source_format source_synthetic = {
    .name = "synthetic",
    .open = open_synthetic,
    .read = read_synthetic,
    .close = close_synthetic,
};
