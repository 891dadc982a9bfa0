/* profile: see profile.h. */
#include "plan/profile.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/simd.h"

neap_error *profile_create(uint32_t n_slots, struct profile *out) {
    neap_error *error;
    *out = (struct profile){.n_slots = n_slots, .n_blocks = n_slots / PROFILE_BLOCK};
    TRY_GOTO(memory_alloc(n_slots, sizeof *out->at, &out->at));
    TRY_GOTO(memory_alloc(out->n_blocks, sizeof *out->pending, &out->pending));
    TRY_GOTO(memory_alloc(out->n_blocks, sizeof *out->most, &out->most));
done:
    if (error)
        profile_free(out);
    return error;
}

void profile_free(struct profile *p) {
    free(p->at);
    free(p->pending);
    free(p->most);
    *p = (struct profile){0};
}

/* Adds to a part of one block. */
SIMD static void add_to_slots(struct profile *p, uint32_t block, uint32_t first, uint32_t last,
                              int64_t bytes) {
    int64_t *at = p->at + (size_t)block * PROFILE_BLOCK, most = INT64_MIN;
    for (uint32_t i = 0; i < PROFILE_BLOCK; i++) {
        at[i] += i >= first && i <= last ? bytes : 0;
        most = at[i] > most ? at[i] : most;
    }
    p->most[block] = most + p->pending[block];
}

SIMD static void add_to_blocks(int64_t *pending, int64_t *most, uint32_t n, int64_t bytes) {
    for (uint32_t i = 0; i < n; i++) {
        pending[i] += bytes;
        most[i] += bytes;
    }
}

void profile_add(struct profile *p, uint32_t first, uint32_t last, int64_t bytes) {
    uint32_t low = first / PROFILE_BLOCK, high = last / PROFILE_BLOCK;
    if (low == high) {
        add_to_slots(p, low, first % PROFILE_BLOCK, last % PROFILE_BLOCK, bytes);
        return;
    }
    add_to_slots(p, low, first % PROFILE_BLOCK, PROFILE_BLOCK - 1, bytes);
    add_to_blocks(p->pending + low + 1, p->most + low + 1, high - low - 1, bytes);
    add_to_slots(p, high, 0, last % PROFILE_BLOCK, bytes);
}

SIMD static int64_t largest(const int64_t *most, uint32_t n) {
    int64_t peak = 0;
    for (uint32_t i = 0; i < n; i++)
        peak = most[i] > peak ? most[i] : peak;
    return peak;
}

int64_t profile_peak(const struct profile *p) {
    return largest(p->most, p->n_blocks);
}

uint32_t profile_peak_slot(const struct profile *p) {
    int64_t peak = profile_peak(p);
    uint32_t block = 0, slot = 0;
    while (block + 1 < p->n_blocks && p->most[block] != peak)
        block++;
    const int64_t *at = p->at + (size_t)block * PROFILE_BLOCK;
    while (slot + 1 < PROFILE_BLOCK && at[slot] + p->pending[block] != peak)
        slot++;
    return block * PROFILE_BLOCK + slot;
}

SIMD static int64_t sum_over(const int64_t *most, uint32_t n, int64_t limit) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += most[i] > limit ? most[i] - limit : 0;
    return sum;
}

int64_t profile_excess(const struct profile *p, int64_t limit) {
    return sum_over(p->most, p->n_blocks, limit);
}

int64_t profile_area(const struct profile *p, int64_t limit) {
    int64_t sum = 0;
    for (uint32_t b = 0; b < p->n_blocks; b++)
        if (p->most[b] > limit)
            sum +=
                sum_over(p->at + (size_t)b * PROFILE_BLOCK, PROFILE_BLOCK, limit - p->pending[b]);
    return sum;
}
