/* ReLU and its backward at the speed of memory: flat runs in any layout. */
#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/ops.h"

/* ---- forward -------------------------------------------------------------------------------- */

struct forward {
    const float *x;
    float *y;
    uint8_t *mask; /* or NULL */
};

SIMD static void clip(const float *x, float *y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

/* In steps that stay in the first cache between the two passes. */
static void forward_range(const void *context, int64_t begin, int64_t end) {
    const struct forward *f = context;
    enum { STEP = 4096 };
    for (int64_t i = begin; i < end; i += STEP) {
        int64_t n = end - i < STEP ? end - i : STEP;
        clip(f->x + i, f->y + i, n);
        if (f->mask)
            mask_of_positive(f->y + i, n, f->mask + i / 8);
    }
}

static neap_error *forward_run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    parallel_for(
        s->n, ELEMENTWISE_GRAIN, forward_range,
        &(struct forward){launch->in[0], launch->out[0], s->n_out > 1 ? launch->out[1] : NULL});
    return NULL;
}

const struct kernel kernel_relu_cpu = {
    .name = "relu:cpu",
    .op = &op_relu,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = forward_run,
};

/* ---- backward ------------------------------------------------------------------------------- */

struct backward {
    const float *dy;
    const void *saved; /* y (f32) or the mask */
    float *dx;
};

SIMD static void gate_by_value(const float *dy, const float *y, float *dx, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

SIMD static void gate_by_mask(const float *dy, const uint8_t *mask, float *dx, int64_t n) {
    int64_t bytes = n / 8;
    for (int64_t byte = 0; byte < bytes; byte++) {
        uint32_t bits = mask[byte];
#pragma omp simd
        for (uint32_t k = 0; k < 8; k++) {
            float open = dy[byte * 8 + k]; /* loaded whether it counts or not: no masked loads */
            dx[byte * 8 + k] = bits >> k & 1 ? open : 0;
        }
    }
    for (int64_t i = bytes * 8; i < n; i++)
        dx[i] = mask[i / 8] >> i % 8 & 1 ? dy[i] : 0;
}

static void backward_value_range(const void *context, int64_t begin, int64_t end) {
    const struct backward *b = context;
    gate_by_value(b->dy + begin, (const float *)b->saved + begin, b->dx + begin, end - begin);
}

static void backward_mask_range(const void *context, int64_t begin, int64_t end) {
    const struct backward *b = context;
    gate_by_mask(b->dy + begin, (const uint8_t *)b->saved + begin / 8, b->dx + begin, end - begin);
}

struct backward_state {
    int64_t n;
    bool masked;
};

static const char *backward_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    enum dtype saved = node_input(site->g, site->node, 1)->dtype;
    if (saved != DTYPE_F32 && saved != DTYPE_BIT)
        return "it reads the output in fp32, or a bit mask";
    return elementwise_negotiate(site, want);
}

static neap_error *backward_create(const struct kernel_site *site, void **state,
                                   size_t *scratch_bytes) {
    const struct value *saved = node_input(site->g, site->node, 1);
    struct backward_state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->n = layout_elements(saved->layout, saved->shape);
    s->masked = saved->dtype == DTYPE_BIT;
    *state = s;
    return NULL;
}

static neap_error *backward_run(void *state, const struct launch *launch) {
    const struct backward_state *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, s->masked ? backward_mask_range : backward_value_range,
                 &(struct backward){launch->in[0], launch->in[1], launch->out[0]});
    return NULL;
}

const struct kernel kernel_relu_backward_cpu = {
    .name = "relu_backward:cpu",
    .op = &op_relu_backward,
    .negotiate = backward_negotiate,
    .create = backward_create,
    .run = backward_run,
};
