/* Checked sizes, arrays that grow, and pools. */
#include "support/files.h"

#include "base/memory.h"

/* The address sanitizer ends the program on an impossible size unless told otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void products_and_sums_tell_overflow(void **state) {
    (void)state;
    int64_t n;
    assert_true(size_multiply(1 << 20, 1 << 20, &n));
    assert_true(n == (int64_t)1 << 40);
    assert_true(size_multiply(INT64_MAX, 1, &n));
    assert_false(size_multiply((int64_t)1 << 32, (int64_t)1 << 31, &n));
    assert_true(size_add(INT64_MAX - 1, 1, &n));
    assert_true(n == INT64_MAX);
    assert_false(size_add(INT64_MAX, 1, &n));
}

static void rounding_up_goes_to_the_next_multiple(void **state) {
    (void)state;
    assert_int_equal(round_up(0, 64), 0);
    assert_int_equal(round_up(1, 64), 64);
    assert_int_equal(round_up(64, 64), 64);
    assert_int_equal(round_up(65, 64), 128);
    assert_int_equal(round_up(10, 3), 12);
}

static void memory_is_zeroed_and_none_is_some(void **state) {
    (void)state;
    int *numbers;
    assert_no_error(memory_alloc(100, sizeof *numbers, &numbers));
    for (int i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
    free(numbers);
    assert_no_error(memory_alloc(0, sizeof *numbers, &numbers));
    assert_non_null(numbers);
    free(numbers);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    struct pool pool = {0};
    void *memory;
    assert_error(memory_alloc(SIZE_MAX / 2, 16, &memory), NEAP_ERROR_MEMORY, "out of memory");
    assert_error(pool_alloc(&pool, SIZE_MAX / 2, 16, &memory), NEAP_ERROR_MEMORY, "out of memory");
    assert_error(pool_alloc(&pool, SIZE_MAX - 4, 1, &memory), NEAP_ERROR_MEMORY, "out of memory");
    pool_free(&pool);
}

static void arrays_grow_and_keep_what_they_hold(void **state) {
    (void)state;
    int64_t *numbers = NULL;
    size_t capacity = 0, grown = 0;
    for (size_t n = 0; n < 10000; n++) {
        size_t before = capacity;
        assert_no_error(memory_grow(&numbers, &capacity, n + 1, sizeof *numbers));
        grown += capacity != before;
        assert_true(capacity > n);
        numbers[n] = (int64_t)n;
    }
    for (size_t n = 0; n < 10000; n++)
        assert_int_equal(numbers[n], n);
    assert_in_range(grown, 2, 20); /* doubled, not extended one by one */
    size_t before = capacity;
    assert_error(memory_grow(&numbers, &capacity, SIZE_MAX / 4, sizeof *numbers), NEAP_ERROR_MEMORY,
                 "out of memory");
    assert_int_equal(capacity, before);
    assert_int_equal(numbers[9999], 9999);
    free(numbers);
}

static void strings_are_copied_and_formatted(void **state) {
    (void)state;
    char *copy, *text;
    assert_no_error(memory_string("conv1", &copy));
    assert_no_error(memory_format(&text, "%s.%s", copy, "weight"));
    assert_string_equal(text, "conv1.weight");
    free(copy);
    free(text);
}

static void a_pool_gives_zeroed_memory_aligned_to_16(void **state) {
    (void)state;
    struct pool pool = {0};
    for (size_t n = 1; n < 3000; n += 7) {
        unsigned char *bytes;
        assert_no_error(pool_alloc(&pool, n, 1, &bytes));
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, n);
    }
    pool_free(&pool);
}

static void pieces_of_a_pool_do_not_overlap_whatever_their_sizes(void **state) {
    (void)state;
    enum { N = 300 };
    static const size_t sizes[] = {1, 40, 1000, 20000, 70000, 16};
    struct pool pool = {0};
    unsigned char *pieces[N];
    for (size_t i = 0; i < N; i++) {
        size_t size = sizes[i % (sizeof sizes / sizeof *sizes)];
        assert_no_error(pool_alloc(&pool, size, 1, &pieces[i]));
        memset(pieces[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t at = 0; at < sizes[i % (sizeof sizes / sizeof *sizes)]; at++)
            if (pieces[i][at] != i % 251)
                fail_msg("byte %zu of piece %zu changed", at, i);
    pool_free(&pool);
}

static void pools_hold_strings_and_can_be_used_again_when_freed(void **state) {
    (void)state;
    struct pool pool = {0};
    for (int round = 0; round < 2; round++) {
        const char *plain, *made;
        assert_no_error(pool_string(&pool, "relu", &plain));
        assert_no_error(pool_format(&pool, &made, "%s.%d", plain, 1));
        assert_string_equal(made, "relu.1");
        pool_free(&pool);
        assert_null(pool.blocks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_sums_tell_overflow),
        cmocka_unit_test(rounding_up_goes_to_the_next_multiple),
        cmocka_unit_test(memory_is_zeroed_and_none_is_some),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(arrays_grow_and_keep_what_they_hold),
        cmocka_unit_test(strings_are_copied_and_formatted),
        cmocka_unit_test(a_pool_gives_zeroed_memory_aligned_to_16),
        cmocka_unit_test(pieces_of_a_pool_do_not_overlap_whatever_their_sizes),
        cmocka_unit_test(pools_hold_strings_and_can_be_used_again_when_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
