/* A data set: samples that can be read in any order, as normalised f32 images with a label.
 *
 * To add a format: write src/data/<format>.c with its `const struct source_format source_<format>`
 * and add one line to the table in source.c. Expected load: up to 2^32 samples of up to a few
 * megabytes. Reading is safe from several threads at once and allocates nothing. */
#ifndef NEAP_DATA_SOURCE_H
#define NEAP_DATA_SOURCE_H

#include "base/status.h"

enum source_split { SPLIT_TRAIN, SPLIT_VAL };

struct sample_shape {
    int64_t channels, height, width;
};
/* -1 where the product does not fit. */
int64_t sample_elements(struct sample_shape shape);

/* Strings are borrowed during source_open. */
struct source_request {
    const char *name;      /* of a data set (datasets.h), or a folder */
    const char *format;    /* a format's name; NULL or "auto": told from the folder */
    const char *normalize; /* "imagenet", "none"; NULL or "auto": the format's own */
    enum source_split split;
    /* For synthetic data only, which is made to measure: */
    struct sample_shape shape;
    int64_t n_classes, n_samples; /* n_samples 0: 1024 to train on, 256 to validate on */
    uint64_t seed;
};

struct source_format;

struct source {
    const struct source_format *format;
    char *name;
    struct sample_shape shape;
    int64_t n_samples, n_classes;
    int64_t resident_bytes; /* host memory kept until the source is closed */
    void *state;            /* the format's own */
};

/* NEAP_ERROR_DATA where files are missing or malformed: everything about them that can be checked
 * is checked here, labels included. NEAP_ERROR_USAGE where the request makes no sense. */
MUST_USE neap_error *source_open(const struct source_request *request, struct source **out);
void source_close(struct source *source); /* NULL is fine */

/* Sample `index` (< n_samples) as (C,H,W) into `image`. */
MUST_USE neap_error *source_read(const struct source *source, int64_t index, float *image,
                                 int32_t *label);

/* Whether a model that takes `shape` and tells `n_classes` apart can learn from the source. */
MUST_USE neap_error *source_check(const struct source *source, struct sample_shape shape,
                                  int64_t n_classes);

/* ---- formats -------------------------------------------------------------------------------- */

struct source_format {
    const char *name;
    const char *files; /* what a folder of this format holds, in words; NULL: needs no folder */
    bool (*recognise)(const char *folder);
    /* Fills shape, n_samples, n_classes, resident_bytes and state. What it leaves in state when it
     * fails is handed to close. */
    neap_error *(*open)(const struct source_request *request, const char *folder,
                        struct source *source);
    neap_error *(*read)(const struct source *source, int64_t index, float *image, int32_t *label);
    void (*close)(void *state); /* NULL is fine */
};

extern const struct source_format source_idx, source_cifar10, source_synthetic;

/* The format called `name`, NULL where there is none. */
const struct source_format *source_format_find(const char *name);

#endif
