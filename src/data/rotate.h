/* Rotation about the centre without smoothing: torchvision's RandomRotation by default, which is
 * PIL's Image.rotate(NEAREST), bit for bit. What comes from outside the image is 0. */
#ifndef NEAP_DATA_ROTATE_H
#define NEAP_DATA_ROTATE_H

#include "data/image.h"

/* The part `box` of the image turned by `degrees` against the clock, box.height × box.width pixels
 * of all channels into `out`, pixel after pixel. */
struct image rotate_nearest(const struct image *in, double degrees, struct box box, uint8_t *out);

#endif
