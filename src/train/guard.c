/* Windows that leave no trace: see guard.h. */
#include "train/guard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t guard_bytes(const neap_graph *model) {
    int64_t n = 0;
    for (value_id v = 0; v < model->n_values; v++)
        if (graph_value(model, v)->kind == VALUE_BUFFER)
            n += shape_elements(graph_value(model, v)->shape);
    return n * (int64_t)sizeof(float);
}

static int64_t count_buffers(const struct store *store) {
    int64_t n = 0;
    for (size_t i = 0; i < store->n_entries; i++)
        if (store->entries[i].kind == VALUE_BUFFER)
            n += shape_elements(store->entries[i].shape);
    return n;
}

neap_error *guard_create(struct store *store, struct guard *out) {
    *out = (struct guard){.store = store};
    return memory_alloc((size_t)count_buffers(store), sizeof *out->buffers, &out->buffers);
}

void guard_free(struct guard *guard) {
    free(guard->buffers);
    *guard = (struct guard){0};
}

void guard_begin(struct guard *guard) {
    float *to = guard->buffers;
    for (size_t i = 0; i < guard->store->n_entries; i++) {
        const struct store_entry *entry = &guard->store->entries[i];
        if (entry->kind != VALUE_BUFFER)
            continue;
        int64_t n = shape_elements(entry->shape);
        store_get(guard->store, entry, 0, n, to);
        to += n;
    }
}

/* A sum is finite only if all its parts are: 0 × x is 0, or NaN. */
static bool is_finite(const float *x, int64_t n) {
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
    for (int64_t i = 0; i < n; i++)
        sum += 0 * x[i];
    return sum == 0;
}

bool guard_is_finite(const struct guard *guard) {
    const struct store_entry *loss = store_find(guard->store, "loss.total");
    bool finite = !loss || isfinite(*(const double *)store_data(guard->store, loss));
    for (size_t i = 0; i < guard->store->n_entries && finite; i++) {
        const struct store_entry *entry = &guard->store->entries[i];
        if (entry->kind == VALUE_PARAMETER_GRADIENT)
            finite =
                is_finite(store_data(guard->store, entry), entry->bytes / (int64_t)sizeof(float));
    }
    return finite;
}

void guard_undo(struct guard *guard) {
    const float *from = guard->buffers;
    for (size_t i = 0; i < guard->store->n_entries; i++) {
        const struct store_entry *entry = &guard->store->entries[i];
        int64_t n = shape_elements(entry->shape);
        if (entry->kind == VALUE_PARAMETER_GRADIENT)
            memset(store_data(guard->store, entry), 0, (size_t)entry->bytes);
        if (entry->kind != VALUE_BUFFER)
            continue;
        store_set(guard->store, entry, 0, n, from);
        from += n;
    }
}
