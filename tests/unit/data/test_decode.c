/* Files that are not images, or damaged ones: named, refused, and nothing else happens. */
#include "support/files.h"

#include "base/philox.h"
#include "data/decode.h"
#include "data/exif.h"
#include "support/oracle.h"

enum { MOST_BYTES = 8192, MOST_PIXELS = 64 * 1024 };

static neap_error *decode(const char *name, const uint8_t *bytes, int64_t n) {
    uint8_t *pixels = malloc(MOST_PIXELS), *own = malloc((size_t)n + 1);
    struct picture picture;
    assert_true(pixels && own);
    memcpy(own, bytes, (size_t)n);
    /* In a block of its own size, so that reading beyond it shows. */
    own = realloc(own, (size_t)(n ? n : 1));
    const struct encoded file = {name, own, n, false};
    neap_error *error = decode_picture(&file, pixels, MOST_PIXELS, &picture);
    free(pixels);
    free(own);
    return error;
}

static void refuses(const char *bytes, size_t n, const char *message) {
    assert_error(decode("train/cat/0007.jpg", (const uint8_t *)bytes, (int64_t)n), NEAP_ERROR_DATA,
                 message);
}

static int64_t read_image(const char *name, uint8_t bytes[MOST_BYTES]) {
    char path[128];
    snprintf(path, sizeof path, "images/%s", name);
    FILE *file = oracle_open(path);
    if (!file)
        skip();
    const size_t n = fread(bytes, 1, MOST_BYTES, file);
    fclose(file);
    return (int64_t)n;
}

static void what_is_no_image_is_named_by_how_it_starts(void **state) {
    (void)state;
    refuses("RIFF\x24\0\0\0WEBPVP8 ", 16,
            "train/cat/0007.jpg: not a JPEG or PNG (starts 52 49 46 46, WEBP)");
    refuses("GIF89a", 6, "train/cat/0007.jpg: not a JPEG or PNG (starts 47 49 46 38, GIF)");
    refuses("hello", 5, "train/cat/0007.jpg: not a JPEG or PNG (starts 68 65 6c 6c)");
    refuses("\xff\xd8", 2, "train/cat/0007.jpg: not a JPEG or PNG (starts ff d8)");
    refuses("", 0, "train/cat/0007.jpg: empty");
}

static const char *const jpegs[] = {"colour.jpg", "progressive.jpg", "cmyk.jpg", "grey.jpg",
                                    "turned6.jpg"};
static const char *const pngs[] = {"colour.png", "interlaced.png", "palette.png", "deep.png",
                                   "turned.png"};

/* Without its last two bytes, the marker of the end, a JPEG has all its pixels; those two are all
 * that may be missing. */
static void a_jpeg_cut_off_anywhere_is_refused(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    for (size_t i = 0; i < sizeof jpegs / sizeof *jpegs; i++) {
        const int64_t whole = read_image(jpegs[i], bytes);
        assert_no_error(decode(jpegs[i], bytes, whole));
        for (int64_t n = 3; n < whole - 2; n++)
            assert_error(decode(jpegs[i], bytes, n), NEAP_ERROR_DATA, jpegs[i]);
        char message[96];
        snprintf(message, sizeof message, "%s: a JPEG that ends after 300 bytes: truncated?",
                 jpegs[i]);
        assert_error(decode(jpegs[i], bytes, 300), NEAP_ERROR_DATA, message);
    }
}

/* The last chunk, 12 bytes, says only that it is the last, and the four before are a checksum. */
static void a_png_cut_off_anywhere_is_refused(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    for (size_t i = 0; i < sizeof pngs / sizeof *pngs; i++) {
        const int64_t whole = read_image(pngs[i], bytes);
        assert_no_error(decode(pngs[i], bytes, whole));
        for (int64_t n = 8; n < whole - 16; n++)
            assert_error(decode(pngs[i], bytes, n), NEAP_ERROR_DATA, "truncated?");
    }
}

