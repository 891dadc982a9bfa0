/* Tables: see table.h. */
#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 160 };

void table_add(struct table *t, const char *format, ...) {
    char text[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!t->error)
        t->error = memory_grow(&t->cells, &t->capacity, t->n + 1, sizeof *t->cells);
    if (!t->error)
        t->error = pool_string(&t->pool, text, &t->cells[t->n]);
    t->n += !t->error;
}

/* Characters, not bytes, of UTF-8. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static int column_width(const struct table *t, size_t column) {
    int width = 0;
    for (size_t i = column; i < t->n; i += t->columns)
        width = width_of(t->cells[i]) > width ? width_of(t->cells[i]) : width;
    return width;
}

static void print_cell(const struct table *t, size_t i, FILE *file) {
    size_t column = i % t->columns;
    int spaces = column_width(t, column) - width_of(t->cells[i]);
    bool last = column + 1 == t->columns, left = column < t->left;
    fprintf(file, "%*s%s%*s%s", left ? 0 : spaces, "", t->cells[i], left && !last ? spaces : 0, "",
            last ? "\n" : "  ");
}

/* The line between titles and rows, which says where columns lie. */
static void print_rule(const struct table *t, FILE *file) {
    for (size_t c = 0; c < t->columns; c++)
        fputs(c < t->left ? "|---" : "|---:", file);
    fputs("|\n", file);
}

static void print_markdown(const struct table *t, FILE *file) {
    for (size_t i = 0; i < t->n; i++) {
        bool last = (i + 1) % t->columns == 0;
        fprintf(file, "| %s %s", t->cells[i], last ? "|\n" : "");
        if (i + 1 == t->columns)
            print_rule(t, file);
    }
}

neap_error *table_print(struct table *t, bool markdown, FILE *file) {
    neap_error *error = t->error;
    if (!error && markdown)
        print_markdown(t, file);
    for (size_t i = 0; !error && !markdown && i < t->n; i++)
        print_cell(t, i, file);
    free(t->cells);
    pool_free(&t->pool);
    *t = (struct table){0};
    return error;
}
