/* Transforms and decoders against what torchvision and PIL made of the same images
 * (tests/oracle/images.py), byte for byte. */
#include "support/files.h"

#include <math.h>

#include "data/augment.h"
#include "data/decode.h"
#include "data/resize.h"
#include "data/rotate.h"
#include "support/oracle.h"
#include "support/pixels.h"

enum { MAX_WORDS = 8 };

/* A line of transforms.txt. */
struct line {
    char name[32];
    double words[MAX_WORDS];
    int64_t height, width;
    uint64_t hash;
};

static struct image made(const uint8_t *bytes, const struct line *line) {
    return image_interleaved(bytes, 3, (int64_t)line->words[0], (int64_t)line->words[1]);
}

static void *scratch_for(const struct resize *resize, const struct image *in) {
    void *scratch = malloc((size_t)resize_scratch_bytes(in->height, in->width, resize));
    assert_non_null(scratch);
    return scratch;
}

static uint64_t hash_resized(const struct image *in, int64_t height, int64_t width) {
    const struct resize resize = {height, width, {0, 0, height, width}};
    void *scratch = scratch_for(&resize, in);
    uint8_t *out = malloc((size_t)(height * width * RESIZED_PIXEL_BYTES));
    assert_non_null(out);
    const struct image resized = resize_bilinear(in, &resize, scratch, out);
    const uint64_t hash = pixels_hash_image(&resized);
    free(scratch);
    free(out);
    return hash;
}

static uint64_t hash_resize(const struct line *line, const struct image *in) {
    return hash_resized(in, (int64_t)line->words[2], (int64_t)line->words[3]);
}

static uint64_t hash_resized_crop(const struct line *line, const struct image *in) {
    const double *w = line->words;
    const struct image crop =
        image_crop(*in, (struct box){(int64_t)w[2], (int64_t)w[3], (int64_t)w[4], (int64_t)w[5]});
    return hash_resized(&crop, (int64_t)w[6], (int64_t)w[6]);
}

static uint64_t hash_rotate(const struct line *line, const struct image *in) {
    uint8_t *out = malloc((size_t)(in->height * in->width * 3));
    assert_non_null(out);
    const struct image turned =
        rotate_nearest(in, line->words[2], (struct box){0, 0, in->height, in->width}, out);
    const uint64_t hash = pixels_hash_image(&turned);
    free(out);
    return hash;
}

/* The bytes that a normaliser of 1/255 was given. */
static uint64_t hash_window(const struct image *in, struct box window) {
    struct normalizer normalizer;
    const int64_t area = window.height * window.width;
    float *floats = malloc((size_t)(3 * area) * sizeof *floats);
    uint8_t *bytes = malloc((size_t)(3 * area));
    assert_true(floats && bytes);
    assert_no_error(normalizer_set(&normalizer, "none", 3, NULL));
    normalizer_apply(&normalizer, in, window, floats);
    for (int64_t i = 0; i < 3 * area; i++)
        bytes[i] = (uint8_t)lrintf(floats[i] * 255);
    const struct image image = image_planar(bytes, 3, window.height, window.width);
    const uint64_t hash = pixels_hash_image(&image);
    free(floats);
    free(bytes);
    return hash;
}

static uint64_t hash_padded_crop(const struct line *line, const struct image *in) {
    const int64_t padding = (int64_t)line->words[2];
    return hash_window(in, (struct box){(int64_t)line->words[3] - padding,
                                        (int64_t)line->words[4] - padding, in->height, in->width});
}

static uint64_t hash_hflip(const struct line *line, const struct image *in) {
    (void)line;
    const struct image flipped = image_flip(*in);
    return hash_window(&flipped, (struct box){0, 0, in->height, in->width});
}

static uint64_t hash_evaluated(const struct line *line, const struct image *in) {
    const int64_t size = (int64_t)line->words[2];
    struct pipeline pipeline = {.channels = 3, .height = size, .width = size, .resizes = true};
    float *out = malloc((size_t)(3 * size * size) * sizeof *out);
    assert_non_null(out);
    assert_no_error(normalizer_set(&pipeline.normalizer, "imagenet", 3, NULL));
    assert_no_error(pipeline_check(&pipeline));
    void *scratch = malloc((size_t)pipeline_scratch_bytes(&pipeline, in->height, in->width));
    pipeline_run(&pipeline, *in, &(struct sample_request){.scratch = scratch}, out);
    const uint64_t hash = pixels_hash(out, 3 * size * size * (int64_t)sizeof *out);
    free(scratch);
    free(out);
    return hash;
}

static const struct {
    const char *name;
    int n_words;
    uint64_t (*hash)(const struct line *line, const struct image *in);
} transforms[] = {
    {"resize", 4, hash_resize}, {"resized_crop", 7, hash_resized_crop},
    {"rotate", 3, hash_rotate}, {"padded_crop", 5, hash_padded_crop},
    {"hflip", 2, hash_hflip},   {"evaluated", 3, hash_evaluated},
};
enum { N_TRANSFORMS = sizeof transforms / sizeof *transforms };

/* "rotate 8 8 13.7 | 8 8 | 2b96... | 0 0 0": false where it is of no transform. */
static bool parse(const char *text, struct line *line, int *transform) {
    int used;
    *line = (struct line){0};
    if (sscanf(text, "%31s%n", line->name, &used) != 1)
        return false;
    for (*transform = 0; *transform < N_TRANSFORMS; ++*transform)
        if (!strcmp(transforms[*transform].name, line->name))
            break;
    for (int i = 0, n; i < MAX_WORDS && sscanf(text + used, " %lf%n", &line->words[i], &n) == 1;
         i++)
        used += n;
    return *transform < N_TRANSFORMS &&
           sscanf(text + used, " | %ld %ld | %lx", &line->height, &line->width, &line->hash) == 3;
}

