/* From an image as it is stored to what a network takes: rotation, crop, resize, flip and
 * normalisation, each as torchvision defines it on PIL images, in that order.
 *
 * Without a random crop an image that has to be resized is scaled until its shorter side is 256/224
 * of what is wanted, and cropped in the centre: what torchvision's models are evaluated with. Every
 * random number is a function of (seed, epoch, sample). */
#ifndef NEAP_DATA_AUGMENT_H
#define NEAP_DATA_AUGMENT_H

#include "base/status.h"
#include "data/normalize.h"

/* What the user asks for; zeros are nothing. */
struct augment {
    bool hflip;            /* RandomHorizontalFlip */
    double rotate_degrees; /* RandomRotation: between -this and this */
    bool crop;             /* RandomCrop, with zeros around the image */
    int64_t crop_padding;
    bool resized_crop; /* RandomResizedCrop: of the area, and width over height */
    double scale[2], ratio[2];
};

struct pipeline {
    struct augment augment;
    int64_t channels, height, width; /* of the result */
    bool resizes;                    /* images come in any size; else in the result's */
    uint64_t seed;
    struct normalizer normalizer;
};

/* Which sample, and when: what its random numbers are a function of, beside the seed. */
struct sample_request {
    int64_t index, epoch;
    void *scratch; /* to work in, aligned to 16 bytes */
};

/* NEAP_ERROR_USAGE where what is asked for makes no sense, or does nothing. The normalizer is set
 * by the caller. */
MUST_USE neap_error *pipeline_check(const struct pipeline *pipeline);

/* Bytes to work in, for one image of that size. */
int64_t pipeline_scratch_bytes(const struct pipeline *pipeline, int64_t height, int64_t width);

/* (C,H,W) into `out`. */
void pipeline_run(const struct pipeline *pipeline, struct image image,
                  const struct sample_request *request, float *out);

/* ---- the random choices, for those who test them -------------------------------------------- */

/* RandomResizedCrop's part of an image: up to ten tries, then the centre. */
struct box augment_resized_crop(const struct pipeline *pipeline, int64_t height, int64_t width,
                                const struct sample_request *request);

#endif
