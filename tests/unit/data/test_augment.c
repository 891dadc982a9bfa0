/* The random choices: which there are, how they are spread, and that they depend on seed, epoch and
 * sample alone. What the transforms themselves do is in test_images.c. */
#include "support/files.h"

#include <math.h>

#include "data/augment.h"
#include "data/resize.h"
#include "support/oracle.h"
#include "support/pixels.h"

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE };

static struct pipeline make_pipeline(bool resizes, struct augment augment) {
    struct pipeline p = {
        .augment = augment, .channels = 3, .height = SIDE, .width = SIDE, .resizes = resizes};
    assert_no_error(normalizer_set(&p.normalizer, "none", 3, NULL));
    assert_no_error(pipeline_check(&p));
    return p;
}

/* Everything at once. */
static const struct augment crop_all = {
    .hflip = true, .rotate_degrees = 30, .crop = true, .crop_padding = 3};
static const struct augment resize_all = {.hflip = true,
                                          .rotate_degrees = 30,
                                          .resized_crop = true,
                                          .scale = {0.3, 1},
                                          .ratio = {0.75, 4.0 / 3}};

static void run(const struct pipeline *p, const struct image *in, int64_t epoch, int64_t index,
                float out[VALUES]) {
    const int64_t bytes = pipeline_scratch_bytes(p, in->height, in->width);
    void *scratch = malloc((size_t)(bytes ? bytes : 1));
    assert_non_null(scratch);
    pipeline_run(p, *in,
                 &(struct sample_request){.index = index, .epoch = epoch, .scratch = scratch}, out);
    free(scratch);
}

/* ---- what they depend on --------------------------------------------------------------------- */

static void an_image_is_a_function_of_seed_epoch_and_sample(void **state) {
    (void)state;
    uint8_t *bytes = pixels_make(3, SIDE, SIDE), *large = pixels_make(3, 31, 23);
    const struct image images[] = {image_interleaved(bytes, 3, SIDE, SIDE),
                                   image_interleaved(large, 3, 31, 23)};
    const struct augment augments[] = {crop_all, resize_all};
    for (int i = 0; i < 4; i++) {
        struct pipeline p = make_pipeline(i / 2, augments[i % 2]);
        float first[VALUES], again[VALUES], other[VALUES];
        run(&p, &images[i / 2], 3, 5, first);
        run(&p, &images[i / 2], 4, 5, other);
        assert_memory_not_equal(first, other, sizeof first);
        run(&p, &images[i / 2], 3, 6, other);
        assert_memory_not_equal(first, other, sizeof first);
        run(&p, &images[i / 2], 3, 5, again);
        assert_memory_equal(first, again, sizeof first);
        p.seed++;
        run(&p, &images[i / 2], 3, 5, other);
        assert_memory_not_equal(first, other, sizeof first);
    }
    free(bytes);
    free(large);
}

/* Switching one choice on leaves the others as they were. */
static void choices_do_not_shift_each_other(void **state) {
    (void)state;
    uint8_t *bytes = pixels_make(3, SIDE, SIDE);
    const struct image in = image_interleaved(bytes, 3, SIDE, SIDE);
    struct pipeline flips = make_pipeline(false, (struct augment){.hflip = true});
    struct pipeline none = make_pipeline(false, (struct augment){0});
    struct pipeline crops = make_pipeline(false, (struct augment){.crop = true, .crop_padding = 2});
    struct pipeline both =
        make_pipeline(false, (struct augment){.crop = true, .crop_padding = 2, .hflip = true});
    for (int64_t i = 0; i < 40; i++) {
        float flipped[VALUES], plain[VALUES], cropped[VALUES], got[VALUES];
        run(&flips, &in, 0, i, flipped);
        run(&none, &in, 0, i, plain);
        run(&crops, &in, 0, i, cropped);
        run(&both, &in, 0, i, got);
        const bool flip = memcmp(flipped, plain, sizeof plain) != 0;
        for (int v = 0; v < VALUES; v++) {
            const int x = v % SIDE, mirrored = v - x + SIDE - 1 - x;
            assert_true(got[v] == cropped[flip ? mirrored : v]);
        }
    }
    free(bytes);
}

/* ---- how they are spread --------------------------------------------------------------------- */

enum { DRAWS = 4000 };

static void half_of_the_images_are_mirrored(void **state) {
    (void)state;
    uint8_t *bytes = pixels_make(3, SIDE, SIDE);
    const struct image in = image_interleaved(bytes, 3, SIDE, SIDE), mirror = image_flip(in);
    struct pipeline flips = make_pipeline(false, (struct augment){.hflip = true});
    struct pipeline none = make_pipeline(false, (struct augment){0});
    float plain[VALUES], mirrored[VALUES], got[VALUES];
    int n_mirrored = 0;
    run(&none, &in, 0, 0, plain);
    run(&none, &mirror, 0, 0, mirrored);
    for (int64_t i = 0; i < DRAWS; i++) {
        run(&flips, &in, i % 7, i / 7, got);
        const bool is_mirrored = !memcmp(got, mirrored, sizeof got);
        assert_true(is_mirrored || !memcmp(got, plain, sizeof got));
        n_mirrored += is_mirrored;
    }
    assert_in_range(n_mirrored, DRAWS / 2 - 190, DRAWS / 2 + 190); /* 6 deviations of 32 */
    free(bytes);
}

