/* A table of short texts, printed in aligned columns or as Markdown. The first error is kept:
 * adding goes on without effect, and printing returns it. */
#ifndef NEAP_REPORT_TABLE_H
#define NEAP_REPORT_TABLE_H

#include "base/memory.h"

struct table {
    size_t columns; /* set before the first cell */
    size_t left;    /* of them, the first so many are of words, to the left */
    struct pool pool;
    const char **cells; /* row by row, the first row being the titles */
    size_t n, capacity;
    neap_error *error;
};

void table_add(struct table *table, const char *format, ...) PRINTF_LIKE(2, 3);
/* Frees the table, whatever it returns. */
MUST_USE neap_error *table_print(struct table *table, bool markdown, FILE *file);

#endif
