/* Text for people: errors and notes on stderr, quantities, and the nearest word. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool text_in_colour(FILE *file) {
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(no_colour && *no_colour) && !(terminal && !strcmp(terminal, "dumb")) &&
           isatty(fileno(file));
}

/* Two of the library's codes only tell callers apart, not shells. */
static int exit_code(enum neap_code code) {
    return code == NEAP_ERROR_MEMORY || code == NEAP_ERROR_INTERNAL ? NEAP_ERROR_RUNTIME
                                                                    : (int)code;
}

static void error_label(void) {
    bool colour = text_in_colour(stderr);
    fflush(stdout);
    fprintf(stderr, "neap: %serror:%s ", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "");
}

int fail(enum neap_code code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_label();
    vfprintf(stderr, format, args);
    putc('\n', stderr);
    va_end(args);
    return exit_code(code);
}

int fail_with(neap_error *error) {
    int code = exit_code(neap_error_code(error));
    if (error) {
        error_label();
        fprintf(stderr, "%s\n", neap_error_message(error));
        neap_error_free(error);
    }
    return code;
}

void note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("neap: ", stderr);
    vfprintf(stderr, format, args);
    putc('\n', stderr);
    va_end(args);
}

int output_flush(void) {
    errno = 0;
    if (!(fflush(stdout) | ferror(stdout)))
        return NEAP_OK;
    const char *reason = errno ? strerror(errno) : "write error";
    return fail(NEAP_ERROR_RUNTIME, "cannot write to standard output: %s", reason);
}

/* ---- quantities ----------------------------------------------------------------------------- */

static struct text text_format(const char *format, ...) PRINTF_LIKE(1, 2);
static struct text text_format(const char *format, ...) {
    struct text text;
    va_list args;
    va_start(args, format);
    vsnprintf(text.s, sizeof text.s, format, args);
    va_end(args);
    return text;
}

struct text bytes_text(int64_t bytes) {
    double mib = (double)bytes / (1024 * 1024);
    if (fabs(mib) >= 1023.95)
        return text_format("%.1f GiB", mib / 1024);
    return text_format(bytes == 0 || fabs(mib) >= 0.05 ? "%.1f MiB" : "%.3f MiB", mib);
}

struct text count_text(int64_t count) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    struct text text;
    char *to = text.s;
    for (int i = 0; i < length; i++) {
        *to++ = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            *to++ = ',';
    }
    *to = 0;
    return text;
}

struct text exact_bytes_text(int64_t bytes) {
    return text_format("%s (%s bytes)", bytes_text(bytes).s, count_text(bytes).s);
}

struct text seconds_text(double seconds) {
    if (seconds < 1)
        return text_format("%.3g ms", seconds * 1e3);
    if (seconds < 100)
        return text_format("%.3g s", seconds);
    long long whole = seconds < 1e15 ? llround(seconds) : 0;
    if (whole < 3600)
        return text_format("%lld:%02lld", whole / 60, whole % 60);
    return text_format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

struct text real_text(double value) {
    int digits = 15;
    struct text text;
    do
        text = text_format("%.*g", digits, value);
    while (strtod(text.s, NULL) != value && ++digits <= 17);
    return text;
}

struct text percent_text(double fraction) {
    return text_format("%+.1f %%", fraction * 100);
}

struct text dims_text(int rank, const int64_t *dims) {
    struct text text = {""};
    size_t length = 0;
    for (int i = 0; i < rank && length < sizeof text.s; i++)
        length += (size_t)snprintf(text.s + length, sizeof text.s - length, "%s%lld", i ? "x" : "",
                                   (long long)dims[i]);
    return text;
}

/* ---- the nearest word ----------------------------------------------------------------------- */

enum { WORD_LIMIT = 47 };

/* Edits (insert, delete, replace, swap of neighbours) between two words: three rows suffice. */
static size_t edit_distance(const char *a, const char *b) {
    size_t rows[3][WORD_LIMIT + 1], n = strlen(b);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n; j++)
        above[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t least = above[j - 1] + (a[i - 1] != b[j - 1]);
            least = above[j] + 1 < least ? above[j] + 1 : least;
            least = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            row[j] = swapped && before[j - 2] + 1 < least ? before[j - 2] + 1 : least;
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[n];
}

struct nearest nearest_start(const char *word) {
    /* Further away than this is another word, not a slip. */
    size_t length = strlen(word);
    return (struct nearest){.word = word, .distance = length < 3 ? 1 : 1 + (length + 1) / 3};
}

void nearest_offer(struct nearest *nearest, const char *candidate) {
    size_t length = strlen(nearest->word);
    if (length == 0 || length > WORD_LIMIT || strlen(candidate) > WORD_LIMIT)
        return;
    bool abbreviated = length > 1 && !strncmp(nearest->word, candidate, length);
    size_t distance = abbreviated ? 0 : edit_distance(nearest->word, candidate);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        snprintf(nearest->best, sizeof nearest->best, "%s", candidate);
    }
}

struct text nearest_text(const struct nearest *nearest, const char *prefix) {
    return nearest->best[0] ? text_format(" (did you mean '%s%s'?)", prefix, nearest->best)
                            : text_format("%s", "");
}
