/* A data set: samples that can be read in any order, as normalised f32 images with a label.
 *
 * To add a format: write src/data/<format>.c with its `const struct source_format source_<format>`
 * and add one line to the table in source.c. Expected load: up to 2^32 samples of up to a few
 * megabytes. Reading is safe from several threads at once and allocates nothing, except in the
 * libraries that decode images. */
#ifndef NEAP_DATA_SOURCE_H
#define NEAP_DATA_SOURCE_H

#include <stdio.h>

#include "base/status.h"
#include "data/augment.h"

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
    bool whole; /* a folder of images without folders for splits is the split asked for */
    const struct augment *augment; /* NULL: nothing random */
    bool skip_bad;                 /* leaves files out that cannot be read, instead of failing */
    int n_threads;                 /* to look through files with; 0: one */
    uint64_t seed;
    /* What synthetic data is made as and images are resized to; else the files say. */
    struct sample_shape shape;
    /* For synthetic data only: */
    int64_t n_classes, n_samples; /* n_samples 0: 1024 to train on, 256 to validate on */
};

struct source_format;

struct source {
    const struct source_format *format;
    char *name;
    struct sample_shape shape;
    int64_t n_samples, n_classes;
    int64_t resident_bytes;         /* host memory kept until the source is closed */
    int64_t scratch_bytes;          /* that reading a sample needs */
    int64_t library_bytes;          /* that libraries take for themselves meanwhile, about */
    const char *const *class_names; /* n_classes of them, the format's own; NULL: they have none */
    neap_error **left_out;          /* why, by file; what skip_bad asked for */
    int64_t n_left_out;
    void *state; /* the format's own */
};

/* NEAP_ERROR_DATA where files are missing or malformed: everything about them that can be checked
 * is checked here, labels included. NEAP_ERROR_USAGE where the request makes no sense. */
MUST_USE neap_error *source_open(const struct source_request *request, struct source **out);
void source_close(struct source *source); /* NULL is fine */

/* Sample request.index (< n_samples), as it is in that epoch, as (C,H,W) into `image`. The request
 * brings scratch_bytes to work in. */
MUST_USE neap_error *source_read(const struct source *source, struct sample_request request,
                                 float *image, int32_t *label);

/* Whether a model that takes `shape` and tells `n_classes` apart can learn from the source. */
MUST_USE neap_error *source_check(const struct source *source, struct sample_shape shape,
                                  int64_t n_classes);
/* Whether a model can be trained on one and validated on the other: their classes' names. */
MUST_USE neap_error *source_check_classes(const struct source *train, const struct source *val);

/* ---- formats -------------------------------------------------------------------------------- */

struct source_format {
    const char *name;
    const char *files; /* what a folder of this format holds, in words; NULL: needs no folder */
    bool augments;     /* whether it takes request->augment, and request->skip_bad */
    bool skips_bad;
    bool (*recognise)(const char *folder);
    /* Fills the source's fields from shape on. What it leaves in state when it fails is handed to
     * close. */
    neap_error *(*open)(const struct source_request *request, const char *folder,
                        struct source *source);
    neap_error *(*read)(const struct source *source, struct sample_request request, float *image,
                        int32_t *label);
    /* More about a split than its size and shape, for people, in lines of their own; or NULL. */
    void (*describe)(const struct source *source, FILE *file);
    void (*close)(void *state); /* NULL is fine */
};

extern const struct source_format source_idx, source_cifar10, source_cifar100,
    source_cifar100_coarse, source_imagefolder, source_synthetic;

/* The format called `name`, NULL where there is none; and that of what a folder holds. */
const struct source_format *source_format_find(const char *name);
const struct source_format *source_format_recognise(const char *folder);

/* For formats of bytes: the way of their images, which have the source's shape, or are given it
 * where that `resizes`. `own`: the moments that images are normalised with unless the request says
 * otherwise; NULL: none. */
MUST_USE neap_error *source_set_pipeline(const struct source_request *request,
                                         const struct source *source, bool resizes,
                                         const struct moments *own, struct pipeline *pipeline);

#endif
