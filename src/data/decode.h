/* From a file's bytes to an image of three bytes a pixel: JPEG and PNG, told apart by how they
 * start, whatever they are called.
 *
 * Grey becomes three equal channels; a palette its colours; alpha is left out and CMYK converted as
 * PIL's convert("RGB") does; of 16 bits the upper 8 count. EXIF's orientation is told, not applied.
 * A file that is damaged or cut off is an error, never a half grey image. Expected load: photos, up
 * to MAX_IMAGE_PIXELS. Safe from several threads. */
#ifndef NEAP_DATA_DECODE_H
#define NEAP_DATA_DECODE_H

#include <stdbool.h>

#include "base/status.h"

enum { DECODED_CHANNELS = 3, MAX_IMAGE_PIXELS = 1 << 28, DECODE_MAGIC_BYTES = 8 };

struct encoded {
    const char *path; /* for messages */
    const uint8_t *bytes;
    int64_t n_bytes;
    bool partial; /* only the start of the file */
};

struct picture {
    const char *format; /* "JPEG", "PNG" */
    int64_t height, width;
    int orientation;       /* EXIF's, 1 where there is none */
    int64_t library_bytes; /* about what the library takes while it decodes */
};

/* Whether it starts as a format that is read here. */
bool decode_recognises(const struct encoded *file);

/* What the picture is, from its header. *more: the header goes on behind a partial file. */
MUST_USE neap_error *decode_header(const struct encoded *file, struct picture *out, bool *more);

/* Bytes to decode into: the pixels, and space to work in behind them. */
int64_t decode_bytes(const struct picture *picture);

/* Decodes into room for `room_bytes`: (H,W,3) comes first. */
MUST_USE neap_error *decode_picture(const struct encoded *file, uint8_t *pixels, int64_t room_bytes,
                                    struct picture *out);

/* ---- formats -------------------------------------------------------------------------------- */

struct decoder {
    const char *name;
    int n_magic;
    uint8_t magic[DECODE_MAGIC_BYTES];
    /* As above. Without pixels: the header alone. */
    neap_error *(*decode)(const struct encoded *file, uint8_t *pixels, int64_t room_bytes,
                          struct picture *out, bool *more);
};

extern const struct decoder decoder_jpeg, decoder_png;

/* For decoders: an image too large, or larger than the room there is. */
MUST_USE neap_error *decode_check_size(const struct encoded *file, const struct picture *picture,
                                       const uint8_t *pixels, int64_t room_bytes);

#endif
