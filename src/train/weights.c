/* Loading and saving weights: see weights.h. */
#include "train/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fmt/safetensors.h"

static bool is_one_of(const struct store_entry *entry, enum weights_kinds kinds) {
    return (unsigned)kinds >> entry->kind & 1;
}

static bool is_counter(const char *name) {
    const char *end = strrchr(name, '.');
    return end && !strcmp(end, ".num_batches_tracked");
}

static neap_error *check_tensor(const struct store_entry *entry,
                                const struct safetensors_tensor *tensor, const char *path) {
    char have[64], want[64];
    if (!tensor)
        return error_make(NEAP_ERROR_DATA, "%s: there is no tensor '%s'", path, entry->name);
    if (!shape_equal(tensor->shape, entry->shape))
        return error_make(NEAP_ERROR_DATA, "%s: '%s' is %s, the model's is %s", path, entry->name,
                          shape_text(tensor->shape, have), shape_text(entry->shape, want));
    if (tensor->dtype != DTYPE_F32)
        return error_make(NEAP_ERROR_DATA, "%s: '%s' is %s: only f32 is read", path, entry->name,
                          dtype_name(tensor->dtype));
    return NULL;
}

static void copy_tensor(struct store *store, const struct store_entry *entry,
                        const struct safetensors_tensor *tensor) {
    enum { RUN = 4096 };
    float run[RUN];
    int64_t n = shape_elements(entry->shape);
    for (int64_t first = 0; first < n; first += RUN) {
        int64_t count = n - first < RUN ? n - first : RUN;
        memcpy(run, (const float *)tensor->data + first, (size_t)count * sizeof *run);
        store_set(store, entry, first, count, run);
    }
}

static neap_error *check_file(const struct store *store, enum weights_kinds kinds,
                              const struct safetensors *file, const char *path) {
    for (size_t i = 0; i < store->n_entries; i++)
        if (is_one_of(&store->entries[i], kinds))
            TRY(check_tensor(&store->entries[i], safetensors_find(file, store->entries[i].name),
                             path));
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_at(file, i)->name;
        const struct store_entry *entry = store_find(store, name);
        if (!is_counter(name) && !(entry && is_one_of(entry, kinds)))
            return error_make(NEAP_ERROR_DATA, "%s: the model has no '%s'", path, name);
    }
    return NULL;
}

neap_error *weights_load(struct store *store, enum weights_kinds kinds, const char *path) {
    struct safetensors *file;
    TRY(safetensors_open(path, &file));
    neap_error *error = check_file(store, kinds, file, path);
    for (size_t i = 0; i < store->n_entries && !error; i++)
        if (is_one_of(&store->entries[i], kinds))
            copy_tensor(store, &store->entries[i], safetensors_find(file, store->entries[i].name));
    safetensors_close(file);
    return error;
}

struct piece {
    const struct store *store;
    const struct store_entry *entry;
};

static neap_error *fill_piece(void *user, int64_t first, int64_t count, void *out) {
    const struct piece *piece = user;
    store_get(piece->store, piece->entry, first, count, out);
    return NULL;
}

static neap_error *add_all(struct safetensors_writer *writer, const struct store *store,
                           enum weights_kinds kinds, struct piece *pieces) {
    for (size_t i = 0; i < store->n_entries; i++) {
        const struct store_entry *entry = &store->entries[i];
        if (!is_one_of(entry, kinds))
            continue;
        pieces[i] = (struct piece){store, entry};
        TRY(safetensors_writer_add(writer, &(struct safetensors_entry){.name = entry->name,
                                                                       .dtype = entry->dtype,
                                                                       .shape = entry->shape,
                                                                       .fill = fill_piece,
                                                                       .user = &pieces[i]}));
    }
    return NULL;
}

neap_error *weights_save(const struct store *store, enum weights_kinds kinds, const char *path) {
    struct safetensors_writer *writer;
    struct piece *pieces = NULL;
    TRY(safetensors_writer_create(&writer));
    neap_error *error = memory_alloc(store->n_entries, sizeof *pieces, &pieces);
    if (!error)
        error = add_all(writer, store, kinds, pieces);
    if (!error)
        error = safetensors_writer_save(writer, path);
    free(pieces);
    safetensors_writer_free(writer);
    return error;
}

neap_error *weights_path(const char *path, char **out) {
    static const char *const places[] = {"last/model.safetensors", "model.safetensors"};
    if (!file_is_directory(path))
        return memory_string(path, out);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        TRY(memory_format(out, "%s/%s", path, places[i]));
        if (file_exists(*out))
            return NULL;
        free(*out);
        *out = NULL;
    }
    return error_make(NEAP_ERROR_DATA,
                      "%s: neither a run's folder with a 'last' checkpoint nor a checkpoint", path);
}
