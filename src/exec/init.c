/* Initial values: element i of the parameter called `name` is a function of (seed, name, i) alone,
 * whatever the layout and the number of threads. Normal numbers by Box and Muller (1958). */
#include <math.h>

#include "base/philox.h"
#include "exec/store.h"

enum { RUN = 1024 };

static float draw(struct neap_init init, uint64_t seed, uint64_t name, int64_t i) {
    struct philox_block block = philox_at(seed, name, (uint64_t)i);
    double u = philox_double(block.word[0], block.word[1]);
    if (init.kind == NEAP_INIT_UNIFORM)
        return (float)(init.a * (2 * u - 1));
    double v = philox_double(block.word[2], block.word[3]);
    return (float)(init.a * sqrt(-2 * log(1 - u)) * cos(2 * 3.14159265358979323846 * v));
}

static void init_entry(struct store *store, const struct store_entry *entry, uint64_t seed) {
    int64_t n = shape_elements(entry->shape);
    uint64_t name = philox_hash(entry->name);
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < n; first += RUN) {
        float run[RUN];
        int64_t count = n - first < RUN ? n - first : RUN;
        for (int64_t i = 0; i < count; i++)
            run[i] = entry->init.kind == NEAP_INIT_CONSTANT
                         ? (float)entry->init.a
                         : draw(entry->init, seed, name, first + i);
        store_set(store, entry, first, count, run);
    }
}

void store_init(struct store *store, uint64_t seed) {
    for (size_t i = 0; i < store->n_entries; i++)
        if (store->entries[i].kind == VALUE_PARAMETER || store->entries[i].kind == VALUE_BUFFER)
            init_entry(store, &store->entries[i], seed);
}
