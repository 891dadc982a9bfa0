/* Errors as values: see status.h. */
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct neap_error {
    enum neap_code code;
    char message[];
};

/* What is returned when an error itself cannot be allocated; never freed. */
static const struct {
    enum neap_code code;
    char message[24];
} out_of_memory = {NEAP_ERROR_MEMORY, "out of memory"};

static neap_error *static_error(void) {
    return (neap_error *)(uintptr_t)&out_of_memory;
}

neap_error *error_make_v(enum neap_code code, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    neap_error *error = length < 0 ? NULL : malloc(sizeof *error + (size_t)length + 1);
    if (error) {
        error->code = code;
        vsnprintf(error->message, (size_t)length + 1, format, again);
    }
    va_end(again);
    return error ? error : static_error();
}

neap_error *error_make(enum neap_code code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    neap_error *error = error_make_v(code, format, args);
    va_end(args);
    return error;
}

neap_error *error_prefix(neap_error *error, const char *format, ...) {
    if (!error)
        return NULL;
    va_list args;
    va_start(args, format);
    neap_error *prefix = error_make_v(error->code, format, args);
    va_end(args);
    neap_error *joined = error_make(error->code, "%s: %s", prefix->message, error->message);
    neap_error_free(prefix);
    neap_error_free(error);
    return joined;
}

neap_error *error_memory(size_t bytes) {
    return error_make(NEAP_ERROR_MEMORY, "out of memory (%zu bytes asked for)", bytes);
}

neap_error *error_first(neap_error *first, neap_error *second) {
    if (!first)
        return second;
    neap_error_free(second);
    return first;
}

enum neap_code neap_error_code(const neap_error *error) {
    return error ? error->code : NEAP_OK;
}

const char *neap_error_message(const neap_error *error) {
    return error ? error->message : "success";
}

void neap_error_free(neap_error *error) {
    if (error != static_error())
        free(error);
}
