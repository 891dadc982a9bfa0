/* Softmax cross entropy, a row at a time; the rows' losses are added in order, in double. */
#include "ops/softmax_cross_entropy.h"

#include <math.h>

#include "backend/cpu/parallel.h"
#include "backend/cpu/rows.h"

struct call {
    const struct rows *rows;
    const float *logits;
    const int32_t *labels;
    double *losses;
    float *dlogits;
    double dloss;
};

static double smoothing_of(const struct call *call) {
    return ((const struct cross_entropy_attrs *)call->rows->attrs)->label_smoothing;
}

/* ---- loss = Σ_n (log Σ_c exp(logit) − Σ_c target_c logit_c) ------------------------------------
 */

static double aim(const struct call *call, const float *row, int32_t label) {
    double smoothing = smoothing_of(call), sum = 0;
    if (smoothing == 0)
        return (double)row[label];
    for (int64_t c = 0; c < call->rows->width; c++)
        sum += (double)row[c];
    return (1 - smoothing) * (double)row[label] + smoothing * sum / (double)call->rows->width;
}

static void loss_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t n = begin; n < end; n++) {
        const float *row = call->logits + n * width;
        float most = row_largest(row, width);
        double sum = 0;
        for (int64_t c = 0; c < width; c++)
            sum += (double)expf(row[c] - most);
        call->losses[n] = log(sum) + (double)most - aim(call, row, call->labels[n]);
    }
}

static neap_error *loss_run(void *state, const struct launch *launch) {
    const struct rows *s = state;
    struct call call = {
        .rows = s, .logits = launch->in[0], .labels = launch->in[1], .losses = launch->scratch};
    parallel_for(s->n, rows_grain(s), loss_range, &call);
    *(float *)launch->out[0] = (float)rows_sum(call.losses, s->n);
    return NULL;
}

const struct kernel kernel_softmax_cross_entropy_cpu = {
    .name = "softmax_cross_entropy:cpu",
    .op = &op_softmax_cross_entropy,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = loss_run,
};

/* ---- dlogits = (softmax − target) dloss --------------------------------------------------------
 */

static void gradient_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    double smoothing = smoothing_of(call), spread = smoothing / (double)width;
    for (int64_t n = begin; n < end; n++) {
        const float *row = call->logits + n * width;
        float *gradient = call->dlogits + n * width, most = row_largest(row, width);
        double sum = 0;
        for (int64_t c = 0; c < width; c++)
            sum += (double)(gradient[c] = expf(row[c] - most));
        for (int64_t c = 0; c < width; c++) {
            double target = (1 - smoothing) * (c == call->labels[n]) + spread;
            gradient[c] = (float)(((double)gradient[c] / sum - target) * call->dloss);
        }
    }
}

static neap_error *gradient_run(void *state, const struct launch *launch) {
    const struct rows *s = state;
    parallel_for(s->n, rows_grain(s), gradient_range,
                 &(struct call){.rows = s,
                                .logits = launch->in[0],
                                .labels = launch->in[1],
                                .dlogits = launch->out[0],
                                .dloss = (double)*(const float *)launch->in[2]});
    return NULL;
}

const struct kernel kernel_softmax_cross_entropy_backward_cpu = {
    .name = "softmax_cross_entropy_backward:cpu",
    .op = &op_softmax_cross_entropy_backward,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = gradient_run,
};
