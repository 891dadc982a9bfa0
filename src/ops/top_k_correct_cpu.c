/* Counting right answers, a row at a time. */
#include "ops/top_k_correct.h"

#include <math.h>

#include "backend/cpu/parallel.h"
#include "backend/cpu/rows.h"

struct call {
    const struct rows *rows;
    const float *logits;
    const int32_t *labels;
    double *right;
};

static void right_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    const struct top_k_correct_attrs *a = call->rows->attrs;
    int64_t width = call->rows->width;
    for (int64_t n = begin; n < end; n++) {
        const float *row = call->logits + n * width, own = row[call->labels[n]];
        int64_t before = 0;
        for (int64_t c = 0; c < width; c++)
            before += row[c] > own || isnan(row[c]) || (row[c] == own && c < call->labels[n]);
        call->right[n] = !isnan(own) && before < a->k;
    }
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct rows *s = state;
    struct call call = {s, launch->in[0], launch->in[1], launch->scratch};
    parallel_for(s->n, 8 * rows_grain(s), right_range, &call);
    *(float *)launch->out[0] = (float)rows_sum(call.right, s->n);
    return NULL;
}

const struct kernel kernel_top_k_correct_cpu = {
    .name = "top_k_correct:cpu",
    .op = &op_top_k_correct,
    .negotiate = rows_negotiate,
    .create = rows_create,
    .run = run,
};
