/* SGD in one pass over parameter, gradient and velocity, in whatever layout they share. */
#include "ops/sgd.h"

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"

struct call {
    float *w, *v; /* v NULL: without momentum */
    const float *gradient;
    float *clear; /* the gradient where it is to be cleared, or NULL */
    float lr, scale, momentum, decay;
    bool nesterov;
};

static inline void step_run(const struct call *c, int64_t begin, int64_t end, bool momentum,
                            bool nesterov) {
    float *w = c->w, *v = c->v;
    const float *gradient = c->gradient;
    float lr = c->lr, scale = c->scale, mu = c->momentum, decay = c->decay;
#pragma omp simd
    for (int64_t i = begin; i < end; i++) {
        float g = gradient[i] * scale + decay * w[i];
        if (momentum) {
            v[i] = mu * v[i] + g;
            g = nesterov ? g + mu * v[i] : v[i];
        }
        w[i] -= lr * g;
    }
}

SIMD static void step_range(const void *context, int64_t begin, int64_t end) {
    const struct call *c = context;
    if (!c->v)
        step_run(c, begin, end, false, false);
    else if (!c->nesterov)
        step_run(c, begin, end, true, false);
    else
        step_run(c, begin, end, true, true);
    for (int64_t i = begin; c->clear && i < end; i++)
        c->clear[i] = 0;
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    const struct sgd_attrs *a = s->attrs;
    float *accumulated = s->n_in ? NULL : launch->up[s->n_up - 1];
    parallel_for(s->n, ELEMENTWISE_GRAIN, step_range,
                 &(struct call){.w = launch->up[SGD_PARAMETER],
                                .v = a->momentum != 0 ? launch->up[SGD_VELOCITY] : NULL,
                                .gradient = s->n_in ? launch->in[0] : accumulated,
                                .clear = accumulated,
                                .lr = (float)launch->params->lr,
                                .scale = (float)launch->params->gradient_scale,
                                .momentum = (float)a->momentum,
                                .decay = (float)a->weight_decay,
                                .nesterov = a->nesterov});
    return NULL;
}

const struct kernel kernel_sgd_cpu = {
    .name = "sgd:cpu",
    .op = &op_sgd,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = run,
};
