/* Structs as JSON: see fields_json.h.
 *
 * The checksum is of the document without its member "crc32c", as jansson dumps it compactly with
 * sorted keys: a file laid out anew by hand still reads, one with another value does not. */
#include "fmt/fields_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/file.h"

enum { MOST_BYTES = 1 << 20, REAL_DIGITS = 17 };

/* ---- values by type ------------------------------------------------------------------------- */

static json_t *integer_json(const void *at) {
    return json_integer(*(const int64_t *)at);
}
static json_t *int_json(const void *at) {
    return json_integer(*(const int *)at);
}
static json_t *sum_json(const void *at) {
    return json_integer(*(const uint32_t *)at);
}
static json_t *real_json(const void *at) {
    double value = *(const double *)at;
    return isfinite(value) ? json_real(value) : json_null();
}
static json_t *flag_json(const void *at) {
    return json_boolean(*(const bool *)at);
}
static json_t *text_json(const void *at) {
    const char *text = *(const char *const *)at;
    return text ? json_string(text) : json_null();
}

/* Each: false where the value is of another type. */
static bool read_integer(const json_t *value, void *at) {
    *(int64_t *)at = json_integer_value(value);
    return json_is_integer(value);
}
static bool read_int(const json_t *value, void *at) {
    *(int *)at = (int)json_integer_value(value);
    return json_is_integer(value);
}
static bool read_sum(const json_t *value, void *at) {
    *(uint32_t *)at = (uint32_t)json_integer_value(value);
    return json_is_integer(value);
}
static bool read_real(const json_t *value, void *at) {
    *(double *)at = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_number(value) || json_is_null(value);
}
static bool read_flag(const json_t *value, void *at) {
    *(bool *)at = json_is_true(value);
    return json_is_boolean(value);
}
/* Borrowed from the document; copy_text makes it the pool's. */
static bool read_text(const json_t *value, void *at) {
    *(const char **)at = json_string_value(value);
    return json_is_string(value) || json_is_null(value);
}

static const struct {
    json_t *(*write)(const void *at);
    bool (*read)(const json_t *value, void *at);
    const char *what;
} types[] = {
    [JSON_FIELD_INTEGER] = {integer_json, read_integer, "a whole number"},
    [JSON_FIELD_SEED] = {integer_json, read_integer, "a whole number"},
    [JSON_FIELD_INT] = {int_json, read_int, "a whole number"},
    [JSON_FIELD_SUM] = {sum_json, read_sum, "a whole number"},
    [JSON_FIELD_REAL] = {real_json, read_real, "a number"},
    [JSON_FIELD_FLAG] = {flag_json, read_flag, "true or false"},
    [JSON_FIELD_TEXT] = {text_json, read_text, "a string"},
};

/* ---- the checksum --------------------------------------------------------------------------- */

static neap_error *sum_of(const json_t *document, uint32_t *sum) {
    struct crc32c crc;
    char *text =
        json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(REAL_DIGITS));
    if (!text)
        return error_memory(0);
    crc32c_init(&crc);
    *sum = crc32c_add(&crc, 0, text, strlen(text));
    free(text);
    return NULL;
}

/* ---- writing -------------------------------------------------------------------------------- */

static neap_error *add_group(json_t *document, const struct json_group *group) {
    json_t *object = json_object();
    if (json_object_set_new(document, group->name, object))
        return error_memory(0);
    for (size_t i = 0; i < group->n_fields; i++) {
        const struct json_field *field = &group->fields[i];
        const void *at = (const char *)group->at + field->offset;
        if (json_object_set_new(object, field->name, types[field->type].write(at)))
            return error_make(NEAP_ERROR_RUNTIME,
                              "'%s' of '%s' cannot be written in JSON: not UTF-8?", field->name,
                              group->name);
    }
    return NULL;
}

static neap_error *save(const char *path, const json_t *document) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    FILE *file = file_writer_stream(writer);
    bool written = !json_dumpf(document, file, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    fputc('\n', file);
    if (written || ferror(file)) /* commit knows why */
        return file_writer_commit(writer);
    file_writer_abort(writer);
    return error_memory(0);
}

neap_error *fields_json_save(const char *path, const char *format, const struct json_group *groups,
                             size_t n_groups) {
    json_t *document = json_pack("{s:s}", "format", format);
    neap_error *error = document ? NULL : error_memory(0);
    for (size_t i = 0; i < n_groups && !error; i++)
        error = add_group(document, &groups[i]);
    uint32_t sum = 0;
    if (!error)
        error = sum_of(document, &sum);
    if (!error && json_object_set_new(document, "crc32c", json_integer(sum)))
        error = error_memory(0);
    if (!error)
        error = save(path, document);
    json_decref(document);
    return error;
}

/* ---- reading -------------------------------------------------------------------------------- */

static neap_error *read_group(const char *path, const json_t *document,
                              const struct json_group *group, struct pool *pool) {
    const json_t *object = json_object_get(document, group->name);
    for (size_t i = 0; i < group->n_fields; i++) {
        const struct json_field *field = &group->fields[i];
        const json_t *value = json_object_get(object, field->name);
        void *at = (char *)group->at + field->offset;
        if (!value)
            continue;
        if (!types[field->type].read(value, at))
            return error_make(NEAP_ERROR_DATA, "%s: '%s' in '%s' is not %s", path, field->name,
                              group->name, types[field->type].what);
        if (field->type == JSON_FIELD_TEXT && *(const char **)at)
            TRY(pool_string(pool, *(const char **)at, at));
    }
    return NULL;
}

static neap_error *check(const char *path, const char *format, json_t *document) {
    const char *found = json_string_value(json_object_get(document, "format"));
    if (!found || strcmp(found, format))
        return error_make(NEAP_ERROR_DATA, "%s: its format is '%s', not '%s'", path,
                          found ? found : "none", format);
    json_int_t promised = json_integer_value(json_object_get(document, "crc32c"));
    json_object_del(document, "crc32c");
    uint32_t sum;
    TRY(sum_of(document, &sum));
    return sum == promised ? NULL : error_make(NEAP_ERROR_DATA, "%s: its checksum is wrong", path);
}

neap_error *fields_json_load(const char *path, const char *format, const struct json_group *groups,
                             size_t n_groups, struct pool *pool) {
    struct file_bytes text;
    json_error_t where;
    TRY(file_read(path, MOST_BYTES, NEAP_ERROR_DATA, &text));
    json_t *document =
        json_loadb(text.data, (size_t)text.size_bytes, JSON_REJECT_DUPLICATES, &where);
    free(text.data);
    if (!document)
        return error_make(NEAP_ERROR_DATA, "%s:%d:%d: %s", path, where.line, where.column,
                          where.text);
    neap_error *error = check(path, format, document);
    for (size_t i = 0; i < n_groups && !error; i++)
        error = read_group(path, document, &groups[i], pool);
    json_decref(document);
    return error;
}
