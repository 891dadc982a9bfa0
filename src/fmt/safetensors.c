/* Reading safetensors: see safetensors.h. Nothing in the file is believed before it is checked. */
#include "fmt/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/file.h"
#include "fmt/safetensors_types.h"

enum { LENGTH_BYTES = 8 };

struct safetensors {
    char *path;
    struct file_map map;
    json_t *header; /* owns the names */
    int64_t data_bytes;
    const unsigned char *data;
    struct safetensors_tensor *tensors;
    size_t n_tensors;
};

static neap_error *refuse(const struct safetensors *file, const char *tensor, const char *format,
                          ...) PRINTF_LIKE(3, 4);

static neap_error *refuse(const struct safetensors *file, const char *tensor, const char *format,
                          ...) {
    va_list args;
    va_start(args, format);
    neap_error *error = error_make_v(NEAP_ERROR_DATA, format, args);
    va_end(args);
    if (tensor)
        error = error_prefix(error, "tensor '%s'", tensor);
    return error_prefix(error, "%s", file->path);
}

/* ---- the header ----------------------------------------------------------------------------- */

static neap_error *parse_header(struct safetensors *file) {
    const int64_t size_bytes = file->map.size_bytes;
    if (size_bytes < LENGTH_BYTES)
        return refuse(file, NULL, "%s bytes, less than the 8 of a safetensors file's length: %s",
                      digits_of(size_bytes).text, size_bytes ? "truncated?" : "empty");
    uint64_t length;
    memcpy(&length, file->map.data, sizeof length);
    if (length > SAFETENSORS_MOST_HEADER_BYTES)
        return refuse(file, NULL, "not a safetensors file: a header of %llu bytes (at most %s)",
                      (unsigned long long)length, digits_of(SAFETENSORS_MOST_HEADER_BYTES).text);
    if ((int64_t)length > size_bytes - LENGTH_BYTES)
        return refuse(file, NULL, "%s bytes, the header alone promises %s: truncated?",
                      digits_of(size_bytes).text, digits_of((int64_t)length + LENGTH_BYTES).text);
    const char *text = (const char *)file->map.data + LENGTH_BYTES;
    if (length == 0 || text[0] != '{')
        return refuse(file, NULL, "not a safetensors file: its header does not start with '{'");
    json_error_t where;
    file->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &where);
    if (!file->header && !where.text[0]) /* jansson's way to say so */
        return error_memory((size_t)length);
    if (!file->header)
        return refuse(file, NULL, "header, byte %d: %s", where.position, where.text);
    file->data = file->map.data + LENGTH_BYTES + length;
    file->data_bytes = size_bytes - LENGTH_BYTES - (int64_t)length;
    return NULL;
}

static neap_error *check_metadata(const struct safetensors *file, json_t *metadata) {
    if (!json_is_object(metadata))
        return refuse(file, NULL, "__metadata__ is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return refuse(file, NULL, "__metadata__: '%s' is not a string", key);
    }
    return NULL;
}

/* ---- one tensor ----------------------------------------------------------------------------- */

static neap_error *read_type(const struct safetensors *file, struct safetensors_tensor *tensor,
                             const json_t *entry, int64_t *element_bytes) {
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    if (!name)
        return refuse(file, tensor->name, "no dtype");
    for (size_t i = 0; i < N_SAFETENSORS_TYPES; i++) {
        if (strcmp(safetensors_types[i].name, name) == 0) {
            tensor->dtype = safetensors_types[i].dtype;
            *element_bytes = safetensors_types[i].element_bytes;
            return NULL;
        }
    }
    return refuse(file, tensor->name, "dtype '%s' is not supported", name);
}

