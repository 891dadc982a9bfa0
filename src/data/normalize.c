/* Normalisation of images: see normalize.h. */
#include "data/normalize.h"

#include <string.h>

static const struct moments unchanged = {{0, 0, 0}, {1, 1, 1}};
static const struct moments imagenet = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};

static neap_error *choose(const char *how, int64_t channels, const struct moments *own,
                          const struct moments **out) {
    *out = own ? own : &unchanged;
    if (!how || strcmp(how, "auto") == 0)
        return NULL;
    *out = &unchanged;
    if (strcmp(how, "none") == 0)
        return NULL;
    *out = &imagenet;
    if (strcmp(how, "imagenet") != 0)
        return error_make(NEAP_ERROR_USAGE,
                          "unknown normalisation '%s' (known: auto, imagenet, none)", how);
    if (channels != 3)
        return error_make(NEAP_ERROR_USAGE,
                          "normalisation 'imagenet' is for 3 channels, the images have %lld",
                          (long long)channels);
    return NULL;
}

neap_error *normalizer_set(struct normalizer *normalizer, const char *how, int64_t channels,
                           const struct moments *own) {
    const struct moments *moments;
    TRY(choose(how, channels, own, &moments));
    normalizer->channels = channels;
    for (int64_t c = 0; c < channels; c++)
        for (int byte = 0; byte < 256; byte++)
            normalizer->of_byte[c][byte] =
                ((float)byte / 255.0f - moments->mean[c]) / moments->deviation[c];
    return NULL;
}

void normalizer_apply(const struct normalizer *normalizer, const uint8_t *bytes, int64_t area,
                      float *image) {
    for (int64_t c = 0; c < normalizer->channels; c++) {
        const float *of_byte = normalizer->of_byte[c];
        for (int64_t i = 0; i < area; i++)
            *image++ = of_byte[*bytes++];
    }
}
