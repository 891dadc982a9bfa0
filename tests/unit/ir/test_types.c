/* Data types, shapes and layouts, on cases worked out by hand. */
#include "support/files.h"

#include "ir/graph.h"

static struct layout layout_named(const char *text, int rank) {
    struct layout layout;
    assert_no_error(layout_of_text(text, rank, &layout));
    return layout;
}

static struct shape shape4(int64_t a, int64_t b, int64_t c, int64_t d) {
    return shape_of(4, (int64_t[]){a, b, c, d});
}

static void data_types_have_names_and_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum dtype dtype;
        int bits;
    } types[] = {{"f32", DTYPE_F32, 32},
                 {"bf16", DTYPE_BF16, 16},
                 {"i64", DTYPE_I64, 64},
                 {"u8", DTYPE_U8, 8},
                 {"bit", DTYPE_BIT, 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        enum dtype found;
        assert_no_error(dtype_of_name(types[i].name, &found));
        assert_int_equal(found, types[i].dtype);
        assert_int_equal(dtype_bits(found), types[i].bits);
        assert_string_equal(dtype_name(found), types[i].name);
    }
    enum dtype none;
    assert_error(dtype_of_name("float", &none), NEAP_ERROR_MODEL, "unknown data type 'float'");
}

static void shapes_are_written_with_crosses(void **state) {
    (void)state;
    char text[64];
    assert_string_equal(shape_text(shape4(2, 3, 4, 5), text), "2x3x4x5");
    assert_string_equal(shape_text((struct shape){0}, text), "scalar");
}

static void elements_are_counted_and_overflow_is_told(void **state) {
    (void)state;
    assert_int_equal(shape_elements(shape4(2, 3, 4, 5)), 120);
    assert_int_equal(shape_elements((struct shape){0}), 1);
    assert_int_equal(shape_elements(shape4(2, 3, 0, 5)), 0);
    assert_int_equal(shape_elements(shape4(2, -3, 4, 5)), -1);
    assert_int_equal(shape_elements(shape4(INT32_MAX, INT32_MAX, INT32_MAX, 1)), -1);
}

static void layouts_have_the_texts_of_onednn(void **state) {
    (void)state;
    char text[40];
    assert_string_equal(layout_text((struct layout){0}, 4, text), "abcd");
    assert_string_equal(layout_text((struct layout){0}, 0, text), "");
    assert_string_equal(layout_text(layout_channels_last(), 4, text), "acdb");
    assert_string_equal(layout_text(layout_blocked_channels(16), 4, text), "aBcd16b");
    const struct layout weights = {.n_blocks = 2, .block_dim = {1, 0}, .block_size = {16, 16}};
    assert_string_equal(layout_text(weights, 4, text), "ABcd16b16a");
    const struct layout first = {
        .permuted = 1, .order = {0, 2, 3, 1}, .n_blocks = 1, .block_dim = {0}, .block_size = {16}};
    assert_string_equal(layout_text(first, 4, text), "Acdb16a");
}

static void layout_texts_read_back(void **state) {
    (void)state;
    static const char *const texts[] = {"abcd",        "acdb",     "dcba",
                                        "aBcd8b",      "aBcd16b",  "ABcd16b16a",
                                        "ABcd8b16a2b", "Acdb255a", "BAcd4a4b4a4b"};
    char text[40];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(layout_text(layout_named(texts[i], 4), 4, text), texts[i]);
    assert_true(layout_is_plain(layout_named("abcd", 4)));
    assert_true(layout_equal(layout_named("acdb", 4), layout_channels_last()));
    assert_true(layout_equal(layout_named("aBcd8b", 4), layout_blocked_channels(8)));
}

static void texts_that_are_no_layout_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",       "abc",      "abcde",    "abcc",  "abce",    "aBcd1b",        "aBcd16e",
        "aBcd16", "aBcd256b", "aBcd16b ", "aBcdb", "aBcd-8b", "aBcd2b2b2b2b2b"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct layout layout;
        assert_error(layout_of_text(texts[i], 4, &layout), NEAP_ERROR_MODEL, "is no layout");
    }
}

