/* PNG by libpng, the one file that knows the library. Its errors end in longjmp, caught in run().
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

#include "base/digits.h"
#include "data/decode.h"
#include "data/exif.h"

struct job {
    png_structp png;
    png_infop info;
    jmp_buf escape;
    const struct encoded *file;
    int64_t at; /* bytes read so far */
    uint8_t *pixels;
    int64_t room_bytes;
    struct picture *out;
    bool ended;        /* the bytes ran out */
    neap_error *error; /* of ours; NULL: the library's message */
    char message[96];
};

/* ---- what the library calls ----------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp message) {
    struct job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", message);
    longjmp(job->escape, 1);
}

/* Of what does not matter to the pixels. */
static void on_warning(png_structp png, png_const_charp message) {
    (void)png, (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t n) {
    struct job *job = png_get_io_ptr(png);
    if (job->at + (int64_t)n > job->file->n_bytes) {
        job->ended = true;
        longjmp(job->escape, 1);
    }
    memcpy(out, job->file->bytes + job->at, n);
    job->at += (int64_t)n;
}

/* ---- the header ----------------------------------------------------------------------------- */

static int orientation_of(const struct job *job) {
    png_uint_32 n;
    png_bytep exif;
    if (!png_get_eXIf_1(job->png, job->info, &n, &exif))
        return 1;
    return exif_orientation(exif, n);
}

static neap_error *read_header(struct job *job) {
    struct picture *out = job->out;
    png_read_info(job->png, job->info);
    out->height = png_get_image_height(job->png, job->info);
    out->width = png_get_image_width(job->png, job->info);
    out->orientation = orientation_of(job);
    /* The window of the decompression, its state, and rows of up to 8 bytes a pixel. */
    out->library_bytes = (96 << 10) + 3 * 8 * out->width;
    return decode_check_size(job->file, out, job->pixels, job->room_bytes);
}

/* ---- the pixels ----------------------------------------------------------------------------- */

static void read_pixels(struct job *job) {
    const int64_t row_bytes = job->out->width * DECODED_CHANNELS;
    png_set_strip_16(job->png);
    png_set_palette_to_rgb(job->png);
    png_set_expand_gray_1_2_4_to_8(job->png);
    png_set_gray_to_rgb(job->png);
    png_set_strip_alpha(job->png);
    const int n_passes = png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
    for (int pass = 0; pass < n_passes; pass++)
        for (int64_t y = 0; y < job->out->height; y++)
            png_read_row(job->png, job->pixels + y * row_bytes, NULL);
}

/* ---- together ------------------------------------------------------------------------------- */

/* Whether it got to the end. */
static bool run(struct job *job) {
    if (setjmp(job->escape))
        return false;
    png_set_read_fn(job->png, job, on_read);
    job->error = read_header(job);
    if (!job->error && job->pixels)
        read_pixels(job);
    return true;
}

static neap_error *error_of(const struct job *job) {
    const char *path = job->file->path;
    if (job->ended)
        return error_make(NEAP_ERROR_DATA, "%s: a PNG that ends after %s bytes: truncated?", path,
                          digits_of(job->file->n_bytes).text);
    return error_make(NEAP_ERROR_DATA, "%s: a damaged PNG: %s", path, job->message);
}

static neap_error *decode(const struct encoded *file, uint8_t *pixels, int64_t room_bytes,
                          struct picture *out, bool *more) {
    struct job job = {.file = file, .pixels = pixels, .room_bytes = room_bytes, .out = out};
    job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
    job.info = job.png ? png_create_info_struct(job.png) : NULL;
    const bool whole = job.info && run(&job);
    const bool memory = !job.info;
    png_destroy_read_struct(&job.png, &job.info, NULL);
    if (memory)
        return error_memory(0);
    *more = !whole && job.ended && file->partial;
    return whole ? job.error : *more ? NULL : error_of(&job);
}

const struct decoder decoder_png = {
    .name = "PNG",
    .n_magic = 8,
    .magic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'},
    .decode = decode,
};
