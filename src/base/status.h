/* Errors: every function that can fail returns one, NULL means success.
 *
 * The message is made once, where the failure is known, with the values in it: lower case, no full
 * stop, names in quotes. The caller that receives an error either handles it (and frees it) or
 * passes it on. Foreign libraries' errors are converted in one function per library. */
#ifndef NEAP_BASE_STATUS_H
#define NEAP_BASE_STATUS_H

#include <stdarg.h>
#include <stdint.h>

#include "neap.h"

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* A new error with a formatted message. Never fails: out of memory gives a static error. */
neap_error *error_make(enum neap_code code, const char *format, ...) PRINTF_LIKE(2, 3)
    __attribute__((returns_nonnull));
neap_error *error_make_v(enum neap_code code, const char *format, va_list args);

/* Puts "text: " before the message of `error`, keeping its code; returns it. NULL stays NULL. */
neap_error *error_prefix(neap_error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* Out of host memory, `bytes` being what was asked for. */
neap_error *error_memory(size_t bytes) __attribute__((returns_nonnull));

/* Keeps the first of two errors and frees the second: for clean-up paths that can fail too. */
neap_error *error_first(neap_error *first, neap_error *second);

#define TRY(call)                                                                                  \
    do {                                                                                           \
        neap_error *try_error_ = (call);                                                           \
        if (try_error_)                                                                            \
            return try_error_;                                                                     \
    } while (0)

/* Inside a function with a local `neap_error *error` and a label `done`. */
#define TRY_GOTO(call)                                                                             \
    do {                                                                                           \
        error = (call);                                                                            \
        if (error)                                                                                 \
            goto done;                                                                             \
    } while (0)

#endif
