/* Images of bytes, and the changes to them that move no byte: a crop, a flip and an orientation are
 * another way to walk the same memory. */
#ifndef NEAP_DATA_IMAGE_H
#define NEAP_DATA_IMAGE_H

#include <stdint.h>

/* The byte of channel c at (y, x) is bytes[c × channel_step + y × row_step + x × column_step]. */
struct image {
    const uint8_t *bytes;
    int64_t channels, height, width;
    int64_t channel_step, row_step, column_step;
};

/* A part of an image, or of one that is padded: then it may reach beyond the edges. */
struct box {
    int64_t top, left, height, width;
};

/* Channel after channel, as (C,H,W); and pixel after pixel, (H,W,C). */
struct image image_planar(const uint8_t *bytes, int64_t channels, int64_t height, int64_t width);
struct image image_interleaved(const uint8_t *bytes, int64_t channels, int64_t height,
                               int64_t width);

/* The box lies within the image. */
struct image image_crop(struct image image, struct box box);
struct image image_flip(struct image image); /* left and right */
/* As EXIF's tag Orientation says, 1 to 8; anything else changes nothing. */
struct image image_orient(struct image image, int orientation);

#endif
