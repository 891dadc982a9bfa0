/* Images by the formula of tests/oracle/images.py, and the hash that it sums bytes up with. */
#ifndef NEAP_TESTS_SUPPORT_PIXELS_H
#define NEAP_TESTS_SUPPORT_PIXELS_H

#include "data/image.h"

/* (H,W,C); 4 bytes more are allocated. free() them. */
uint8_t *pixels_make(int64_t channels, int64_t height, int64_t width);

uint64_t pixels_hash(const void *bytes, int64_t n);
/* Of its bytes as (H,W,C), whichever way they lie. */
uint64_t pixels_hash_image(const struct image *image);

#endif