static void places_are_as_worked_out_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *layout;
        int64_t dims[4], index[4], offset;
    } cases[] = {
        {"abcd", {2, 3, 4, 5}, {0, 2, 1, 3}, (2 * 4 + 1) * 5 + 3},
        {"abcd", {2, 3, 4, 5}, {1, 2, 3, 4}, 119},
        {"acdb", {2, 3, 4, 5}, {0, 2, 1, 3}, (1 * 5 + 3) * 3 + 2},
        {"dcba", {2, 3, 4, 5}, {1, 2, 3, 4}, 119},
        {"dcba", {2, 3, 4, 5}, {1, 0, 0, 0}, 1},
        /* 10 channels are two blocks of 8: channel 9 is number 1 of block 1 */
        {"aBcd8b", {2, 10, 3, 4}, {1, 9, 2, 1}, (((1 * 2 + 1) * 3 + 2) * 4 + 1) * 8 + 1},
        {"aBcd16b", {2, 16, 1, 1}, {1, 5, 0, 0}, 16 + 5},
        /* 3x2 blocks; (3, 5) is in block (1, 1), there at b = 1, a = 1 */
        {"ABcd4b2a", {5, 6, 1, 1}, {3, 5, 0, 0}, (1 * 2 + 1) * 8 + 1 * 2 + 1},
        /* b = 5 is pair 2, second of it */
        {"ABcd8b16a2b", {16, 16, 1, 1}, {3, 5, 0, 0}, (2 * 16 + 3) * 2 + 1},
        {"Acdb16a", {32, 3, 2, 2}, {17, 2, 1, 0}, (((1 * 2 + 1) * 2 + 0) * 3 + 2) * 16 + 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(layout_offset(layout_named(cases[i].layout, 4), shape_of(4, cases[i].dims),
                                       cases[i].index),
                         cases[i].offset);
}

static void every_element_has_a_place_of_its_own(void **state) {
    (void)state;
    static const char *const texts[] = {"abcd",       "cadb",   "aBcd8b",   "ABcd4b2a",
                                        "ABcd2b4a2b", "Acdb3a", "dBAc2a3b", "AbCd2c2a2c2a"};
    struct shape shape = shape4(5, 7, 3, 4);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct layout layout = layout_named(texts[i], 4);
        int64_t n = layout_elements(layout, shape);
        char *taken = calloc((size_t)n, 1);
        for (int64_t e = 0; e < 5 * 7 * 3 * 4; e++) {
            int64_t index[] = {e / 84, e / 12 % 7, e / 4 % 3, e % 4};
            int64_t at = layout_offset(layout, shape, index);
            assert_in_range(at, 0, n - 1);
            assert_false(taken[at]);
            taken[at] = 1;
        }
        free(taken);
    }
}

static void blocks_are_padded(void **state) {
    (void)state;
    struct shape shape = shape4(2, 10, 3, 4);
    assert_int_equal(layout_elements((struct layout){0}, shape), 240);
    assert_int_equal(layout_elements(layout_channels_last(), shape), 240);
    assert_int_equal(layout_elements(layout_blocked_channels(8), shape), 2 * 16 * 12);
    assert_int_equal(layout_elements(layout_named("ABcd16b16a", 4), shape), 16 * 16 * 12);
    assert_int_equal(layout_elements(layout_named("ABcd8b16a2b", 4), shape), 16 * 16 * 12);
}

static void bytes_are_counted_with_padding_and_bits_rounded_up(void **state) {
    (void)state;
    struct value value = {.dtype = DTYPE_F32, .shape = shape4(2, 10, 3, 4)};
    assert_int_equal(value_bytes(&value), 960);
    value.layout = layout_blocked_channels(8);
    assert_int_equal(value_bytes(&value), 1536);
    value.dtype = DTYPE_BIT;
    assert_int_equal(value_bytes(&value), 48);
    value = (struct value){.dtype = DTYPE_BIT, .shape = shape_of(1, (int64_t[]){9})};
    assert_int_equal(value_bytes(&value), 2);
    value = (struct value){.dtype = DTYPE_F64};
    assert_int_equal(value_bytes(&value), 8);
    value.shape = shape_of(2, (int64_t[]){INT64_MAX / 64 + 1, 1});
    assert_int_equal(value_bytes(&value), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_types_have_names_and_sizes),
        cmocka_unit_test(shapes_are_written_with_crosses),
        cmocka_unit_test(elements_are_counted_and_overflow_is_told),
        cmocka_unit_test(layouts_have_the_texts_of_onednn),
        cmocka_unit_test(layout_texts_read_back),
        cmocka_unit_test(texts_that_are_no_layout_are_refused),
        cmocka_unit_test(places_are_as_worked_out_by_hand),
        cmocka_unit_test(every_element_has_a_place_of_its_own),
        cmocka_unit_test(blocks_are_padded),
        cmocka_unit_test(bytes_are_counted_with_padding_and_bits_rounded_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
