/* Products of two tensors at the speed of memory: flat runs in any layout. */
#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/ops.h"

struct call {
    enum dtype dtype;
    const void *a, *b;
    void *y;
};

REAL_INLINE void multiply_run(enum dtype type, const struct call *c, int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; i++)
        real_store(type, c->y, i, real_load(type, c->a, i) * real_load(type, c->b, i));
}

SIMD static void multiply_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    WITH_REAL(call->dtype, multiply_run, call, begin, end);
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, multiply_range,
                 &(struct call){s->dtype, launch->in[0], launch->in[1], launch->out[0]});
    return NULL;
}

const struct kernel kernel_mul_cpu = {
    .name = "mul:cpu",
    .op = &op_mul,
    .negotiate = elementwise_negotiate_real,
    .create = elementwise_create,
    .run = run,
};
