/* What elementwise kernels share: see elementwise.h. */
#include "backend/cpu/elementwise.h"

#include <string.h>

#include "backend/cpu/parallel.h"
#include "base/simd.h"

static const bool is_other_float[N_DTYPES] = {
    [DTYPE_F64] = true, [DTYPE_BF16] = true, [DTYPE_F16] = true};

static bool any_other_float(const neap_graph *g, const value_id *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != ID_NONE && is_other_float[graph_value(g, values[i])->dtype])
            return true;
    return false;
}

const char *f32_negotiate(const struct kernel_site *site) {
    const struct node *node = site->node;
    bool other = any_other_float(site->g, node->inputs, node->n_inputs) ||
                 any_other_float(site->g, node->outputs, node->n_outputs) ||
                 any_other_float(site->g, node->updates, node->n_updates);
    return other ? "it computes in fp32" : NULL;
}

static bool can_move(enum dtype dtype) {
    return dtype == DTYPE_F32 || is_other_float[dtype];
}

/* Why not, as far as layouts go. */
static const char *one_layout(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    struct layout layout = {0};
    if (node->n_updates)
        layout = graph_value(site->g, node->updates[0])->layout;
    else if (node->n_inputs)
        layout = want->in[0];
    for (uint32_t i = node->n_inputs; i-- > 0;)
        if (node_has_input(node, i) && !can_move(node_input(site->g, node, i)->dtype))
            layout = want->in[i];
    for (uint32_t i = 1; i < node->n_updates; i++)
        if (!layout_equal(graph_value(site->g, node->updates[i])->layout, layout))
            return "what it updates has several layouts";
    for (uint32_t i = 0; i < node->n_inputs; i++)
        want->in[i] = layout;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        want->out[i] = layout;
    return NULL;
}

const char *elementwise_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const char *refusal = one_layout(site, want);
    return refusal ? refusal : f32_negotiate(site);
}

const char *elementwise_negotiate_real(const struct kernel_site *site,
                                       struct kernel_layouts *want) {
    const char *refusal = one_layout(site, want);
    return refusal ? refusal : real_negotiate(site);
}

neap_error *elementwise_create(const struct kernel_site *site, void **state,
                               size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct value *value = node->n_updates   ? graph_value(site->g, node->updates[0])
                                : node->n_outputs ? node_output(site->g, node, 0)
                                                  : node_input(site->g, node, 0);
    struct elementwise *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s, &s));
    *s = (struct elementwise){.n = layout_elements(value->layout, value->shape),
                              .dtype = value->dtype,
                              .attrs = node->attrs,
                              .n_in = node->n_inputs,
                              .n_out = node->n_outputs,
                              .n_up = node->n_updates};
    *state = s;
    return NULL;
}

/* Eight bytes that are 0 or 1 become eight bits: the product moves byte k's bit to bit 56 + k. */
static uint8_t pack(const uint8_t flags[8]) {
    uint64_t word;
    memcpy(&word, flags, sizeof word);
    return (uint8_t)(word * UINT64_C(0x0102040810204080) >> 56);
}

REAL_INLINE void mask_of(enum dtype type, const void *x, int64_t n, uint8_t *bits) {
    enum { STEP = 64 };
    uint8_t flags[STEP];
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        for (int k = 0; k < STEP; k++)
            flags[k] = real_load(type, x, i + k) > 0;
        for (int k = 0; k < STEP; k += 8)
            bits[(i + k) / 8] = pack(flags + k);
    }
    for (; i < n; i += 8) {
        uint8_t byte = 0;
        for (int k = 0; k < 8 && i + k < n; k++)
            byte |= (uint8_t)((real_load(type, x, i + k) > 0) << k);
        bits[i / 8] = byte;
    }
}

SIMD void mask_of_positive(enum dtype dtype, const void *x, int64_t n, uint8_t *bits) {
    WITH_REAL(dtype, mask_of, x, n, bits);
}

struct mask_job {
    enum dtype dtype;
    const void *x;
    uint8_t *bits;
};

static void mask_range(const void *context, int64_t begin, int64_t end) {
    const struct mask_job *job = context;
    mask_of_positive(job->dtype, real_at(job->dtype, job->x, begin), end - begin,
                     job->bits + begin / 8);
}

void elementwise_mask(enum dtype dtype, const void *x, int64_t n, uint8_t *bits) {
    parallel_for(n, ELEMENTWISE_GRAIN, mask_range, &(struct mask_job){dtype, x, bits});
}
