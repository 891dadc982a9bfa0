/* JSON for people: see json_lines.h. */
#include "fmt/json_lines.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/file.h"

static const int64_t most_bytes = (int64_t)1 << 30;

static void print_value(const json_t *value, FILE *file) {
    if (json_is_string(value))
        fputs(json_string_value(value), file);
    else if (json_is_array(value))
        fprintf(file, "%s entries", digits_of((int64_t)json_array_size(value)).text);
    else if (json_is_object(value))
        fprintf(file, "%s entries", digits_of((int64_t)json_object_size(value)).text);
    else if (json_is_integer(value))
        fprintf(file, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fprintf(file, "%g", json_real_value(value));
    else
        fputs(json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false", file);
}

neap_error *json_lines(const char *path, FILE *file) {
    struct file_bytes text;
    json_error_t where;
    const char *key;
    json_t *value;
    TRY(file_read(path, most_bytes, NEAP_ERROR_DATA, &text));
    json_t *object = json_loadb(text.data, (size_t)text.size_bytes, JSON_REJECT_DUPLICATES, &where);
    free(text.data);
    if (!object)
        return error_make(NEAP_ERROR_DATA, "%s:%d:%d: %s", path, where.line, where.column,
                          where.text);
    json_object_foreach(object, key, value) {
        fprintf(file, "  %s: ", key);
        print_value(value, file);
        fputc('\n', file);
    }
    neap_error *error =
        json_is_object(object) ? NULL : error_make(NEAP_ERROR_DATA, "%s: not a JSON object", path);
    json_decref(object);
    return error;
}
