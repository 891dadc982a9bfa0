/* The one thing in EXIF data that changes an image: how the camera was held. */
#ifndef NEAP_DATA_EXIF_H
#define NEAP_DATA_EXIF_H

#include <stdint.h>

/* The tag Orientation of a TIFF structure, 1 to 8; 1 where there is none or the data is damaged. */
int exif_orientation(const uint8_t *tiff, int64_t n_bytes);

#endif