/* An image of one white pixel shows where it was cropped: every offset of the padded image is as
 * likely. */
static void every_crop_is_as_likely(void **state) {
    (void)state;
    enum { PAD = 2, PLACES = 2 * PAD + 1 };
    uint8_t bytes[SIDE * SIDE] = {0};
    int counts[PLACES][PLACES] = {{0}};
    bytes[4 * SIDE + 4] = 255;
    struct pipeline p = make_pipeline(false, (struct augment){.crop = true, .crop_padding = PAD});
    struct image in = image_planar(bytes, 3, SIDE, SIDE);
    in.channel_step = 0;
    for (int64_t i = 0; i < DRAWS; i++) {
        float got[VALUES];
        int at = 0;
        run(&p, &in, 0, i, got);
        while (at < SIDE * SIDE && got[at] == 0)
            at++;
        const int y = 4 + PAD - at / SIDE, x = 4 + PAD - at % SIDE;
        assert_true(y >= 0 && y < PLACES && x >= 0 && x < PLACES);
        counts[y][x]++;
    }
    for (int y = 0; y < PLACES; y++)
        for (int x = 0; x < PLACES; x++) /* 160, with a deviation of 12.4 */
            assert_in_range(counts[y][x], 160 - 75, 160 + 75);
}

/* torchvision's definition: an area uniform in the scale, a ratio uniform in its logarithm, and a
 * place uniform in where there is room. */
static void resized_crops_have_the_area_the_ratio_and_the_places_asked_for(void **state) {
    (void)state;
    enum { H = 300, W = 400 };
    const struct pipeline p = make_pipeline(
        true, (struct augment){.resized_crop = true, .scale = {0.1, 0.3}, .ratio = {0.5, 2}});
    double area = 0, log_ratio = 0, top = 0, left = 0;
    for (int64_t i = 0; i < DRAWS; i++) {
        const struct box b = augment_resized_crop(&p, H, W, &(struct sample_request){.index = i});
        const double share = (double)(b.height * b.width) / (H * W);
        const double ratio = (double)b.width / (double)b.height;
        assert_true(b.top >= 0 && b.left >= 0 && b.top + b.height <= H && b.left + b.width <= W);
        assert_true(share > 0.098 && share < 0.302 && ratio > 0.49 && ratio < 2.03);
        area += share / DRAWS;
        log_ratio += log(ratio) / DRAWS;
        top += (double)b.top / (double)(H - b.height) / DRAWS;
        left += (double)b.left / (double)(W - b.width) / DRAWS;
    }
    /* Deviations of the means: 0.0009, 0.0063 and 0.0046. */
    assert_true(fabs(area - 0.2) < 0.005 && fabs(log_ratio) < 0.035);
    assert_true(fabs(top - 0.5) < 0.025 && fabs(left - 0.5) < 0.025);
}

static void angles_are_spread_over_both_directions(void **state) {
    (void)state;
    uint8_t bytes[SIDE * SIDE] = {0};
    struct pipeline p = make_pipeline(false, (struct augment){.rotate_degrees = 90});
    struct image in = image_planar(bytes, 3, SIDE, SIDE);
    in.channel_step = 0;
    memset(bytes, 255, SIDE); /* the top row goes left or right of the centre */
    int n_left = 0, n_right = 0;
    for (int64_t i = 0; i < DRAWS; i++) {
        float got[VALUES];
        double left = 0, right = 0;
        run(&p, &in, 0, i, got);
        for (int v = 0; v < SIDE * SIDE; v++)
            *(v % SIDE < SIDE / 2 ? &left : &right) += (double)got[v];
        n_left += left > right;
        n_right += right > left;
    }
    assert_in_range(n_left, DRAWS * 4 / 10, DRAWS / 2 + 190);
    assert_in_range(n_right, DRAWS * 4 / 10, DRAWS / 2 + 190);
}

/* ---- in one piece ---------------------------------------------------------------------------- */

enum { H = 20, W = 23 };

/* All of an image resized, in memory to be freed with free(image.bytes). */
static struct image resized(struct image in, int64_t height, int64_t width) {
    const struct resize resize = {height, width, {0, 0, height, width}};
    void *scratch = malloc((size_t)resize_scratch_bytes(in.height, in.width, &resize));
    uint8_t *out = malloc((size_t)(height * width * RESIZED_PIXEL_BYTES));
    assert_true(scratch && out);
    const struct image image = resize_bilinear(&in, &resize, scratch, out);
    free(scratch);
    return image;
}

