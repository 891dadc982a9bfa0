/* The cursor of the text form: see text_scan.h. */
#include "ir/text_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"

/* ---- where ---------------------------------------------------------------------------------- */

char scan_peek(struct scan *s) {
    while (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')
        s->at++;
    if (*s->at == '#')
        s->at = strchrnul(s->at, '\n');
    return *s->at;
}

bool scan_next_line(struct scan *s) {
    s->at = strchrnul(s->at, '\n');
    if (!*s->at)
        return false;
    s->line_start = ++s->at;
    s->line++;
    return true;
}

struct spot scan_spot(struct scan *s) {
    scan_peek(s);
    return (struct spot){s->line, (int)(s->at - s->line_start) + 1};
}

neap_error *scan_locate(const struct scan *s, struct spot spot, neap_error *error) {
    return error_prefix(error, "%s:%d:%d", s->where, spot.line, spot.column);
}

neap_error *scan_refuse(const struct scan *s, struct spot spot, const char *format, ...) {
    va_list args;
    va_start(args, format);
    neap_error *error = error_make_v(NEAP_ERROR_MODEL, format, args);
    va_end(args);
    return scan_locate(s, spot, error);
}

neap_error *scan_unexpected(struct scan *s, const char *what) {
    if (scan_line_ends(s))
        return scan_refuse(s, scan_spot(s), "expected %s, found the end of the line", what);
    char found[24];
    size_t n = 0;
    while (n + 1 < sizeof found && text_is_bare(s->at[n]))
        n++;
    n = n ? n : 1;
    for (size_t i = 0; i < n; i++)
        found[i] = (char)(s->at[i] >= ' ' && s->at[i] < 127 ? s->at[i] : '?');
    found[n] = '\0';
    return scan_refuse(s, scan_spot(s), "expected %s, found '%s'", what, found);
}

/* ---- what ----------------------------------------------------------------------------------- */

bool scan_accept(struct scan *s, char c) {
    if (scan_peek(s) != c)
        return false;
    s->at++;
    return true;
}

neap_error *scan_expect(struct scan *s, char c) {
    return scan_accept(s, c) ? NULL : scan_unexpected(s, (char[]){'\'', c, '\'', 0});
}

static neap_error *take(struct scan *s, size_t length, const char **out) {
    char *copy;
    TRY(pool_alloc(&s->pool, length + 1, 1, &copy));
    memcpy(copy, s->at, length);
    s->at += length;
    *out = copy;
    return NULL;
}

neap_error *scan_word(struct scan *s, const char *what, const char **out) {
    size_t length = 0;
    scan_peek(s);
    while (text_is_bare(s->at[length]))
        length++;
    return length ? take(s, length, out) : scan_unexpected(s, what);
}

neap_error *scan_raw(struct scan *s, const char **out) {
    return take(s, strcspn(s->at, " \t\r\n#"), out);
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character behind a backslash; 0 if it is none. */
static char escaped(struct scan *s) {
    char c = *s->at;
    if (c == '"' || c == '\\') {
        s->at++;
        return c;
    }
    int high = c == 'x' ? hex_digit(s->at[1]) : -1, low = high < 0 ? -1 : hex_digit(s->at[2]);
    if (low < 0)
        return '\0';
    s->at += 3;
    return (char)(high << 4 | low);
}

/* Bytes up to the closing quote; what stands escaped becomes shorter, never longer. */
static size_t quoted_length(const char *at) {
    size_t length = 0;
    while (at[length] != '"' && at[length] != '\n' && at[length])
        length += at[length] == '\\' && at[length + 1] && at[length + 1] != '\n' ? 2 : 1;
    return length;
}

static neap_error *quoted_name(struct scan *s, const char **out) {
    struct spot spot = scan_spot(s);
    const char *end = ++s->at;
    end += quoted_length(end);
    if (*end != '"')
        return scan_refuse(s, spot, "the name has no closing quote");
    char *name;
    TRY(pool_alloc(&s->pool, (size_t)(end - s->at) + 1, 1, &name));
    *out = name;
    while (s->at < end) {
        struct spot here = {s->line, (int)(s->at - s->line_start) + 1};
        bool escape = *s->at == '\\';
        char c = *s->at++;
        *name = escape ? escaped(s) : c;
        if (!*name++)
            return scan_refuse(s, here, "no escape; there are \\\", \\\\ and \\x01 to \\xff");
    }
    s->at = end + 1;
    return NULL;
}

neap_error *scan_name(struct scan *s, const char *what, const char **out) {
    if (scan_peek(s) == '"')
        return quoted_name(s, out);
    struct spot spot = scan_spot(s);
    if (*s->at == '@')
        return scan_unexpected(s, what);
    TRY(scan_word(s, what, out));
    return strcmp(*out, "_")
               ? NULL
               : scan_refuse(s, spot, "expected %s, found '_', an absent input", what);
}

neap_error *scan_number(struct scan *s, double *out) {
    const char *word;
    char *end;
    struct spot spot = scan_spot(s);
    TRY(scan_word(s, "a number", &word));
    *out = strtod(word, &end);
    if (*end || !isfinite(*out))
        return scan_refuse(s, spot, "'%s' is no number", word);
    return NULL;
}

neap_error *scan_shape(struct scan *s, struct shape *out) {
    const char *word;
    struct spot spot = scan_spot(s);
    *out = (struct shape){0};
    TRY(scan_word(s, "a shape", &word));
    if (!strcmp(word, "scalar"))
        return NULL;
    for (const char *at = word;; at++) {
        int64_t dim = 0;
        while (*at >= '0' && *at <= '9' && dim <= TEXT_MOST_DIM)
            dim = 10 * dim + *at++ - '0';
        if (out->rank == MAX_RANK || dim < 1 || dim > TEXT_MOST_DIM || (*at && *at != 'x'))
            return scan_refuse(s, spot,
                               "'%s' is no shape: up to %d dimensions like 8x3x32x32, or scalar",
                               word, MAX_RANK);
        out->dim[out->rank++] = dim;
        if (!*at)
            return NULL;
    }
}
