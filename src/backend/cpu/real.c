/* Conversions between the three types: see real.h. */
#include "backend/cpu/real.h"

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"

static bool is_float(enum dtype type) {
    return dtype_is_real(type) || type == DTYPE_F64;
}

const char *real_negotiate(const struct kernel_site *site) {
    const struct node *node = site->node;
    const value_id *const lists[] = {node->inputs, node->outputs, node->updates};
    const uint32_t counts[] = {node->n_inputs, node->n_outputs, node->n_updates};
    enum dtype common = N_DTYPES;
    for (int l = 0; l < 3; l++)
        for (uint32_t i = 0; i < counts[l]; i++) {
            if (lists[l][i] == ID_NONE)
                continue;
            const struct value *value = graph_value(site->g, lists[l][i]);
            bool tensor = value->shape.rank > 1;
            if (!is_float(value->dtype))
                continue;
            if (tensor && common == N_DTYPES)
                common = value->dtype;
            if (value->dtype != (tensor ? common : DTYPE_F32) || !dtype_is_real(value->dtype))
                return "it reads and writes one type, fp32, bf16 or fp16";
        }
    return NULL;
}

struct conversion {
    enum dtype from, to;
    const void *x;
    void *y;
};

REAL_INLINE void widen(enum dtype type, const struct conversion *c, int64_t begin, int64_t end) {
    float *y = c->y;
#pragma omp simd
    for (int64_t i = begin; i < end; i++)
        y[i] = real_load(type, c->x, i);
}

REAL_INLINE void narrow(enum dtype type, const struct conversion *c, int64_t begin, int64_t end) {
    const float *x = c->x;
#pragma omp simd
    for (int64_t i = begin; i < end; i++)
        real_store(type, c->y, i, x[i]);
}

SIMD static void convert_range(const void *context, int64_t begin, int64_t end) {
    const struct conversion *c = context;
    if (c->to == DTYPE_F32)
        WITH_REAL(c->from, widen, c, begin, end);
    else
        WITH_REAL(c->to, narrow, c, begin, end);
}

/* Between the two 16-bit types there is no way but by fp32, which nobody needs. */
void real_convert(enum dtype from, const void *x, enum dtype to, void *y, int64_t n) {
    parallel_for(n, ELEMENTWISE_GRAIN, convert_range, &(struct conversion){from, to, x, y});
}
