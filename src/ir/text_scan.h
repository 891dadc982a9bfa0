/* A cursor over the text of a graph: names, words and marks, and refusals that say where.
 *
 * Statements end with their line; blanks and comments are skipped before everything that is read.
 */
#ifndef NEAP_IR_TEXT_SCAN_H
#define NEAP_IR_TEXT_SCAN_H

#include "ir/graph.h"

struct scan {
    const char *at, *line_start;
    int line;
    const char *where;
    struct pool pool; /* of the names and words given out */
};

/* A place to complain about, also after the cursor has moved on. */
struct spot {
    int line, column; /* from 1; columns are bytes */
};

/* The place of what comes next. */
struct spot scan_spot(struct scan *s);
/* NEAP_ERROR_MODEL "where:line:column: …". */
neap_error *scan_refuse(const struct scan *s, struct spot spot, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Puts the place before an error of somebody else's. */
neap_error *scan_locate(const struct scan *s, struct spot spot, neap_error *error);
/* "expected <what>, found '<what comes next>'". */
neap_error *scan_unexpected(struct scan *s, const char *what);

/* The next character that is neither blank nor comment; '\n' at a line's end, 0 at the text's. */
char scan_peek(struct scan *s);
static inline bool scan_line_ends(struct scan *s) {
    char next = scan_peek(s);
    return next == '\n' || !next;
}
/* To the next line; false at the end of the text. */
bool scan_next_line(struct scan *s);

/* Takes the mark `c` if it comes next. */
bool scan_accept(struct scan *s, char c);
MUST_USE neap_error *scan_expect(struct scan *s, char c);
/* A run of bare characters. */
MUST_USE neap_error *scan_word(struct scan *s, const char *what, const char **out);
/* A bare or a quoted name. */
MUST_USE neap_error *scan_name(struct scan *s, const char *what, const char **out);
/* Everything up to a blank or the end of the line: an attribute's value. */
MUST_USE neap_error *scan_raw(struct scan *s, const char **out);
MUST_USE neap_error *scan_number(struct scan *s, double *out);
/* "8x1x28x28" or "scalar"; dimensions from 1 to TEXT_MOST_DIM. */
MUST_USE neap_error *scan_shape(struct scan *s, struct shape *out);

#endif
