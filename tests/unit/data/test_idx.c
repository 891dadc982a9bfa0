/* IDX files: what is read, and what is said about files that are wrong. */
#include "support/files.h"

#include <zlib.h>

#include "data/source.h"

static unsigned char *put_number(unsigned char *to, uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (unsigned char)(number >> shift);
    return to;
}

/* An IDX file of n 2x3 images whose bytes count up from 0 (rank 3), or of n labels 0, 1, 2, … */
static size_t make_idx(unsigned char *to, int rank, uint32_t n) {
    unsigned char *at = to;
    at = put_number(at, 0x0800 + (uint32_t)rank);
    at = put_number(at, n);
    if (rank == 3) {
        at = put_number(at, 2);
        at = put_number(at, 3);
    }
    for (uint32_t i = 0; i < (rank == 3 ? 6 * n : n); i++)
        *at++ = (unsigned char)i;
    return (size_t)(at - to);
}

static void put_gz(const char *path, const void *bytes, size_t n) {
    gzFile gz = gzopen(path, "wb");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, bytes, (unsigned)n), n);
    assert_int_equal(gzclose(gz), Z_OK);
}

/* A good folder: 4 images of 2x3 to train on. Tests then break it. */
static void put_good_folder(const char *folder) {
    unsigned char bytes[128];
    char path[128];
    put_folder(folder);
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", folder);
    put_file(path, bytes, make_idx(bytes, 3, 4));
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", folder);
    put_file(path, bytes, make_idx(bytes, 1, 4));
}

static neap_error *open_folder(const char *folder, struct source **source) {
    return source_open(&(struct source_request){.name = folder}, source);
}

static void refused(const char *folder, const char *message) {
    struct source *source;
    assert_error(open_folder(folder, &source), NEAP_ERROR_DATA, message);
}

/* ---- good files ------------------------------------------------------------------------------ */

static void check_good_source(const struct source *source) {
    assert_string_equal(source->format->name, "idx");
    assert_int_equal(source->n_samples, 4);
    assert_int_equal(source->n_classes, 10);
    assert_int_equal(source->shape.channels, 1);
    assert_int_equal(source->shape.height, 2);
    assert_int_equal(source->shape.width, 3);
    assert_true(source->resident_bytes >= 4 * 6 + 4);
    for (int i = 3; i >= 0; i--) {
        float image[6];
        int32_t label;
        assert_no_error(source_read(source, (struct sample_request){.index = i}, image, &label));
        assert_int_equal(label, i);
        for (int p = 0; p < 6; p++)
            assert_true(image[p] == (float)(6 * i + p) / 255.0f);
    }
}

static void reads_plain_files(void **state) {
    (void)state;
    struct source *source;
    put_good_folder("plain");
    assert_no_error(open_folder("plain", &source));
    check_good_source(source);
    source_close(source);
    source_close(NULL);
}

static void reads_gzipped_files(void **state) {
    (void)state;
    unsigned char bytes[128];
    struct source *source;
    put_folder("gz");
    put_gz("gz/train-images-idx3-ubyte.gz", bytes, make_idx(bytes, 3, 4));
    put_gz("gz/train-labels-idx1-ubyte.gz", bytes, make_idx(bytes, 1, 4));
    assert_no_error(open_folder("gz", &source));
    check_good_source(source);
    source_close(source);
}

static void validates_on_the_files_called_t10k(void **state) {
    (void)state;
    unsigned char bytes[128];
    struct source *source;
    put_good_folder("split");
    put_file("split/t10k-images-idx3-ubyte", bytes, make_idx(bytes, 3, 2));
    put_file("split/t10k-labels.idx1-ubyte", bytes, make_idx(bytes, 1, 2));
    assert_no_error(
        source_open(&(struct source_request){.name = "split", .split = SPLIT_VAL}, &source));
    assert_int_equal(source->n_samples, 2);
    source_close(source);
}

