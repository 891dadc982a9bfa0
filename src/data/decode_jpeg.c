/* JPEG by libjpeg-turbo, with the settings that PIL uses: the exact integer transform and smooth
 * upsampling. The one file that knows the library.
 *
 * Its errors end in longjmp, caught in run(). What it only warns of is an error too where pixels
 * are missing: libjpeg fills them with grey. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/digits.h"
#include "data/decode.h"
#include "data/exif.h"

enum { EXIF_MARKER = JPEG_APP0 + 1, ROWS_AT_ONCE = 8 };

struct job {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    jmp_buf escape;
    const struct encoded *file;
    uint8_t *pixels;
    int64_t room_bytes;
    struct picture *out;
    bool ended;        /* the bytes ran out */
    neap_error *error; /* of ours; NULL: the library's message */
    char message[JMSG_LENGTH_MAX];
};

/* ---- what the library calls ----------------------------------------------------------------- */

static void on_error(j_common_ptr jpeg) {
    struct job *job = jpeg->client_data;
    job->errors.format_message(jpeg, job->message);
    longjmp(job->escape, 1);
}

static void on_message(j_common_ptr jpeg, int level) {
    static const int missing_pixels[] = {JWRN_ARITH_BAD_CODE, JWRN_BOGUS_PROGRESSION,
                                         JWRN_HIT_MARKER,     JWRN_HUFF_BAD_CODE,
                                         JWRN_JPEG_EOF,       JWRN_MUST_RESYNC};
    for (size_t i = 0; level < 0 && i < sizeof missing_pixels / sizeof *missing_pixels; i++)
        if (jpeg->err->msg_code == missing_pixels[i])
            on_error(jpeg);
}

static void no_start(j_decompress_ptr jpeg) {
    (void)jpeg;
}

static boolean on_end(j_decompress_ptr jpeg) {
    struct job *job = jpeg->client_data;
    job->ended = true;
    longjmp(job->escape, 1);
    return FALSE;
}

static void skip(j_decompress_ptr jpeg, long n) {
    struct jpeg_source_mgr *source = jpeg->src;
    if (n > 0 && (size_t)n > source->bytes_in_buffer)
        on_end(jpeg);
    if (n > 0) {
        source->next_input_byte += n;
        source->bytes_in_buffer -= (size_t)n;
    }
}

/* ---- the header ----------------------------------------------------------------------------- */

static int orientation_of(const struct jpeg_decompress_struct *jpeg) {
    static const char start[] = "Exif\0"; /* and the zero that ends it */
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        if (m->marker == EXIF_MARKER && m->data_length > sizeof start &&
            memcmp(m->data, start, sizeof start) == 0)
            return exif_orientation(m->data + sizeof start,
                                    (int64_t)(m->data_length - sizeof start));
    return 1;
}

/* A file of several scans is held as coefficients, two bytes each; any other in strips. Up to twice
 * of what was measured. */
static int64_t library_bytes(struct jpeg_decompress_struct *jpeg) {
    int64_t bytes = (32 << 10) + INT64_C(64) * jpeg->image_width;
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        bytes += m->data_length;
    for (int c = 0; jpeg_has_multiple_scans(jpeg) && c < jpeg->num_components; c++)
        bytes += (int64_t)jpeg->comp_info[c].width_in_blocks * jpeg->comp_info[c].height_in_blocks *
                 DCTSIZE2 * (int64_t)sizeof(JCOEF);
    return bytes;
}

static neap_error *read_header(struct job *job) {
    struct jpeg_decompress_struct *jpeg = &job->jpeg;
    struct picture *out = job->out;
    jpeg_save_markers(jpeg, EXIF_MARKER, 0xffff);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->jpeg_color_space == JCS_UNKNOWN)
        return error_make(NEAP_ERROR_DATA, "%s: a JPEG of %d components, not 1, 3 or 4",
                          job->file->path, jpeg->num_components);
    const bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    out->height = jpeg->image_height;
    out->width = jpeg->image_width;
    out->orientation = orientation_of(jpeg);
    out->library_bytes = library_bytes(jpeg);
    return decode_check_size(job->file, out, job->pixels, job->room_bytes);
}

/* ---- the pixels ----------------------------------------------------------------------------- */

/* JPEGs of four channels hold 255 minus the ink, as Adobe's do; rounded as PIL rounds. */
static void ink_to_light(const uint8_t *cmyk, int64_t n, uint8_t *rgb) {
    for (int64_t i = 0; i < n; i++, cmyk += 4)
        for (int c = 0; c < 3; c++) {
            const int light = cmyk[3], taken = (255 - cmyk[c]) * light + 128;
            *rgb++ = (uint8_t)(light - (((taken >> 8) + taken) >> 8));
        }
}

static void read_pixels(struct job *job) {
    struct jpeg_decompress_struct *jpeg = &job->jpeg;
    const int64_t row_bytes = job->out->width * DECODED_CHANNELS;
    uint8_t *inks = job->pixels + job->out->height * row_bytes;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *at = job->pixels + jpeg->output_scanline * row_bytes;
        if (jpeg->out_color_space == JCS_CMYK) {
            jpeg_read_scanlines(jpeg, &inks, 1);
            ink_to_light(inks, job->out->width, at);
            continue;
        }
        JSAMPROW rows[ROWS_AT_ONCE];
        const int64_t left = jpeg->output_height - jpeg->output_scanline;
        const int n = left < ROWS_AT_ONCE ? (int)left : ROWS_AT_ONCE;
        for (int i = 0; i < n; i++)
            rows[i] = at + i * row_bytes;
        jpeg_read_scanlines(jpeg, rows, (JDIMENSION)n);
    }
}

/* ---- together ------------------------------------------------------------------------------- */

/* Whether it got to the end. */
static bool run(struct job *job) {
    if (setjmp(job->escape))
        return false;
    jpeg_create_decompress(&job->jpeg);
    job->jpeg.src = &job->source;
    job->error = read_header(job);
    if (!job->error && job->pixels)
        read_pixels(job);
    return true;
}

static neap_error *error_of(const struct job *job) {
    const char *path = job->file->path;
    if (job->ended)
        return error_make(NEAP_ERROR_DATA, "%s: a JPEG that ends after %s bytes: truncated?", path,
                          digits_of(job->file->n_bytes).text);
    if (job->errors.msg_code == JERR_OUT_OF_MEMORY)
        return error_memory(0);
    return error_make(NEAP_ERROR_DATA, "%s: a damaged JPEG: %s", path, job->message);
}

static neap_error *decode(const struct encoded *file, uint8_t *pixels, int64_t room_bytes,
                          struct picture *out, bool *more) {
    struct job job = {.file = file, .pixels = pixels, .room_bytes = room_bytes, .out = out};
    job.jpeg.err = jpeg_std_error(&job.errors);
    job.errors.error_exit = on_error;
    job.errors.emit_message = on_message;
    job.jpeg.client_data = &job;
    job.source = (struct jpeg_source_mgr){
        .next_input_byte = file->bytes,
        .bytes_in_buffer = (size_t)file->n_bytes,
        .init_source = no_start,
        .fill_input_buffer = on_end,
        .skip_input_data = skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = no_start,
    };
    const bool whole = run(&job);
    jpeg_destroy_decompress(&job.jpeg);
    *more = !whole && job.ended && file->partial;
    return whole ? job.error : *more ? NULL : error_of(&job);
}

const struct decoder decoder_jpeg = {
    .name = "JPEG",
    .n_magic = 3,
    .magic = {0xff, 0xd8, 0xff},
    .decode = decode,
};
