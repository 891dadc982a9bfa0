/* A bench's report as JSON, and its rows read back, so that a bench goes on where it was.
 * Loads: a few hundred rows. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/bench.h"

static const char format_name[] = "neap-bench/1";
static const int64_t most_bytes = 64 << 20;

/* ---- writing -------------------------------------------------------------------------------- */

/* NULL members are errors that json_object_set_new tells. */
static json_t *json_of(const struct bench_field *f, const void *at) {
    if (f->type == BENCH_TEXT)
        return json_string(*(const char *const *)at);
    if (f->type == BENCH_INTEGER)
        return json_integer(*(const int64_t *)at);
    if (f->type == BENCH_FLAG)
        return json_boolean(*(const bool *)at);
    double value = *(const double *)at;
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_of_row(const struct neap_bench_row *row) {
    json_t *object = json_object();
    const struct bench_field *f;
    bool failed = !object;
    for (size_t i = 0; !failed && (f = bench_field_at(i)); i++)
        failed = json_object_set_new(object, f->name, json_of(f, (const char *)row + f->offset));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *json_of_mark(const struct neap_bench_mark *mark) {
    return json_pack("{s:s, s:I, s:I, s:I}", "text", mark->text, "met", (json_int_t)mark->met, "of",
                     (json_int_t)mark->of, "needed", (json_int_t)mark->needed);
}

static neap_error *build(const struct neap_bench_report *r, json_t **out) {
    json_t *rows = json_array(), *marks = json_array(), *misses = json_array();
    bool failed = !rows || !marks || !misses;
    for (size_t i = 0; !failed && i < r->n_rows; i++)
        failed = json_array_append_new(rows, json_of_row(&r->rows[i]));
    for (size_t i = 0; !failed && i < r->n_marks; i++)
        failed = json_array_append_new(marks, json_of_mark(&r->marks[i]));
    for (size_t i = 0; !failed && i < r->n_misses; i++)
        failed = json_array_append_new(misses, json_string(r->misses[i]));
    *out = failed ? NULL
                  : json_pack("{s:s, s:s, s:s, s:s?, s:f, s:b, s:O, s:O, s:O}", "format",
                              format_name, "version", r->version, "machine", r->machine, "suite",
                              r->suite, "scale", r->scale, "planned_only", r->planned_only, "rows",
                              rows, "marks", marks, "misses", misses);
    json_decref(rows);
    json_decref(marks);
    json_decref(misses);
    return *out ? NULL : error_memory(1);
}

neap_error *bench_write_json(const struct neap_bench_report *report, FILE *file) {
    json_t *root;
    TRY(build(report, &root));
    bool failed = json_dumpf(root, file, JSON_INDENT(2));
    fputc('\n', file);
    json_decref(root);
    return failed && !ferror(file) ? error_memory(1) : NULL; /* the stream's owner asks it */
}

/* ---- reading -------------------------------------------------------------------------------- */

/* A member as the field's type wants it; false where it is of another. */
static bool take(const struct bench_field *f, const json_t *value, struct pool *pool, void *at,
                 neap_error **error) {
    if (f->type == BENCH_TEXT && json_is_string(value))
        *error = pool_string(pool, json_string_value(value), at);
    else if (f->type == BENCH_INTEGER && json_is_integer(value))
        *(int64_t *)at = json_integer_value(value);
    else if (f->type == BENCH_FLAG && json_is_boolean(value))
        *(bool *)at = json_is_true(value);
    else if (f->type == BENCH_REAL && (json_is_real(value) || json_is_null(value)))
        *(double *)at = json_is_null(value) ? NAN : json_real_value(value);
    else
        return false;
    return true;
}

static neap_error *read_row(const char *path, const json_t *object, struct pool *pool,
                            struct neap_bench_row *row) {
    const struct bench_field *f;
    for (size_t i = 0; (f = bench_field_at(i)); i++) {
        neap_error *error = NULL;
        if (!take(f, json_object_get(object, f->name), pool, (char *)row + f->offset, &error))
            return error_make(NEAP_ERROR_DATA, "%s: a row without '%s' as a bench writes it", path,
                              f->name);
        TRY(error);
    }
    return NULL;
}

static neap_error *read_rows(const char *path, const json_t *root, struct pool *pool,
                             struct neap_bench_report *out) {
    const char *format = json_string_value(json_object_get(root, "format")),
               *version = json_string_value(json_object_get(root, "version")),
               *machine = json_string_value(json_object_get(root, "machine"));
    const json_t *array = json_object_get(root, "rows");
    struct neap_bench_row *rows;
    if (!format || strcmp(format, format_name) || !version || !machine || !json_is_array(array))
        return error_make(NEAP_ERROR_DATA, "%s: not the results of a bench (%s)", path,
                          format_name);
    TRY(pool_string(pool, version, &out->version));
    TRY(pool_string(pool, machine, &out->machine));
    TRY(pool_alloc(pool, json_array_size(array), sizeof *rows, &rows));
    for (size_t i = 0; i < json_array_size(array); i++)
        TRY(read_row(path, json_array_get(array, i), pool, &rows[i]));
    out->rows = rows;
    out->n_rows = json_array_size(array);
    return NULL;
}

neap_error *bench_read_json(const char *path, struct pool *pool, struct neap_bench_report *out) {
    struct file_bytes text;
    json_error_t where;
    *out = (struct neap_bench_report){0};
    TRY(file_read(path, most_bytes, NEAP_ERROR_DATA, &text));
    json_t *root = json_loadb(text.data, (size_t)text.size_bytes, JSON_REJECT_DUPLICATES, &where);
    free(text.data);
    if (!root)
        return error_make(NEAP_ERROR_DATA, "%s:%d:%d: %s", path, where.line, where.column,
                          where.text);
    neap_error *error = read_rows(path, root, pool, out);
    json_decref(root);
    return error;
}
