/* Normalisation of images: see normalize.h. */
#include "data/normalize.h"

#include <stdbool.h>
#include <string.h>

static const struct moments unchanged = {{0, 0, 0}, {1, 1, 1}};
const struct moments imagenet_moments = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};

static neap_error *choose(const char *how, int64_t channels, const struct moments *own,
                          const struct moments **out) {
    *out = own ? own : &unchanged;
    if (!how || strcmp(how, "auto") == 0)
        return NULL;
    *out = &unchanged;
    if (strcmp(how, "none") == 0)
        return NULL;
    *out = &imagenet_moments;
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

static float *put_run(const float *of_byte, const uint8_t *from, int64_t step, int64_t n,
                      float *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = of_byte[from[i * step]];
    return out + n;
}

static float *put_padding(const float *of_byte, int64_t n, float *out) {
    return put_run(of_byte, &(const uint8_t){0}, 0, n, out);
}

static int64_t clamp(int64_t value, int64_t high) {
    return value < 0 ? 0 : value < high ? value : high;
}

/* One channel's window. */
static float *put_window(const float *of_byte, const struct image *image, const uint8_t *bytes,
                         struct box window, float *out) {
    const int64_t left = clamp(window.left, image->width),
                  right = clamp(window.left + window.width, image->width);
    for (int64_t y = window.top; y < window.top + window.height; y++) {
        const bool inside = y >= 0 && y < image->height && left < right;
        if (!inside) {
            out = put_padding(of_byte, window.width, out);
            continue;
        }
        out = put_padding(of_byte, left - window.left, out);
        out = put_run(of_byte, bytes + y * image->row_step + left * image->column_step,
                      image->column_step, right - left, out);
        out = put_padding(of_byte, window.left + window.width - right, out);
    }
    return out;
}

void normalizer_apply(const struct normalizer *normalizer, const struct image *image,
                      struct box window, float *out) {
    const bool whole = !window.top && !window.left && window.height == image->height &&
                       window.width == image->width;
    const bool one_run = whole && image->row_step == image->width * image->column_step;
    for (int64_t c = 0; c < normalizer->channels; c++) {
        const uint8_t *bytes = image->bytes + c * image->channel_step;
        const float *of_byte = normalizer->of_byte[c];
        if (one_run)
            out = put_run(of_byte, bytes, image->column_step, image->height * image->width, out);
        else
            out = put_window(of_byte, image, bytes, window, out);
    }
}