static FILE *open_oracle(const char *name) {
    FILE *file = oracle_open(name);
    if (!file)
        skip();
    return file;
}

static void transforms_are_torchvisions(void **state) {
    (void)state;
    FILE *file = open_oracle("transforms.txt");
    int n_seen[N_TRANSFORMS] = {0}, transform;
    struct line line;
    for (char text[256]; fgets(text, sizeof text, file);) {
        if (!parse(text, &line, &transform))
            continue;
        uint8_t *bytes = pixels_make(3, (int64_t)line.words[0], (int64_t)line.words[1]);
        const struct image in = made(bytes, &line);
        if (transforms[transform].hash(&line, &in) != line.hash)
            fail_msg("differs from torchvision: %s", text);
        n_seen[transform]++;
        free(bytes);
    }
    fclose(file);
    for (int i = 0; i < N_TRANSFORMS; i++)
        assert_true(n_seen[i] > 0);
}

/* However the bytes lie, and whichever part is asked for, resizing gives the same. */
static void resizing_is_the_same_for_every_layout_and_window(void **state) {
    (void)state;
    enum { H = 21, W = 33, TO_H = 13, TO_W = 17 };
    uint8_t *bytes = pixels_make(3, H, W), planar[3 * H * W];
    const struct image in = image_interleaved(bytes, 3, H, W);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < H * W; i++)
            planar[c * H * W + i] = bytes[3 * i + c];
    const struct image same = image_planar(planar, 3, H, W);
    assert_true(hash_resized(&in, TO_H, TO_W) == hash_resized(&same, TO_H, TO_W));
    const struct resize whole = {TO_H, TO_W, {0, 0, TO_H, TO_W}};
    uint8_t all[TO_H * TO_W * RESIZED_PIXEL_BYTES], part[sizeof all];
    void *scratch = scratch_for(&whole, &in);
    const struct image expected = resize_bilinear(&in, &whole, scratch, all);
    const struct box windows[] = {{0, 0, 1, 1}, {12, 16, 1, 1}, {3, 5, 7, 9}, {0, 4, 13, 2}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const struct image wanted = image_crop(expected, windows[i]);
        const struct image got =
            resize_bilinear(&in, &(struct resize){TO_H, TO_W, windows[i]}, scratch, part);
        assert_true(pixels_hash_image(&wanted) == pixels_hash_image(&got));
    }
    free(scratch);
    free(bytes);
}

static void a_rotated_part_is_the_part_of_the_rotated(void **state) {
    (void)state;
    enum { H = 19, W = 26 };
    uint8_t *bytes = pixels_make(3, H, W), all[3 * H * W], part[sizeof all];
    const struct image in = image_interleaved(bytes, 3, H, W);
    const struct box box = {4, 7, 9, 11};
    const struct image turned = rotate_nearest(&in, 33, (struct box){0, 0, H, W}, all);
    const struct image wanted = image_crop(turned, box), got = rotate_nearest(&in, 33, box, part);
    assert_true(pixels_hash_image(&wanted) == pixels_hash_image(&got));
    free(bytes);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* A file of tests/oracle/images, read whole; free() it. */
static uint8_t *read_image(const char *name, int64_t *n) {
    char path[128];
    snprintf(path, sizeof path, "images/%s", name);
    FILE *file = oracle_open(path);
    assert_non_null(file);
    uint8_t *bytes = malloc(8192);
    *n = (int64_t)fread(bytes, 1, 8192, file);
    fclose(file);
    return bytes;
}

static void decoded_images_are_PILs(void **state) {
    (void)state;
    FILE *file = open_oracle("images.txt");
    int n_seen = 0;
    for (char text[256]; fgets(text, sizeof text, file); n_seen += *text != '#') {
        char name[64];
        int64_t height, width, n;
        uint64_t hash;
        struct picture header, picture;
        bool more;
        if (sscanf(text, "%63s | %ld %ld | %lx", name, &height, &width, &hash) != 4)
            continue;
        uint8_t *bytes = read_image(name, &n);
        const struct encoded encoded = {name, bytes, n, false};
        assert_no_error(decode_header(&encoded, &header, &more));
        assert_false(more);
        const int64_t room = decode_bytes(&header);
        uint8_t *pixels = malloc((size_t)room);
        assert_no_error(decode_picture(&encoded, pixels, room, &picture));
        const struct image image = image_orient(
            image_interleaved(pixels, 3, picture.height, picture.width), picture.orientation);
        if (image.height != height || image.width != width || pixels_hash_image(&image) != hash)
            fail_msg("differs from PIL: %s", text);
        assert_error(decode_picture(&encoded, pixels, room - 1, &picture), NEAP_ERROR_DATA,
                     "changed since it was opened?");
        free(pixels);
        free(bytes);
    }
    fclose(file);
    assert_true(n_seen > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_torchvisions),
        cmocka_unit_test(resizing_is_the_same_for_every_layout_and_window),
        cmocka_unit_test(a_rotated_part_is_the_part_of_the_rotated),
        cmocka_unit_test(decoded_images_are_PILs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
