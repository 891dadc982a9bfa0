/* ReLU and its backward at the speed of memory: flat runs in any layout. */
#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/ops.h"

/* ---- forward -------------------------------------------------------------------------------- */

struct forward {
    enum dtype dtype;
    const void *x;
    void *y;
    uint8_t *mask; /* or NULL */
};

REAL_INLINE void clip_of(enum dtype type, const void *x, void *y, int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; i++) {
        float v = real_load(type, x, i);
        real_store(type, y, i, v < 0 ? 0 : v);
    }
}

SIMD static void clip(const struct forward *f, int64_t begin, int64_t end) {
    WITH_REAL(f->dtype, clip_of, f->x, f->y, begin, end);
}

/* In steps that stay in the first cache between the two passes. */
static void forward_range(const void *context, int64_t begin, int64_t end) {
    const struct forward *f = context;
    enum { STEP = 4096 };
    for (int64_t i = begin; i < end; i += STEP) {
        int64_t n = end - i < STEP ? end - i : STEP;
        clip(f, i, i + n);
        if (f->mask)
            mask_of_positive(f->dtype, real_at(f->dtype, f->y, i), n, f->mask + i / 8);
    }
}

static neap_error *forward_run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, forward_range,
                 &(struct forward){s->dtype, launch->in[0], launch->out[0],
                                   s->n_out > 1 ? launch->out[1] : NULL});
    return NULL;
}

const struct kernel kernel_relu_cpu = {
    .name = "relu:cpu",
    .op = &op_relu,
    .negotiate = elementwise_negotiate_real,
    .create = elementwise_create,
    .run = forward_run,
};

/* ---- backward ------------------------------------------------------------------------------- */

struct backward {
    enum dtype dtype;
    const void *dy;
    const void *saved; /* y or the mask */
    void *dx;
};

REAL_INLINE void gate_by_value(enum dtype type, const struct backward *b, int64_t begin,
                               int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; i++) {
        float dy = real_load(type, b->dy, i);
        real_store(type, b->dx, i, real_load(type, b->saved, i) > 0 ? dy : 0);
    }
}

/* `begin` is a multiple of 8. */
REAL_INLINE void gate_by_mask(enum dtype type, const struct backward *b, int64_t begin,
                              int64_t end) {
    const uint8_t *mask = b->saved;
    for (int64_t byte = begin / 8; byte < end / 8; byte++) {
        uint32_t bits = mask[byte];
#pragma omp simd
        for (uint32_t k = 0; k < 8; k++) {
            float open = real_load(type, b->dy, byte * 8 + k); /* always: no masked loads */
            real_store(type, b->dx, byte * 8 + k, bits >> k & 1 ? open : 0);
        }
    }
    for (int64_t i = end / 8 * 8; i < end; i++)
        real_store(type, b->dx, i, mask[i / 8] >> i % 8 & 1 ? real_load(type, b->dy, i) : 0);
}

SIMD static void backward_value_range(const void *context, int64_t begin, int64_t end) {
    const struct backward *b = context;
    WITH_REAL(b->dtype, gate_by_value, b, begin, end);
}

SIMD static void backward_mask_range(const void *context, int64_t begin, int64_t end) {
    const struct backward *b = context;
    WITH_REAL(b->dtype, gate_by_mask, b, begin, end);
}

struct backward_state {
    int64_t n;
    enum dtype dtype;
    bool masked;
};

static neap_error *backward_create(const struct kernel_site *site, void **state,
                                   size_t *scratch_bytes) {
    const struct value *saved = node_input(site->g, site->node, 1);
    struct backward_state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->n = layout_elements(saved->layout, saved->shape);
    s->dtype = node_output(site->g, site->node, 0)->dtype;
    s->masked = saved->dtype == DTYPE_BIT;
    *state = s;
    return NULL;
}

static neap_error *backward_run(void *state, const struct launch *launch) {
    const struct backward_state *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, s->masked ? backward_mask_range : backward_value_range,
                 &(struct backward){s->dtype, launch->in[0], launch->in[1], launch->out[0]});
    return NULL;
}

const struct kernel kernel_relu_backward_cpu = {
    .name = "relu_backward:cpu",
    .op = &op_relu_backward,
    .negotiate = elementwise_negotiate_real,
    .create = backward_create,
    .run = backward_run,
};
