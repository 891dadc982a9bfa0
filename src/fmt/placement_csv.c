/* Placement problems as CSV: read into lives, written back with offsets. Lines are at most as many
 * as lives can be; rows are kept as text, so that writing changes nothing else in them. */
#include "fmt/placement_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MOST_BYTES = 256 << 20, MOST_COLUMNS = 64 };
enum column { COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, COLUMN_OFFSET, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"id", "lower", "upper", "size", "offset"};

/* `text` without the blanks around it. */
struct field {
    const char *text;
    int length;
};

struct reader {
    const char *path, *at;
    uint32_t line;
    struct field fields[MOST_COLUMNS]; /* of the line read last */
    int n_fields, n_columns;
    int column[N_COLUMNS]; /* -1: the file has none */
    size_t ids_capacity, rows_capacity, times_capacity;
    int64_t *times; /* lower and upper of each row */
    int64_t sum_bytes;
    struct placement_csv *out;
};

static neap_error *refuse(const struct reader *r, const char *what) {
    return error_make(NEAP_ERROR_DATA, "%s:%u: %s", r->path, r->line, what);
}

/* ---- lines and fields ----------------------------------------------------------------------- */

/* Where the field that starts at `text` ends: a comma, the end of the line, or NULL where a quote
 * is not closed on it. */
static const char *field_end(const char *text) {
    if (*text != '"')
        return text + strcspn(text, ",\r\n");
    for (text++;; text += 2) {
        text += strcspn(text, "\"\r\n");
        if (*text != '"')
            return NULL;
        if (text[1] != '"') /* two quotes stand for one */
            return text + 1;
    }
}

static neap_error *read_field(struct reader *r) {
    if (r->n_fields == MOST_COLUMNS)
        return refuse(r, "there are too many columns");
    r->at += strspn(r->at, " \t");
    const char *end = field_end(r->at);
    if (!end)
        return refuse(r, "a quoted field is not closed");
    struct field *field = &r->fields[r->n_fields++];
    *field = (struct field){r->at, (int)(end - r->at)};
    while (field->length > 0 && strchr(" \t", field->text[field->length - 1]))
        field->length--;
    r->at = end + strspn(end, " \t");
    if (*r->at && !strchr(",\r\n", *r->at))
        return refuse(r, "there is text behind a quoted field");
    return NULL;
}

/* The next line that is not blank; no fields at the end of the file. */
static neap_error *read_line(struct reader *r) {
    r->n_fields = 0;
    for (;; r->at++) {
        r->at += strspn(r->at, " \t\r");
        if (*r->at != '\n')
            break;
        r->line++;
    }
    if (!*r->at)
        return NULL;
    for (;; r->at++) {
        TRY(read_field(r));
        if (*r->at != ',')
            break;
    }
    return NULL;
}

/* The line's fields as text, without the column `offset`. */
static neap_error *copy_line(struct reader *r, const char **out) {
    size_t length = 0;
    char *text;
    for (int i = 0; i < r->n_fields; i++)
        length += (size_t)r->fields[i].length + 1;
    TRY(pool_alloc(&r->out->pool, length + 1, 1, &text));
    *out = text;
    for (int i = 0; i < r->n_fields; i++) {
        if (i == r->column[COLUMN_OFFSET])
            continue;
        if (text != *out)
            *text++ = ',';
        memcpy(text, r->fields[i].text, (size_t)r->fields[i].length);
        text += r->fields[i].length;
    }
    return NULL;
}

/* ---- head and rows -------------------------------------------------------------------------- */

static bool field_is(const struct field *field, const char *name) {
    bool quoted = field->length >= 2 && *field->text == '"';
    return (size_t)field->length == strlen(name) + 2 * quoted &&
           !memcmp(field->text + quoted, name, strlen(name));
}

static neap_error *read_head(struct reader *r) {
    TRY(read_line(r));
    r->n_columns = r->n_fields;
    for (int c = 0; c < N_COLUMNS; c++) {
        r->column[c] = -1;
        for (int i = 0; i < r->n_fields; i++) {
            if (!field_is(&r->fields[i], column_names[c]))
                continue;
            if (r->column[c] >= 0)
                return error_make(NEAP_ERROR_DATA, "%s:%u: there are two columns '%s'", r->path,
                                  r->line, column_names[c]);
            r->column[c] = i;
        }
        if (r->column[c] < 0 && c != COLUMN_OFFSET)
            return error_make(NEAP_ERROR_DATA,
                              "%s:%u: there is no column '%s': a placement problem has "
                              "id,lower,upper,size",
                              r->path, r->line, column_names[c]);
    }
    return copy_line(r, &r->out->head);
}

static neap_error *read_number(const struct reader *r, enum column column, int64_t least,
                               int64_t most, int64_t *out) {
    struct field field = r->fields[r->column[column]];
    char *end = NULL;
    if (field.length >= 2 && *field.text == '"')
        field = (struct field){field.text + 1, field.length - 2};
    errno = 0;
    long long number = field.length ? strtoll(field.text, &end, 10) : 0;
    if (end != field.text + field.length)
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is '%.*s', not a whole number", r->path,
                          r->line, column_names[column], field.length, field.text);
    if (errno || number < least || number > most)
        return error_make(NEAP_ERROR_DATA,
                          "%s:%u: %s is %.*s, but must be from %" PRId64 " to %" PRId64, r->path,
                          r->line, column_names[column], field.length, field.text, least, most);
    *out = number;
    return NULL;
}

