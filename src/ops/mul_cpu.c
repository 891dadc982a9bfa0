/* Products of two tensors at the speed of memory: flat runs in any layout. */
#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/ops.h"

struct call {
    const float *a, *b;
    float *y;
};

SIMD static void multiply_run(const float *a, const float *b, float *y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

static void multiply_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    multiply_run(call->a + begin, call->b + begin, call->y + begin, end - begin);
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, multiply_range,
                 &(struct call){launch->in[0], launch->in[1], launch->out[0]});
    return NULL;
}

const struct kernel kernel_mul_cpu = {
    .name = "mul:cpu",
    .op = &op_mul,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = run,
};
