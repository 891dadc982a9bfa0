/* Softmax cross entropy, a row at a time; the rows' losses are added in order, in double. */
#include <math.h>

#include "backend/cpu/parallel.h"
#include "backend/cpu/rows.h"
#include "ops/ops.h"

struct call {
    const struct rows *rows;
    const float *logits;
    const int32_t *labels;
    double *losses;
    float *dlogits;
    double dloss;
};

/* ---- loss = Σ_n (log Σ_c exp(logit) − logit[label]) --------------------------------------------
 */

static void loss_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t n = begin; n < end; n++) {
        const float *row = call->logits + n * width;
        float most = row_largest(row, width);
        double sum = 0;
        for (int64_t c = 0; c < width; c++)
            sum += (double)expf(row[c] - most);
        call->losses[n] = log(sum) + (double)most - (double)row[call->labels[n]];
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

/* ---- dlogits = (softmax − onehot) dloss --------------------------------------------------------
 */

static void gradient_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t width = call->rows->width;
    for (int64_t n = begin; n < end; n++) {
        const float *row = call->logits + n * width;
        float *gradient = call->dlogits + n * width, most = row_largest(row, width);
        double sum = 0;
        for (int64_t c = 0; c < width; c++)
            sum += (double)(gradient[c] = expf(row[c] - most));
        for (int64_t c = 0; c < width; c++)
            gradient[c] =
                (float)(((double)gradient[c] / sum - (c == call->labels[n])) * call->dloss);
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
