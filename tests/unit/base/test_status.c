/* Errors as values. */
#include "support/files.h"

static neap_error *fail_if(bool failing) {
    return failing ? error_make(NEAP_ERROR_DATA, "failed") : NULL;
}

static void a_message_is_formatted_whatever_its_length(void **state) {
    (void)state;
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    neap_error *error = error_make(NEAP_ERROR_DATA, "%d of '%s'", 7, name);
    assert_int_equal(neap_error_code(error), NEAP_ERROR_DATA);
    assert_int_equal(strlen(neap_error_message(error)), 6 + 1999 + 1);
    assert_int_equal(strncmp(neap_error_message(error), "7 of 'nnn", 9), 0);
    neap_error_free(error);
}

static void a_prefix_goes_before_the_message_and_keeps_the_code(void **state) {
    (void)state;
    neap_error *error = error_make(NEAP_ERROR_BUDGET, "does not fit");
    error = error_prefix(error, "batch %d", 64);
    assert_string_equal(neap_error_message(error), "batch 64: does not fit");
    assert_int_equal(neap_error_code(error), NEAP_ERROR_BUDGET);
    neap_error_free(error);
    assert_null(error_prefix(NULL, "batch %d", 64));
}

static void success_is_null_and_can_be_asked(void **state) {
    (void)state;
    assert_int_equal(neap_error_code(NULL), NEAP_OK);
    assert_string_equal(neap_error_message(NULL), "success");
    neap_error_free(NULL);
}

static void of_two_errors_the_first_is_kept(void **state) {
    (void)state;
    neap_error *a = error_make(NEAP_ERROR_DATA, "a");
    assert_ptr_equal(error_first(a, error_make(NEAP_ERROR_DATA, "b")), a);
    assert_ptr_equal(error_first(a, NULL), a);
    assert_ptr_equal(error_first(NULL, a), a);
    assert_null(error_first(NULL, NULL));
    neap_error_free(a);
}

static void no_memory_tells_the_bytes_wanted(void **state) {
    (void)state;
    assert_error(error_memory(123456), NEAP_ERROR_MEMORY, "123456 bytes");
}

static neap_error *count_to_two(bool failing, int *count) {
    *count = 1;
    TRY(fail_if(failing));
    *count = 2;
    return NULL;
}

static neap_error *count_to_two_and_clean_up(bool failing, int *count, bool *cleaned) {
    neap_error *error = NULL;
    *count = 1;
    TRY_GOTO(fail_if(failing));
    *count = 2;
done:
    *cleaned = true;
    return error;
}

static void try_returns_at_the_first_error(void **state) {
    (void)state;
    int count;
    bool cleaned = false;
    assert_null(count_to_two(false, &count));
    assert_int_equal(count, 2);
    assert_error(count_to_two(true, &count), NEAP_ERROR_DATA, "failed");
    assert_int_equal(count, 1);
    assert_null(count_to_two_and_clean_up(false, &count, &cleaned));
    assert_true(cleaned && count == 2);
    cleaned = false;
    assert_error(count_to_two_and_clean_up(true, &count, &cleaned), NEAP_ERROR_DATA, "failed");
    assert_true(cleaned && count == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_formatted_whatever_its_length),
        cmocka_unit_test(a_prefix_goes_before_the_message_and_keeps_the_code),
        cmocka_unit_test(success_is_null_and_can_be_asked),
        cmocka_unit_test(of_two_errors_the_first_is_kept),
        cmocka_unit_test(no_memory_tells_the_bytes_wanted),
        cmocka_unit_test(try_returns_at_the_first_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
