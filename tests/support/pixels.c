#include "support/pixels.h"

#include <stdlib.h>

uint8_t *pixels_make(int64_t channels, int64_t height, int64_t width) {
    uint8_t *bytes = malloc((size_t)(channels * height * width + 4)), *to = bytes;
    for (int64_t y = 0; bytes && y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int64_t c = 0; c < channels; c++)
                *to++ = (uint8_t)(7 * x + 13 * y + 31 * c + 5 * (x * y % 17) +
                                  9 * ((x * x + 3 * y) % 11));
    return bytes;
}

static uint64_t hash_on(uint64_t hash, uint8_t byte) {
    return (hash ^ byte) * 0x100000001b3u;
}

static const uint64_t hash_start = 0xcbf29ce484222325u;

uint64_t pixels_hash(const void *bytes, int64_t n) {
    uint64_t hash = hash_start;
    for (int64_t i = 0; i < n; i++)
        hash = hash_on(hash, ((const uint8_t *)bytes)[i]);
    return hash;
}

uint64_t pixels_hash_image(const struct image *image) {
    uint64_t hash = hash_start;
    for (int64_t y = 0; y < image->height; y++)
        for (int64_t x = 0; x < image->width; x++)
            for (int64_t c = 0; c < image->channels; c++)
                hash = hash_on(hash, image->bytes[y * image->row_step + x * image->column_step +
                                                  c * image->channel_step]);
    return hash;
}
