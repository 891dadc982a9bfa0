/* CRC-32C against RFC 3720's examples (B.4), and files. */
#include "support/files.h"

#include "base/crc32c.h"

static uint32_t sum_of(const void *bytes, size_t n) {
    struct crc32c crc;
    crc32c_init(&crc);
    return crc32c_add(&crc, 0, bytes, n);
}

static void the_standards_examples(void **state) {
    (void)state;
    unsigned char bytes[32] = {0};
    assert_int_equal(sum_of(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(sum_of(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(sum_of(bytes, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    assert_int_equal(sum_of(bytes, 32), 0x113fdb5c);
    assert_int_equal(sum_of("123456789", 9), 0xe3069283);
    assert_int_equal(sum_of("", 0), 0);
}

static void pieces_make_the_same_sum(void **state) {
    (void)state;
    unsigned char bytes[100];
    struct crc32c crc;
    crc32c_init(&crc);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i + 3);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        uint32_t sum = crc32c_add(&crc, 0, bytes, cut);
        assert_int_equal(crc32c_add(&crc, sum, bytes + cut, sizeof bytes - cut),
                         sum_of(bytes, sizeof bytes));
    }
}

static void files(void **state) {
    (void)state;
    int64_t bytes;
    uint32_t sum;
    put_text("nine", "123456789");
    assert_no_error(crc32c_file("nine", NEAP_ERROR_DATA, &bytes, &sum));
    assert_int_equal(bytes, 9);
    assert_int_equal(sum, 0xe3069283);
    char *large = calloc(1, 200000);
    assert_non_null(large);
    put_file("large", large, 200000);
    assert_no_error(crc32c_file("large", NEAP_ERROR_DATA, &bytes, &sum));
    assert_int_equal(bytes, 200000);
    assert_int_equal(sum, sum_of(large, 200000));
    free(large);
    assert_error(crc32c_file("none", NEAP_ERROR_DATA, &bytes, &sum), NEAP_ERROR_DATA, "'none'");
    assert_error(crc32c_file(".", NEAP_ERROR_RUNTIME, &bytes, &sum), NEAP_ERROR_RUNTIME,
                 "directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standards_examples),
        cmocka_unit_test(pieces_make_the_same_sum),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
