/* Telling image formats apart: see decode.h. To add one, write its `const struct decoder` and add a
 * line to the table. */
#include "data/decode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"

static const struct decoder *const decoders[] = {&decoder_jpeg, &decoder_png};
enum { N_DECODERS = sizeof decoders / sizeof *decoders };

/* Formats that are not read, for messages: what stands in a file at an offset. */
static const struct {
    const char *name;
    int offset;
    const char *text;
} strangers[] = {
    {"WEBP", 8, "WEBP"},     {"GIF", 0, "GIF8"},      {"BMP", 0, "BM"},
    {"TIFF", 0, "II*"},      {"TIFF", 0, "MM"},       {"HEIC", 4, "ftypheic"},
    {"AVIF", 4, "ftypavif"}, {"JPEG 2000", 4, "jP "}, {"JPEG XL", 0, "\xff\x0a"},
    {"HTML", 0, "<!"},       {"HTML", 0, "<html"},    {"gzip", 0, "\x1f\x8b"},
    {"ZIP", 0, "PK"},        {"PDF", 0, "%PDF"},
};

static bool holds(const struct encoded *file, int64_t offset, const void *bytes, size_t n) {
    return file->n_bytes >= offset + (int64_t)n && memcmp(file->bytes + offset, bytes, n) == 0;
}

static neap_error *refuse(const struct encoded *file) {
    enum { SHOWN_BYTES = 4 };
    char start[3 * SHOWN_BYTES + 1] = "";
    const char *name = NULL;
    if (file->n_bytes == 0)
        return error_make(NEAP_ERROR_DATA, "%s: empty", file->path);
    for (int i = 0; i < SHOWN_BYTES && i < file->n_bytes; i++)
        snprintf(start + 3 * i, sizeof start - (size_t)(3 * i), " %02x", file->bytes[i]);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers && !name; i++)
        if (holds(file, strangers[i].offset, strangers[i].text, strlen(strangers[i].text)))
            name = strangers[i].name;
    return error_make(NEAP_ERROR_DATA, "%s: not a JPEG or PNG (starts%s%s%s)", file->path, start,
                      name ? ", " : "", name ? name : "");
}

static const struct decoder *recognise(const struct encoded *file) {
    for (size_t i = 0; i < N_DECODERS; i++)
        if (holds(file, 0, decoders[i]->magic, (size_t)decoders[i]->n_magic))
            return decoders[i];
    return NULL;
}

bool decode_recognises(const struct encoded *file) {
    return recognise(file);
}

static neap_error *decode(const struct encoded *file, uint8_t *pixels, int64_t room_bytes,
                          struct picture *out, bool *more) {
    const struct decoder *decoder = recognise(file);
    *more = false;
    *out = (struct picture){.orientation = 1};
    if (!decoder)
        return refuse(file);
    out->format = decoder->name;
    return decoder->decode(file, pixels, room_bytes, out, more);
}

neap_error *decode_header(const struct encoded *file, struct picture *out, bool *more) {
    return decode(file, NULL, 0, out, more);
}

neap_error *decode_picture(const struct encoded *file, uint8_t *pixels, int64_t room_bytes,
                           struct picture *out) {
    bool more;
    assert(!file->partial);
    return decode(file, pixels, room_bytes, out, &more);
}

/* A row of four channels fits behind the pixels, and whoever reads three bytes may read a fourth.
 */
int64_t decode_bytes(const struct picture *picture) {
    return picture->height * picture->width * DECODED_CHANNELS + picture->width * 4 + 4;
}

neap_error *decode_check_size(const struct encoded *file, const struct picture *picture,
                              const uint8_t *pixels, int64_t room_bytes) {
    if (picture->height * picture->width > MAX_IMAGE_PIXELS)
        return error_make(NEAP_ERROR_DATA, "%s: %s x %s pixels, more than the %s that are read",
                          file->path, digits_of(picture->width).text,
                          digits_of(picture->height).text, digits_of(MAX_IMAGE_PIXELS).text);
    if (pixels && decode_bytes(picture) > room_bytes)
        return error_make(NEAP_ERROR_DATA, "%s: %lld x %lld pixels: changed since it was opened?",
                          file->path, (long long)picture->width, (long long)picture->height);
    return NULL;
}