static void a_known_name_is_looked_for_in_neap_data(void **state) {
    (void)state;
    struct source *source;
    put_folder("home");
    put_good_folder("home/fashion-mnist");
    assert_int_equal(setenv("NEAP_DATA", "home", 1), 0);
    assert_no_error(open_folder("fashion-mnist", &source));
    check_good_source(source);
    source_close(source);
    assert_int_equal(setenv("NEAP_DATA", "home/fashion-mnist", 1), 0);
    assert_no_error(open_folder("fashion-mnist", &source));
    check_good_source(source);
    source_close(source);
    assert_int_equal(unsetenv("NEAP_DATA"), 0);
    put_folder("data");
    assert_int_equal(rename("home/fashion-mnist", "data/fashion-mnist"), 0);
    assert_no_error(open_folder("fashion-mnist", &source));
    check_good_source(source);
    source_close(source);
}

/* ---- bad files ------------------------------------------------------------------------------- */

static void refuses_a_truncated_file(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("short");
    size_t n = make_idx(bytes, 3, 4);
    put_file("short/train-images-idx3-ubyte", bytes, n - 1);
    refused("short", "train-images-idx3-ubyte: 39 bytes, header promises 40 (4x2x3): truncated?");
}

static void refuses_a_truncated_header(void **state) {
    (void)state;
    put_good_folder("header");
    put_file("header/train-images-idx3-ubyte", "\0\0\10\3\0\0\0\4\0", 9);
    refused("header", "train-images-idx3-ubyte: 9 bytes, less than the 16 of its header");
    put_file("header/train-images-idx3-ubyte", "\0\0", 2);
    refused("header", "train-images-idx3-ubyte: 2 bytes, less than the 16 of its header");
}

static void refuses_an_empty_file(void **state) {
    (void)state;
    put_good_folder("empty");
    put_text("empty/train-images-idx3-ubyte", "");
    refused("empty", "train-images-idx3-ubyte: 0 bytes, less than the 16 of its header: empty");
    put_text("empty/train-labels-idx1-ubyte", "");
    refused("empty", "train-labels-idx1-ubyte: 0 bytes, less than the 8 of its header: empty");
}

static void refuses_trailing_bytes(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("long");
    size_t n = make_idx(bytes, 3, 4);
    put_file("long/train-images-idx3-ubyte", bytes, n + 5);
    refused("long", "45 bytes, header promises 40 (4x2x3): trailing bytes?");
}

static void refuses_a_header_that_promises_more_than_memory(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("huge");
    size_t n = make_idx(bytes, 3, 4);
    memset(bytes + 4, 0xff, 12);
    put_file("huge/train-images-idx3-ubyte", bytes, n);
    refused("huge", "header promises more than any file holds "
                    "(4294967295x4294967295x4294967295)");
    put_number(bytes + 4, 1);
    put_number(bytes + 8, 1u << 30);
    put_file("huge/train-images-idx3-ubyte", bytes, n);
    refused("huge", "40 bytes, header promises 4,611,686,017,353,646,096 "
                    "(1x1073741824x4294967295): truncated?");
}

static void refuses_a_dimension_of_zero(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("zero");
    put_file("zero/train-images-idx3-ubyte", bytes, make_idx(bytes, 3, 0));
    refused("zero", "train-images-idx3-ubyte: dimension 0 of its header is 0");
}

static void refuses_a_wrong_magic_number(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("magic");
    size_t n = make_idx(bytes, 1, 4);
    put_file("magic/train-images-idx3-ubyte", bytes, n);
    refused("magic", "train-images-idx3-ubyte: not an IDX file of images "
                     "(starts 00 00 08 01, not 00 00 08 03)");
    put_file("magic/train-labels-idx1-ubyte", "\x89PNG....", 8);
    refused("magic", "not an IDX file of labels (starts 89 50 4e 47, not 00 00 08 01)");
}

static void refuses_labels_that_are_not_as_many_as_images(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("count");
    put_file("count/train-labels-idx1-ubyte", bytes, make_idx(bytes, 1, 3));
    refused("count", "train-labels-idx1-ubyte: 3 labels for the 4 images of "
                     "count/train-images-idx3-ubyte");
}

static void refuses_a_label_out_of_range(void **state) {
    (void)state;
    unsigned char bytes[128];
    put_good_folder("label");
    size_t n = make_idx(bytes, 1, 4);
    bytes[8 + 2] = 11;
    put_file("label/train-labels-idx1-ubyte", bytes, n);
    refused("label", "train-labels-idx1-ubyte: label 11 of sample 2 is outside 0..9");
}