/* Only what is needed of the scaled image is made: it has to be what cropping all of it gives. */
static void a_random_crop_is_of_the_scaled_image(void **state) {
    (void)state;
    enum { PAD = 3, SCALED = SIDE * 256 / 224, TOPS = SCALED + 2 * PAD - SIDE + 1 };
    uint8_t *bytes = pixels_make(3, H, W);
    const struct image in = image_interleaved(bytes, 3, H, W);
    const struct image scaled = resized(in, SCALED, SCALED * W / H);
    struct pipeline p = make_pipeline(true, (struct augment){.crop = true, .crop_padding = PAD});
    bool seen[TOPS * (TOPS + 1)] = {false};
    int n_seen = 0;
    for (int64_t i = 0; i < 60; i++) {
        float got[VALUES], wanted[VALUES];
        int place = 0;
        run(&p, &in, 0, i, got);
        for (; place < TOPS * (TOPS + 1); place++) {
            const struct box box = {place / (TOPS + 1) - PAD, place % (TOPS + 1) - PAD, SIDE, SIDE};
            normalizer_apply(&p.normalizer, &scaled, box, wanted);
            if (!memcmp(got, wanted, sizeof got))
                break;
        }
        assert_true(place < TOPS * (TOPS + 1));
        n_seen += !seen[place];
        seen[place] = true;
    }
    assert_true(n_seen > 25);
    free((void *)scaled.bytes);
    free(bytes);
}

static void a_random_resized_crop_is_its_part_resized(void **state) {
    (void)state;
    uint8_t *bytes = pixels_make(3, H, W);
    const struct image in = image_interleaved(bytes, 3, H, W);
    struct pipeline p = make_pipeline(
        true, (struct augment){.resized_crop = true, .scale = {0.1, 1}, .ratio = {0.75, 4.0 / 3}});
    for (int64_t i = 0; i < 40; i++) {
        float got[VALUES], wanted[VALUES];
        const struct box box =
            augment_resized_crop(&p, H, W, &(struct sample_request){.index = i, .epoch = 2});
        const struct image part = resized(image_crop(in, box), SIDE, SIDE);
        normalizer_apply(&p.normalizer, &part, (struct box){0, 0, SIDE, SIDE}, wanted);
        run(&p, &in, 2, i, got);
        assert_memory_equal(got, wanted, sizeof got);
        free((void *)part.bytes);
    }
    free(bytes);
}

/* ---- corners --------------------------------------------------------------------------------- */

static void a_crop_that_does_not_fit_is_torchvisions(void **state) {
    (void)state;
    FILE *file = oracle_open("transforms.txt");
    int n_seen = 0;
    if (!file)
        skip();
    /* An area of five images: no try succeeds. */
    const struct pipeline p = {
        .augment = {.resized_crop = true, .scale = {5, 5}, .ratio = {0.75, 4.0 / 3}}};
    for (char text[256]; fgets(text, sizeof text, file);) {
        int64_t height, width, wanted[4];
        if (sscanf(text, "fallback %ld %ld | %ld %ld %ld %ld", &height, &width, &wanted[0],
                   &wanted[1], &wanted[2], &wanted[3]) != 6)
            continue;
        const struct box got =
            augment_resized_crop(&p, height, width, &(struct sample_request){.index = 1});
        assert_int_equal(got.top, wanted[0]);
        assert_int_equal(got.left, wanted[1]);
        assert_int_equal(got.height, wanted[2]);
        assert_int_equal(got.width, wanted[3]);
        n_seen++;
    }
    fclose(file);
    assert_int_equal(n_seen, 3);
}

static void what_does_nothing_or_cannot_be_is_refused(void **state) {
    (void)state;
    const struct {
        struct pipeline pipeline;
        const char *message;
    } cases[] = {
        {{.augment = {.crop = true}, .height = 32, .width = 32},
         "a random crop without padding has no effect: the images have the 32x32"},
        {{.augment = {.crop = true, .crop_padding = 32}, .height = 32, .width = 32},
         "a random crop's padding of 32 is not less than the 32x32 pixels"},
        {{.augment = {.crop = true, .crop_padding = 1, .resized_crop = true},
          .height = 32,
          .width = 32},
         "there can be only one"},
        {{.resizes = true, .height = 32, .width = 64}, "cut to squares, the model takes 32x64"},
        {{.augment = {.resized_crop = true, .scale = {0.5, 0.1}, .ratio = {1, 1}}},
         "takes 0 < S0 <= S1 <= 1 and 0 < R0 <= R1, not 0.5,0.1,1,1"},
        {{.augment = {.resized_crop = true, .scale = {0.1, 1}, .ratio = {1, INFINITY}}},
         "not 0.1,1,1,inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_error(pipeline_check(&cases[i].pipeline), NEAP_ERROR_USAGE, cases[i].message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_is_a_function_of_seed_epoch_and_sample),
        cmocka_unit_test(choices_do_not_shift_each_other),
        cmocka_unit_test(half_of_the_images_are_mirrored),
        cmocka_unit_test(every_crop_is_as_likely),
        cmocka_unit_test(resized_crops_have_the_area_the_ratio_and_the_places_asked_for),
        cmocka_unit_test(angles_are_spread_over_both_directions),
        cmocka_unit_test(a_random_crop_is_of_the_scaled_image),
        cmocka_unit_test(a_random_resized_crop_is_its_part_resized),
        cmocka_unit_test(a_crop_that_does_not_fit_is_torchvisions),
        cmocka_unit_test(what_does_nothing_or_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
