/* The store: everything that outlives a step (weights, gradients, optimizer state, buffers), by
 * name, in one block, in the layouts that the kernels like. Programs for training, for the short
 * last batch and for evaluation share one. */
#ifndef NEAP_EXEC_STORE_H
#define NEAP_EXEC_STORE_H

#include "backend/device.h"

struct store_entry {
    const char *name;
    enum value_kind kind;
    enum dtype dtype;
    struct shape shape;
    struct layout layout;
    struct neap_init init;
    int64_t offset, bytes;
};

struct store {
    struct device *device;
    struct pool pool;
    struct store_entry *entries;
    size_t n_entries;
    unsigned char *base;
    int64_t bytes;
};

/* One entry for each persistent value of `g`, zeroed. */
MUST_USE neap_error *store_create(struct device *device, const neap_graph *g,
                                  int64_t alignment_bytes, struct store **out);
void store_free(struct store *store);

/* NULL where there is none of that name. */
const struct store_entry *store_find(const struct store *store, const char *name);
static inline void *store_data(const struct store *store, const struct store_entry *entry) {
    return store->base + entry->offset;
}

/* Elements first .. first + count of an fp32 entry in logical (row-major) order. */
void store_get(const struct store *store, const struct store_entry *entry, int64_t first,
               int64_t count, float *out);
void store_set(struct store *store, const struct store_entry *entry, int64_t first, int64_t count,
               const float *in);

/* init.c: parameters and buffers as their init says, a function of (seed, name, logical index). */
void store_init(struct store *store, uint64_t seed);

#endif
