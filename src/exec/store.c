/* Persistent values by name: see store.h. */
#include "exec/store.h"

#include <stdlib.h>
#include <string.h>

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

/* Places in memory add up over the dimensions, and over the digits of an index in the radix of its
 * dimension's blocks, innermost first. */
struct axis {
    int n_blocks;
    int64_t size[MAX_BLOCKS], stride[MAX_BLOCKS + 1];
};

static struct axis axis_of(const struct store_entry *entry, int d) {
    const struct layout *layout = &entry->layout;
    struct axis axis = {0};
    int64_t index[MAX_RANK] = {0};
    index[d] = 1;
    for (int b = layout->n_blocks; b-- > 0;) {
        if (layout->block_dim[b] != d)
            continue;
        axis.stride[axis.n_blocks] = layout_offset(*layout, entry->shape, index);
        axis.size[axis.n_blocks++] = layout->block_size[b];
        index[d] *= layout->block_size[b];
    }
    axis.stride[axis.n_blocks] = layout_offset(*layout, entry->shape, index);
    return axis;
}

static int64_t axis_place(const struct axis *axis, int64_t i) {
    int64_t place = 0;
    for (int b = 0; b < axis->n_blocks; b++) {
        place += i % axis->size[b] * axis->stride[b];
        i /= axis->size[b];
    }
    return place + i * axis->stride[axis->n_blocks];
}

/* The places of elements in logical order. */
struct walk {
    struct shape shape;
    struct axis axis[MAX_RANK];
    int64_t index[MAX_RANK], part[MAX_RANK];
    int64_t place; /* the sum of the parts */
};

static void walk_to(struct walk *walk, int d, int64_t index) {
    int64_t part = axis_place(&walk->axis[d], index);
    walk->place += part - walk->part[d];
    walk->part[d] = part;
    walk->index[d] = index;
}

static void walk_start(struct walk *walk, const struct store_entry *entry, int64_t logical) {
    *walk = (struct walk){.shape = entry->shape};
    for (int d = entry->shape.rank; d-- > 0; logical /= entry->shape.dim[d]) {
        walk->axis[d] = axis_of(entry, d);
        walk_to(walk, d, logical % entry->shape.dim[d]);
    }
}

static void walk_next(struct walk *walk) {
    int d = walk->shape.rank - 1;
    for (; d > 0 && walk->index[d] + 1 == walk->shape.dim[d]; d--)
        walk_to(walk, d, 0);
    if (d >= 0)
        walk_to(walk, d, walk->index[d] + 1);
}

void store_get(const struct store *store, const struct store_entry *entry, int64_t first,
               int64_t count, float *out) {
    const float *data = store_data(store, entry);
    struct walk walk;
    if (layout_is_plain(entry->layout)) {
        memcpy(out, data + first, (size_t)count * sizeof *out);
        return;
    }
    walk_start(&walk, entry, first);
    for (int64_t i = 0; i < count; i++, walk_next(&walk))
        out[i] = data[walk.place];
}

void store_set(struct store *store, const struct store_entry *entry, int64_t first, int64_t count,
               const float *in) {
    float *data = store_data(store, entry);
    struct walk walk;
    if (layout_is_plain(entry->layout)) {
        memcpy(data + first, in, (size_t)count * sizeof *in);
        return;
    }
    walk_start(&walk, entry, first);
    for (int64_t i = 0; i < count; i++, walk_next(&walk))
        data[walk.place] = in[i];
}
