/* sgd on flat runs: parameter, velocity and gradient share a layout, padding stays zero. */
#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/sgd.h"

struct job {
    struct sgd_attrs attrs;
    float lr, scale;
    float *w, *v;    /* v NULL without momentum */
    const float *dw;
    float *clear;    /* the accumulator, or NULL */
};

SIMD static void step_plain(const struct job *j, int64_t begin, int64_t end) {
    const float lr = j->lr, scale = j->scale, decay = (float)j->attrs.weight_decay;
    float *restrict w = j->w;
    const float *restrict dw = j->dw;
    for (int64_t i = begin; i < end; i++) {
        float g = dw[i] * scale + decay * w[i];
        w[i] -= lr * g;
    }
}

SIMD static void step_momentum(const struct job *j, int64_t begin, int64_t end) {
    const float lr = j->lr, scale = j->scale, decay = (float)j->attrs.weight_decay;
    const float mu = (float)j->attrs.momentum;
    float *restrict w = j->w, *restrict v = j->v;
    const float *restrict dw = j->dw;
    if (j->attrs.nesterov)
        for (int64_t i = begin; i < end; i++) {
            float g = dw[i] * scale + decay * w[i];
            v[i] = mu * v[i] + g;
            w[i] -= lr * (g + mu * v[i]);
        }
    else
        for (int64_t i = begin; i < end; i++) {
            v[i] = mu * v[i] + (dw[i] * scale + decay * w[i]);
            w[i] -= lr * v[i];
        }
}

static void step_range(const void *context, int64_t begin, int64_t end) {
    const struct job *j = context;
    if (j->v)
        step_momentum(j, begin, end);
    else
        step_plain(j, begin, end);
    for (int64_t i = begin; j->clear && i < end; i++)
        j->clear[i] = 0;
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    struct job job = {.attrs = *(const struct sgd_attrs *)s->attrs,
                      .lr = (float)launch->params->lr,
                      .scale = (float)launch->params->gradient_scale,
                      .w = launch->up[SGD_PARAMETER]};
    if (job.attrs.momentum != 0)
        job.v = launch->up[SGD_VELOCITY];
    if (!s->n_in)
        job.clear = launch->up[s->n_up - 1];
    job.dw = s->n_in ? launch->in[0] : job.clear;
    parallel_for(s->n, ELEMENTWISE_GRAIN, step_range, &job);
    return NULL;
}

const struct kernel kernel_sgd_cpu = {
    .name = "sgd:cpu",
    .op = &op_sgd,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = run,
};