/* Half of the coefficients replaced by the file's end: libjpeg only warns, and fills with grey. */
static void a_jpeg_that_ends_too_soon_is_refused(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    const int64_t n = read_image("colour.jpg", bytes);
    bytes[n - 60] = 0xff;
    bytes[n - 59] = 0xd9;
    assert_error(decode("colour.jpg", bytes, n - 58), NEAP_ERROR_DATA,
                 "colour.jpg: a damaged JPEG: Corrupt JPEG data: premature end of data segment");
}

static void a_png_with_a_wrong_checksum_is_refused(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    const int64_t n = read_image("colour.png", bytes);
    bytes[60] ^= 1;
    assert_error(decode("colour.png", bytes, n), NEAP_ERROR_DATA, "colour.png: a damaged PNG: ");
}

/* Bytes changed at random: an image or an error, whatever they say. */
static void any_damage_is_an_image_or_an_error(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    int n_errors = 0;
    for (int i = 0; i < 10; i++) {
        for (uint64_t try = 0; try < 200; try++) {
            const char *name = i < 5 ? jpegs[i] : pngs[i - 5];
            const int64_t n = read_image(name, bytes);
            for (uint64_t change = 0; change <= try % 3; change++) {
                const struct philox_block words = philox_at((uint64_t)i, try, change);
                bytes[words.word[0] % n] = (uint8_t)words.word[1];
            }
            neap_error *error = decode(name, bytes, n);
            n_errors += error != NULL;
            neap_error_free(error);
        }
    }
    assert_in_range(n_errors, 100, 2000);
}

/* A size in the header that no file of these bytes has. */
static void an_image_too_large_is_refused_before_it_is_decoded(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    const int64_t n = read_image("grey.jpg", bytes);
    for (int64_t i = 0; i < n - 9; i++)
        if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) /* height and width follow */
            memset(bytes + i + 5, 0xfd, 4);
    assert_error(decode("grey.jpg", bytes, n), NEAP_ERROR_DATA,
                 "grey.jpg: 65,021 x 65,021 pixels, more than the 268,435,456 that are read");
}

static void a_header_is_read_from_the_start_of_a_file(void **state) {
    (void)state;
    uint8_t bytes[MOST_BYTES];
    struct picture picture;
    bool more;
    const char *const names[] = {"turned6.jpg", "turned.png"};
    for (int i = 0; i < 2; i++) {
        read_image(names[i], bytes);
        struct encoded start = {names[i], bytes, 16, true};
        assert_no_error(decode_header(&start, &picture, &more));
        assert_true(more);
        start.n_bytes = 720 - 400 * i;
        assert_no_error(decode_header(&start, &picture, &more));
        assert_false(more);
        assert_int_equal(picture.orientation, 6);
        assert_true(picture.library_bytes > 0);
    }
}

static void exif_that_is_damaged_turns_nothing(void **state) {
    (void)state;
    const uint8_t little[] = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
    const uint8_t big[] = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
    assert_int_equal(exif_orientation(little, sizeof little - 1), 6);
    assert_int_equal(exif_orientation(big, sizeof big - 1), 8);
    for (int64_t n = 0; n < 20; n++)
        assert_int_equal(exif_orientation(little, n), 1);
    uint8_t changed[sizeof little];
    memcpy(changed, little, sizeof little);
    changed[18] = 9; /* no such orientation */
    assert_int_equal(exif_orientation(changed, sizeof changed - 1), 1);
    memcpy(changed, little, sizeof little);
    memset(changed + 4, 0xff, 4); /* a directory beyond the end */
    assert_int_equal(exif_orientation(changed, sizeof changed - 1), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_image_is_named_by_how_it_starts),
        cmocka_unit_test(a_jpeg_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_png_cut_off_anywhere_is_refused),
        cmocka_unit_test(a_jpeg_that_ends_too_soon_is_refused),
        cmocka_unit_test(a_png_with_a_wrong_checksum_is_refused),
        cmocka_unit_test(any_damage_is_an_image_or_an_error),
        cmocka_unit_test(an_image_too_large_is_refused_before_it_is_decoded),
        cmocka_unit_test(a_header_is_read_from_the_start_of_a_file),
        cmocka_unit_test(exif_that_is_damaged_turns_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
