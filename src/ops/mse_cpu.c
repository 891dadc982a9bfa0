/* The mean squared error, a row at a time; the rows' sums are added in order, in double. */
#include "backend/cpu/parallel.h"
#include "backend/cpu/rows.h"
#include "base/simd.h"
#include "ops/ops.h"

struct call {
    const struct rows *rows;
    const float *x, *target;
    double *sums;
    float *dx, scale;
};

/* ---- loss = Σ_n mean (x − target)² --------------------------------------------------------------
 */

static void sum_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = call->x + row * width, *target = call->target + row * width;
        double sum = 0;
        for (int64_t i = 0; i < width; i++) {
            double d = (double)x[i] - (double)target[i];
            sum += d * d;
        }
        call->sums[row] = sum;
    }
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct rows *s = state;
    struct call call = {
        .rows = s, .x = launch->in[0], .target = launch->in[1], .sums = launch->scratch};
    parallel_for(s->n, rows_grain(s), sum_range, &call);
    *(float *)launch->out[0] =
        (float)(rows_sum(call.sums, s->n) * (double)s->samples / (double)(s->n * s->width));
    return NULL;
}

const struct kernel kernel_mse_cpu = {
    .name = "mse:cpu",
    .op = &op_mse,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = run,
};

/* ---- dx = 2 (x − target) dloss / elements of a sample -------------------------------------------
 */

SIMD static void gradient_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    const float *x = call->x, *target = call->target;
    float *dx = call->dx, scale = call->scale;
#pragma omp simd
    for (int64_t i = begin; i < end; i++)
        dx[i] = (x[i] - target[i]) * scale;
}

static neap_error *gradient_run(void *state, const struct launch *launch) {
    const struct rows *s = state;
    double dloss = (double)*(const float *)launch->in[2];
    parallel_for(s->n * s->width, 16384, gradient_range,
                 &(struct call){
                     .x = launch->in[0],
                     .target = launch->in[1],
                     .dx = launch->out[0],
                     .scale = (float)(2 * dloss * (double)s->samples / (double)(s->n * s->width))});
    return NULL;
}

const struct kernel kernel_mse_backward_cpu = {
    .name = "mse_backward:cpu",
    .op = &op_mse_backward,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = gradient_run,
};
