/* From bytes to what a network sees: (byte / 255 - mean) / deviation per channel, in float and in
 * that order, as torchvision's ToTensor and Normalize do. A table of 256 values per channel. */
#ifndef NEAP_DATA_NORMALIZE_H
#define NEAP_DATA_NORMALIZE_H

#include "base/status.h"
#include "data/image.h"

enum { MAX_CHANNELS = 3 };

struct moments {
    float mean[MAX_CHANNELS], deviation[MAX_CHANNELS];
};

extern const struct moments imagenet_moments;

struct normalizer {
    int64_t channels;
    float of_byte[MAX_CHANNELS][256];
};

/* `how`: "auto" or NULL takes `own` (NULL: only / 255), "none" only / 255, "imagenet" ImageNet's
 * moments, which are for three channels. */
MUST_USE neap_error *normalizer_set(struct normalizer *normalizer, const char *how,
                                    int64_t channels, const struct moments *own);

/* The window of the image as (C,H,W); beyond the image's edges its bytes are 0. */
void normalizer_apply(const struct normalizer *normalizer, const struct image *image,
                      struct box window, float *out);

#endif