static void refuses_missing_labels(void **state) {
    (void)state;
    put_good_folder("half");
    assert_int_equal(unlink("half/train-labels-idx1-ubyte"), 0);
    refused("half", "no train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz in 'half'");
}

static void refuses_a_missing_split(void **state) {
    (void)state;
    put_good_folder("train-only");
    struct source *source;
    struct source_request request = {.name = "train-only", .split = SPLIT_VAL};
    assert_error(source_open(&request, &source), NEAP_ERROR_DATA, "no t10k-labels-idx1-ubyte");
}

static void refuses_a_folder_in_a_files_place(void **state) {
    (void)state;
    put_good_folder("nested");
    assert_int_equal(unlink("nested/train-images-idx3-ubyte"), 0);
    put_folder("nested/train-images-idx3-ubyte");
    refused("nested", "cannot read 'nested/train-images-idx3-ubyte': is a directory");
}

/* Every prefix and every flipped byte of a gzip file: refused, or read with the right values. */
static void refuses_damaged_gzip(void **state) {
    (void)state;
    unsigned char bytes[128], packed[256], broken[256];
    put_good_folder("damaged");
    assert_int_equal(unlink("damaged/train-images-idx3-ubyte"), 0);
    const char *path = "damaged/train-images-idx3-ubyte.gz";
    put_gz(path, bytes, make_idx(bytes, 3, 4));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(packed, 1, sizeof packed, file);
    fclose(file);
    put_file(path, packed, n - 12); /* the checksum and more */
    refused("damaged", "(4x2x3): truncated?");
    put_file(path, packed, n - 1);
    refused("damaged", "gzip's checksum is missing: truncated?");
    memcpy(broken, packed, n);
    broken[n - 8] ^= 1;
    put_file(path, broken, n);
    refused("damaged", "damaged: incorrect data check");
    for (size_t i = 0; i < 9 * n; i++) {
        const size_t at = i % n;
        memcpy(broken, packed, n);
        if (i >= n)
            broken[at] ^= (unsigned char)(1 << (i / n - 1));
        put_file(path, broken, i < n ? at : n);
        struct source *source;
        neap_error *error = open_folder("damaged", &source);
        if (error)
            assert_error(error, NEAP_ERROR_DATA, "damaged");
        else
            check_good_source(source);
        if (!error)
            source_close(source);
    }
}

static void normalises_as_asked(void **state) {
    (void)state;
    struct source *source;
    put_good_folder("grey");
    struct source_request request = {.name = "grey", .normalize = "none", .format = "idx"};
    assert_no_error(source_open(&request, &source));
    check_good_source(source);
    source_close(source);
    request.normalize = "imagenet";
    assert_error(source_open(&request, &source), NEAP_ERROR_USAGE,
                 "'imagenet' is for 3 channels, the images have 1");
    request.normalize = "imagnet";
    assert_error(source_open(&request, &source), NEAP_ERROR_USAGE,
                 "unknown normalisation 'imagnet'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_files),
        cmocka_unit_test(reads_gzipped_files),
        cmocka_unit_test(validates_on_the_files_called_t10k),
        cmocka_unit_test(a_known_name_is_looked_for_in_neap_data),
        cmocka_unit_test(refuses_a_truncated_file),
        cmocka_unit_test(refuses_a_truncated_header),
        cmocka_unit_test(refuses_an_empty_file),
        cmocka_unit_test(refuses_trailing_bytes),
        cmocka_unit_test(refuses_a_header_that_promises_more_than_memory),
        cmocka_unit_test(refuses_a_dimension_of_zero),
        cmocka_unit_test(refuses_a_wrong_magic_number),
        cmocka_unit_test(refuses_labels_that_are_not_as_many_as_images),
        cmocka_unit_test(refuses_a_label_out_of_range),
        cmocka_unit_test(refuses_missing_labels),
        cmocka_unit_test(refuses_a_missing_split),
        cmocka_unit_test(refuses_a_folder_in_a_files_place),
        cmocka_unit_test(refuses_damaged_gzip),
        cmocka_unit_test(normalises_as_asked),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