static neap_error *read_shape(const struct safetensors *file, struct safetensors_tensor *tensor,
                              const json_t *entry) {
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return refuse(file, tensor->name, "no shape");
    if (json_array_size(shape) > MAX_RANK)
        return refuse(file, tensor->name, "%zu dimensions (at most %d)", json_array_size(shape),
                      MAX_RANK);
    tensor->shape.rank = (int)json_array_size(shape);
    for (int i = 0; i < tensor->shape.rank; i++) {
        const json_t *dim = json_array_get(shape, (size_t)i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return refuse(file, tensor->name, "dimension %d is not a count", i);
        tensor->shape.dim[i] = json_integer_value(dim);
    }
    return NULL;
}

static neap_error *read_place(const struct safetensors *file, struct safetensors_tensor *tensor,
                              const json_t *entry) {
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin_json = json_array_get(offsets, 0), *end_json = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin_json) || !json_is_integer(end_json))
        return refuse(file, tensor->name, "no data_offsets of two integers");
    const int64_t begin = json_integer_value(begin_json), end = json_integer_value(end_json);
    if (begin < 0 || end < begin || end > file->data_bytes)
        return refuse(file, tensor->name, "bytes %s to %s of %s: %s", digits_of(begin).text,
                      digits_of(end).text, digits_of(file->data_bytes).text,
                      begin >= 0 && end >= begin ? "truncated?" : "not a range");
    tensor->data = file->data + begin;
    tensor->size_bytes = end - begin;
    return NULL;
}

static neap_error *read_tensor(const struct safetensors *file, const json_t *entry,
                               struct safetensors_tensor *tensor) {
    int64_t bytes;
    if (!json_is_object(entry))
        return refuse(file, tensor->name, "not an object");
    TRY(read_type(file, tensor, entry, &bytes));
    TRY(read_shape(file, tensor, entry));
    TRY(read_place(file, tensor, entry));
    bool fits = true;
    for (int i = 0; i < tensor->shape.rank; i++)
        fits = fits && size_multiply(bytes, tensor->shape.dim[i], &bytes);
    if (!fits)
        return refuse(file, tensor->name, "its shape has more bytes than can be counted");
    if (bytes != tensor->size_bytes)
        return refuse(file, tensor->name, "its shape takes %s bytes, its data_offsets span %s",
                      digits_of(bytes).text, digits_of(tensor->size_bytes).text);
    return NULL;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* By place; of those at one place the empty ones first. */
static int compare_places(const void *a_, const void *b_) {
    const struct safetensors_tensor *a = a_, *b = b_;
    const uintptr_t a_data = (uintptr_t)a->data, b_data = (uintptr_t)b->data;
    if (a_data != b_data)
        return a_data < b_data ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Each tensor begins where the one before ends, and the last ends with the file. */
static neap_error *check_places(const struct safetensors *file) {
    int64_t end = 0;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const struct safetensors_tensor *tensor = &file->tensors[i];
        const int64_t begin = (const unsigned char *)tensor->data - file->data;
        if (begin < end)
            return refuse(file, tensor->name, "shares bytes with '%s'", file->tensors[i - 1].name);
        if (begin > end)
            return refuse(file, tensor->name, "%s bytes before it belong to no tensor",
                          digits_of(begin - end).text);
        end = begin + tensor->size_bytes;
    }
    if (end < file->data_bytes)
        return refuse(file, NULL, "the last %s bytes belong to no tensor",
                      digits_of(file->data_bytes - end).text);
    return NULL;
}

static neap_error *read_tensors(struct safetensors *file) {
    TRY(memory_alloc(json_object_size(file->header), sizeof *file->tensors, &file->tensors));
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry) {
        if (strcmp(name, "__metadata__") == 0) {
            TRY(check_metadata(file, entry));
            continue;
        }
        struct safetensors_tensor *tensor = &file->tensors[file->n_tensors++];
        tensor->name = name;
        TRY(read_tensor(file, entry, tensor));
    }
    qsort(file->tensors, file->n_tensors, sizeof *file->tensors, compare_places);
    return check_places(file);
}

neap_error *safetensors_open(const char *path, struct safetensors **out) {
    neap_error *error = NULL;
    struct safetensors *file;
    TRY(memory_alloc(1, sizeof *file, &file));
    TRY_GOTO(memory_string(path, &file->path));
    TRY_GOTO(file_map_open(path, NEAP_ERROR_DATA, &file->map));
    TRY_GOTO(parse_header(file));
    TRY_GOTO(read_tensors(file));
    *out = file;
    return NULL;
done:
    safetensors_close(file);
    return error;
}

void safetensors_close(struct safetensors *file) {
    if (!file)
        return;
    json_decref(file->header);
    file_map_close(&file->map);
    free(file->tensors);
    free(file->path);
    free(file);
}

size_t safetensors_count(const struct safetensors *file) {
    return file->n_tensors;
}

const struct safetensors_tensor *safetensors_at(const struct safetensors *file, size_t index) {
    return &file->tensors[index];
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file,
                                                  const char *name) {
    for (size_t i = 0; i < file->n_tensors; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}