/* Of the line just read. Steps are ranks of times: they wait for the last row. */
static neap_error *read_row(struct reader *r) {
    struct placement_csv *csv = r->out;
    size_t row = csv->lives.n;
    int64_t bytes, lower, upper;
    if (r->n_fields != r->n_columns)
        return error_make(NEAP_ERROR_DATA, "%s:%u: %d fields, but the head names %d columns",
                          r->path, r->line, r->n_fields, r->n_columns);
    if (row == PLAN_NONE / 4)
        return refuse(r, "there are too many rows");
    TRY(read_number(r, COLUMN_LOWER, INT64_MIN, INT64_MAX - 1, &lower));
    TRY(read_number(r, COLUMN_UPPER, lower + 1, INT64_MAX, &upper));
    TRY(read_number(r, COLUMN_SIZE, 0, INT64_MAX / 4 - r->sum_bytes, &bytes));
    r->sum_bytes += bytes;
    TRY(memory_grow(&csv->lives.at, &csv->lives.capacity, row + 1, sizeof *csv->lives.at));
    TRY(memory_grow(&csv->ids, &r->ids_capacity, row + 1, sizeof *csv->ids));
    TRY(memory_grow(&csv->rows, &r->rows_capacity, row + 1, sizeof *csv->rows));
    TRY(memory_grow(&r->times, &r->times_capacity, 2 * row + 2, sizeof *r->times));
    const struct field *id = &r->fields[r->column[COLUMN_ID]];
    TRY(pool_format(&csv->pool, &csv->ids[row], "%.*s", id->length, id->text));
    TRY(copy_line(r, &csv->rows[row]));
    r->times[2 * row] = lower;
    r->times[2 * row + 1] = upper;
    csv->lives.at[csv->lives.n++] =
        (struct plan_life){.value = (uint32_t)row, .in_place_of = PLAN_NONE, .bytes = bytes};
    return NULL;
}

/* ---- times to steps ------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t step_of(const int64_t *times, size_t n, int64_t time) {
    const int64_t *found = bsearch(&time, times, n, sizeof time, compare_times);
    return (uint32_t)(found - times);
}

static neap_error *set_steps(struct reader *r) {
    struct plan_lives *lives = &r->out->lives;
    size_t n = 0;
    int64_t *times;
    TRY(memory_alloc(2 * lives->n, sizeof *times, &times));
    if (lives->n)
        memcpy(times, r->times, 2 * lives->n * sizeof *times);
    qsort(times, 2 * lives->n, sizeof *times, compare_times);
    for (size_t i = 0; i < 2 * lives->n; i++)
        if (n == 0 || times[n - 1] != times[i])
            times[n++] = times[i];
    for (size_t i = 0; i < lives->n; i++) {
        lives->at[i].first_step = step_of(times, n, r->times[2 * i]);
        lives->at[i].last_step = step_of(times, n, r->times[2 * i + 1]) - 1;
    }
    free(times);
    return NULL;
}

static neap_error *read_all(struct reader *r, const char *end) {
    static const char byte_order_mark[] = "\xEF\xBB\xBF"; /* as some programs export */
    if (!strncmp(r->at, byte_order_mark, strlen(byte_order_mark)))
        r->at += strlen(byte_order_mark);
    TRY(read_head(r));
    for (;;) {
        TRY(read_line(r));
        if (!r->n_fields)
            break;
        TRY(read_row(r));
    }
    if (r->at != end)
        return refuse(r, "there is a zero byte in it");
    return set_steps(r);
}

/* ---- the interface -------------------------------------------------------------------------- */

neap_error *placement_csv_read(const char *path, struct placement_csv *out) {
    struct file_bytes file;
    *out = (struct placement_csv){0};
    TRY(file_read(path, MOST_BYTES, NEAP_ERROR_DATA, &file));
    struct reader r = {.path = path, .at = file.data, .line = 1, .out = out};
    neap_error *error = read_all(&r, file.data + file.size_bytes);
    free(r.times);
    free(file.data);
    if (error)
        placement_csv_free(out);
    return error;
}

neap_error *placement_csv_write(const struct placement_csv *csv, const char *path) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    FILE *file = file_writer_stream(writer);
    fprintf(file, "%s,offset\n", csv->head);
    for (size_t i = 0; i < csv->lives.n; i++)
        fprintf(file, "%s,%" PRId64 "\n", csv->rows[i], csv->lives.at[i].offset);
    return file_writer_commit(writer);
}

void placement_csv_free(struct placement_csv *csv) {
    plan_lives_free(&csv->lives);
    free(csv->ids);
    free(csv->rows);
    pool_free(&csv->pool);
    *csv = (struct placement_csv){0};
}
