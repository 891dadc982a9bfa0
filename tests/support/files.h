/* Files for tests to read, and what a failing call has to say about them. */
#ifndef NEAP_TESTS_SUPPORT_FILES_H
#define NEAP_TESTS_SUPPORT_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

static inline void put_file(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void put_text(const char *path, const char *text) {
    put_file(path, text, strlen(text));
}

static inline void assert_file_holds(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fgetc(file), ((const unsigned char *)bytes)[i]);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

static inline void put_folder(const char *path) {
    assert_int_equal(mkdir(path, 0777), 0);
}

static inline void assert_no_error(neap_error *error) {
    if (error)
        print_error("%s\n", neap_error_message(error));
    assert_null(error);
}

/* The error has this code and, somewhere in its message, this text; frees it. */
static inline void assert_error(neap_error *error, enum neap_code code, const char *text) {
    assert_non_null(error);
    if (!strstr(neap_error_message(error), text))
        print_error("'%s' is not in '%s'\n", text, neap_error_message(error));
    assert_non_null(strstr(neap_error_message(error), text));
    assert_int_equal(neap_error_code(error), code);
    neap_error_free(error);
}

/* Tests run in an empty directory of their own; run by hand they make one. */
static inline int enter_scratch_folder(void **state) {
    (void)state;
    char name[] = "scratch-XXXXXX";
    return mkdtemp(name) && chdir(name) == 0 ? 0 : -1;
}

#endif
