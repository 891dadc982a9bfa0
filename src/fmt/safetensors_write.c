/* Writing safetensors: see safetensors.h. The header carries {"format": "pt"}, which is what makes
 * PyTorch's users' tools take the tensors as PyTorch's, and is padded with spaces so that the first
 * tensor is aligned. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fmt/safetensors.h"
#include "fmt/safetensors_types.h"

enum { PIECE_BYTES = 64 * 1024, HEADER_ALIGNMENT_BYTES = 8 };

struct saved_tensor {
    struct safetensors_entry entry; /* its name lives in the header */
    int64_t elements, element_bytes;
};

struct safetensors_writer {
    json_t *header;
    int64_t data_bytes;
    struct saved_tensor *tensors;
    size_t n_tensors, capacity;
};

neap_error *safetensors_writer_create(struct safetensors_writer **out) {
    TRY(memory_alloc(1, sizeof **out, out));
    (*out)->header = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    if ((*out)->header)
        return NULL;
    safetensors_writer_free(*out);
    *out = NULL;
    return error_memory(0);
}

void safetensors_writer_free(struct safetensors_writer *writer) {
    if (!writer)
        return;
    json_decref(writer->header);
    free(writer->tensors);
    free(writer);
}

static neap_error *measure(const struct safetensors_entry *entry, struct saved_tensor *saved,
                           const char **type) {
    *saved = (struct saved_tensor){.entry = *entry, .elements = 1};
    for (size_t i = 0; i < N_SAFETENSORS_TYPES; i++) {
        if (safetensors_types[i].dtype == entry->dtype) {
            *type = safetensors_types[i].name;
            saved->element_bytes = safetensors_types[i].element_bytes;
        }
    }
    if (!saved->element_bytes)
        return error_make(NEAP_ERROR_RUNTIME, "tensor '%s': safetensors has no such type",
                          entry->name);
    bool fits = true;
    for (int i = 0; i < entry->shape.rank; i++)
        fits = fits && size_multiply(saved->elements, entry->shape.dim[i], &saved->elements);
    int64_t bytes;
    if (!fits || !size_multiply(saved->elements, saved->element_bytes, &bytes))
        return error_make(NEAP_ERROR_RUNTIME, "tensor '%s' is too large to be saved", entry->name);
    return NULL;
}

neap_error *safetensors_writer_add(struct safetensors_writer *writer,
                                   const struct safetensors_entry *entry) {
    struct saved_tensor saved;
    const char *type = NULL;
    TRY(measure(entry, &saved, &type));
    if (json_object_get(writer->header, entry->name))
        return error_make(NEAP_ERROR_RUNTIME, "two tensors of the name '%s' cannot be saved",
                          entry->name);
    TRY(memory_grow(&writer->tensors, &writer->capacity, writer->n_tensors + 1,
                    sizeof *writer->tensors));
    const int64_t begin = writer->data_bytes;
    int64_t end;
    if (!size_add(begin, saved.elements * saved.element_bytes, &end))
        return error_make(NEAP_ERROR_RUNTIME, "tensor '%s' is too large to be saved", entry->name);
    json_t *described = json_pack("{s:s, s:[], s:[I,I]}", "dtype", type, "shape", "data_offsets",
                                  (json_int_t)begin, (json_int_t)end);
    json_t *shape = json_object_get(described, "shape");
    int failed = !described;
    for (int i = 0; i < entry->shape.rank; i++)
        failed |= json_array_append_new(shape, json_integer(entry->shape.dim[i]));
    failed |= json_object_set_new(writer->header, entry->name, described);
    if (failed)
        return error_make(NEAP_ERROR_RUNTIME, "tensor '%s' cannot be described in JSON",
                          entry->name);
    writer->data_bytes = end;
    saved.entry.name = NULL; /* borrowed; only the header needs it */
    writer->tensors[writer->n_tensors++] = saved;
    return NULL;
}

static neap_error *write_header(const struct safetensors_writer *writer, FILE *stream) {
    char *text = json_dumps(writer->header, JSON_COMPACT);
    if (!text)
        return error_memory(0);
    const size_t length = strlen(text);
    const uint64_t padded = (uint64_t)round_up((int64_t)length, HEADER_ALIGNMENT_BYTES);
    neap_error *error = NULL;
    if (padded > SAFETENSORS_MOST_HEADER_BYTES)
        error = error_make(NEAP_ERROR_RUNTIME, "a safetensors header of %llu bytes (at most %d)",
                           (unsigned long long)padded, SAFETENSORS_MOST_HEADER_BYTES);
    fwrite(&padded, sizeof padded, 1, stream);
    fprintf(stream, "%-*s", (int)padded, text);
    free(text);
    return error;
}

static neap_error *write_tensor(const struct saved_tensor *saved, void *piece, FILE *stream) {
    const struct safetensors_entry *entry = &saved->entry;
    const size_t element_bytes = (size_t)saved->element_bytes;
    if (entry->data) {
        fwrite(entry->data, element_bytes, (size_t)saved->elements, stream);
        return NULL;
    }
    const int64_t most = PIECE_BYTES / saved->element_bytes;
    for (int64_t first = 0; first < saved->elements; first += most) {
        const int64_t left = saved->elements - first, count = left < most ? left : most;
        TRY(entry->fill(entry->user, first, count, piece));
        fwrite(piece, element_bytes, (size_t)count, stream);
    }
    return NULL;
}

neap_error *safetensors_writer_save(struct safetensors_writer *writer, const char *path) {
    neap_error *error = NULL;
    struct file_writer *file = NULL;
    void *piece = NULL;
    TRY_GOTO(memory_alloc(PIECE_BYTES, 1, &piece));
    TRY_GOTO(file_writer_open(path, &file));
    TRY_GOTO(write_header(writer, file_writer_stream(file)));
    for (size_t i = 0; i < writer->n_tensors; i++)
        TRY_GOTO(write_tensor(&writer->tensors[i], piece, file_writer_stream(file)));
    error = file_writer_commit(file);
    file = NULL;
done:
    file_writer_abort(file);
    free(piece);
    return error;
}
