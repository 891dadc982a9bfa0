/* Sums of two tensors at the speed of memory: flat runs in any layout. */
#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/ops.h"

struct call {
    const float *a, *b;
    float *y;
};

SIMD static void add_run(const float *a, const float *b, float *y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void add_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    add_run(call->a + begin, call->b + begin, call->y + begin, end - begin);
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, add_range,
                 &(struct call){launch->in[0], launch->in[1], launch->out[0]});
    return NULL;
}

const struct kernel kernel_add_cpu = {
    .name = "add:cpu",
    .op = &op_add,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = run,
};

/* ---- accumulate: sum += x ---------------------------------------------------------------------
 */

static neap_error *accumulate_run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    parallel_for(s->n, ELEMENTWISE_GRAIN, add_range,
                 &(struct call){launch->up[0], launch->in[0], launch->up[0]});
    return NULL;
}

const struct kernel kernel_accumulate_cpu = {
    .name = "accumulate:cpu",
    .op = &op_accumulate,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = accumulate_run,
};
