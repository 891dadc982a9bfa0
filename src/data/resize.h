/* Resizing with a triangle filter as wide as the pixels that become one: PIL's BILINEAR, which is
 * torchvision's Resize on PIL images, bit for bit. Two passes, across and then down, on bytes, with
 * weights of 22 binary digits. */
#ifndef NEAP_DATA_RESIZE_H
#define NEAP_DATA_RESIZE_H

#include "data/image.h"

enum { RESIZED_PIXEL_BYTES = 4 }; /* up to three channels, and a byte that says nothing */

struct resize {
    int64_t height, width; /* of the whole result */
    struct box window;     /* the part of it that is made */
};

/* Bytes that resizing needs for an image up to that size. */
int64_t resize_scratch_bytes(int64_t in_height, int64_t in_width, const struct resize *resize);

/* Writes the window's pixels into `out`, RESIZED_PIXEL_BYTES each, and returns them as an image.
 * `scratch` is aligned to 16 bytes; the input has up to three channels, and a byte more behind its
 * last may be read. */
struct image resize_bilinear(const struct image *in, const struct resize *resize, void *scratch,
                             uint8_t *out);

#endif
