/* softmax, log_softmax and their backward ops, a row at a time. */
#include <math.h>

#include "backend/cpu/parallel.h"
#include "backend/cpu/rows.h"
#include "ops/ops.h"

struct call {
    const struct rows *rows;
    const float *a, *b;
    float *out;
};

static neap_error *run_rows(void *state, const struct launch *launch, bool two,
                            void (*range)(const void *context, int64_t begin, int64_t end)) {
    const struct rows *s = state;
    parallel_for(s->n, rows_grain(s), range,
                 &(struct call){s, launch->in[0], two ? launch->in[1] : NULL, launch->out[0]});
    return NULL;
}

/* ---- y = exp(x − max) / Σ exp(x − max) ---------------------------------------------------------
 */

static void softmax_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = call->a + row * width;
        float *y = call->out + row * width, most = row_largest(x, width);
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)(y[i] = expf(x[i] - most));
        for (int64_t i = 0; i < width; i++)
            y[i] = (float)((double)y[i] / sum);
    }
}

static neap_error *softmax_run(void *state, const struct launch *launch) {
    return run_rows(state, launch, false, softmax_range);
}

const struct kernel kernel_softmax_cpu = {
    .name = "softmax:cpu",
    .op = &op_softmax,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = softmax_run,
};

/* ---- dx = y (dy − Σ dy y), inputs dy, y --------------------------------------------------------
 */

static void softmax_backward_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t row = begin; row < end; row++) {
        const float *dy = call->a + row * width, *y = call->b + row * width;
        float *dx = call->out + row * width;
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)dy[i] * (double)y[i];
        for (int64_t i = 0; i < width; i++)
            dx[i] = y[i] * (float)((double)dy[i] - sum);
    }
}

static neap_error *softmax_backward_run(void *state, const struct launch *launch) {
    return run_rows(state, launch, true, softmax_backward_range);
}

const struct kernel kernel_softmax_backward_cpu = {
    .name = "softmax_backward:cpu",
    .op = &op_softmax_backward,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = softmax_backward_run,
};

/* ---- y = x − log Σ exp x -----------------------------------------------------------------------
 */

static void log_softmax_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t row = begin; row < end; row++) {
        const float *x = call->a + row * width;
        float *y = call->out + row * width, most = row_largest(x, width);
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)expf(x[i] - most);
        sum = log(sum);
        for (int64_t i = 0; i < width; i++)
            y[i] = (float)((double)(x[i] - most) - sum);
    }
}

static neap_error *log_softmax_run(void *state, const struct launch *launch) {
    return run_rows(state, launch, false, log_softmax_range);
}

const struct kernel kernel_log_softmax_cpu = {
    .name = "log_softmax:cpu",
    .op = &op_log_softmax,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = log_softmax_run,
};

/* ---- dx = dy − exp(y) Σ dy, inputs dy, y -------------------------------------------------------
 */

static void log_softmax_backward_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t row = begin; row < end; row++) {
        const float *dy = call->a + row * width, *y = call->b + row * width;
        float *dx = call->out + row * width;
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)dy[i];
        for (int64_t i = 0; i < width; i++)
            dx[i] = (float)((double)dy[i] - (double)expf(y[i]) * sum);
    }
}

static neap_error *log_softmax_backward_run(void *state, const struct launch *launch) {
    return run_rows(state, launch, true, log_softmax_backward_range);
}

const struct kernel kernel_log_softmax_backward_cpu = {
    .name = "log_softmax_backward:cpu",
    .op = &op_log_softmax_backward,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = log_softmax_backward_run,
};
