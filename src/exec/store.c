/* Persistent values by name: see store.h. */
#include "exec/store.h"

#include <stdlib.h>
#include <string.h>

#include "ir/layout_walk.h"

static neap_error *add_entries(struct store *store, const neap_graph *g, int64_t alignment_bytes) {
    TRY(pool_alloc(&store->pool, g->n_values, sizeof *store->entries, &store->entries));
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        if (!value->persistent)
            continue;
        struct store_entry *entry = &store->entries[store->n_entries++];
        *entry = (struct store_entry){.kind = value->kind,
                                      .dtype = value->dtype,
                                      .shape = value->shape,
                                      .layout = value->layout,
                                      .init = value->init,
                                      .offset = store->bytes,
                                      .bytes = value_bytes(value)};
        TRY(pool_string(&store->pool, value->name, &entry->name));
        store->bytes += round_up(entry->bytes, alignment_bytes);
    }
    return NULL;
}

neap_error *store_create(struct device *device, const neap_graph *g, int64_t alignment_bytes,
                         struct store **out) {
    struct store *store;
    void *base = NULL;
    TRY(memory_alloc(1, sizeof *store, &store));
    store->device = device;
    neap_error *error = add_entries(store, g, alignment_bytes);
    if (!error)
        error = device->backend->alloc(device, (size_t)store->bytes, &base);
    store->base = base;
    if (error)
        store_free(store);
    else
        *out = store;
    return error;
}

void store_free(struct store *store) {
    if (!store)
        return;
    if (store->base)
        store->device->backend->free(store->device, store->base, (size_t)store->bytes);
    pool_free(&store->pool);
    free(store);
}

const struct store_entry *store_find(const struct store *store, const char *name) {
    for (size_t i = 0; i < store->n_entries; i++)
        if (!strcmp(store->entries[i].name, name))
            return &store->entries[i];
    return NULL;
}

void store_get(const struct store *store, const struct store_entry *entry, int64_t first,
               int64_t count, float *out) {
    const float *data = store_data(store, entry);
    struct layout_walk walk;
    layout_walk_start(&walk, entry->layout, entry->shape, first);
    for (int64_t i = 0; i < count; i++, layout_walk_next(&walk))
        out[i] = data[walk.offset];
}

void store_set(struct store *store, const struct store_entry *entry, int64_t first, int64_t count,
               const float *in) {
    float *data = store_data(store, entry);
    struct layout_walk walk;
    layout_walk_start(&walk, entry->layout, entry->shape, first);
    for (int64_t i = 0; i < count; i++, layout_walk_next(&walk))
        data[walk.offset] = in[i];
}
