/* Philox4x32-10 against the known answers of its authors' library (Random123, kat_vectors). */
#include "support/files.h"

#include "base/philox.h"

static void gives_the_published_answers(void **state) {
    (void)state;
    static const struct {
        struct philox_block counter;
        struct philox_key key;
        struct philox_block answer;
    } known[] = {
        {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
        {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         {{0xffffffff, 0xffffffff}},
         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         {{0xa4093822, 0x299f31d0}},
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct philox_block block = philox(known[i].key, known[i].counter);
        assert_memory_equal(&block, &known[i].answer, sizeof block);
    }
}

static void halves_of_a_counter_are_its_words_from_the_lowest(void **state) {
    (void)state;
    struct philox_block block =
        philox_at(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
    assert_int_equal(block.word[0], 0xd16cfe09);
    assert_int_equal(block.word[3], 0x24126ea1);
}

static void floats_are_at_least_0_and_below_1(void **state) {
    (void)state;
    assert_true(philox_float(0) == 0);
    assert_true(philox_float(0x80000000) == 0.5f);
    assert_true(philox_float(0xffffffff) == 1 - 0x1p-24f);
    assert_true(philox_double(0, 0) == 0);
    assert_true(philox_double(0x80000000, 0) == 0.5);
    assert_true(philox_double(0xffffffff, 0xffffffff) == 1 - 0x1p-53);
}

/* Published FNV-1a values of 64 bits. */
static void names_are_hashed_by_fnv_1a(void **state) {
    (void)state;
    assert_true(philox_hash("") == 0xcbf29ce484222325);
    assert_true(philox_hash("a") == 0xaf63dc4c8601ec8c);
    assert_true(philox_hash("foobar") == 0x85944171f73967e8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_answers),
        cmocka_unit_test(halves_of_a_counter_are_its_words_from_the_lowest),
        cmocka_unit_test(floats_are_at_least_0_and_below_1),
        cmocka_unit_test(names_are_hashed_by_fnv_1a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
