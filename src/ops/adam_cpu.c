/* Adam and AdamW in one pass over parameter, gradient and moments, in whatever layout they share.
 */
#include "ops/adam.h"

#include <math.h>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"

struct call {
    float *w, *m, *v;
    const float *gradient;
    float *clear;               /* the gradient where it is to be cleared, or NULL */
    float scale, decay, shrink; /* decay of the gradient; factor of the parameter */
    float beta1, rest1, beta2, rest2, step, root, eps;
};

SIMD static void step_range(const void *context, int64_t begin, int64_t end) {
    const struct call c = *(const struct call *)context;
#pragma omp simd
    for (int64_t i = begin; i < end; i++) {
        float g = c.gradient[i] * c.scale + c.decay * c.w[i];
        float mean = c.beta1 * c.m[i] + c.rest1 * g;
        float square = c.beta2 * c.v[i] + c.rest2 * g * g;
        c.m[i] = mean;
        c.v[i] = square;
        c.w[i] = c.w[i] * c.shrink - c.step * mean / (sqrtf(square) / c.root + c.eps);
    }
    for (int64_t i = begin; c.clear && i < end; i++)
        c.clear[i] = 0;
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    const struct adam_attrs *a = s->attrs;
    float *accumulated = s->n_in ? NULL : launch->up[ADAM_ACCUMULATOR];
    double t = (double)(launch->params->update - launch->params->skipped) + 1,
           lr = launch->params->lr;
    parallel_for(s->n, ELEMENTWISE_GRAIN, step_range,
                 &(struct call){.w = launch->up[ADAM_PARAMETER],
                                .m = launch->up[ADAM_MEAN],
                                .v = launch->up[ADAM_SQUARE],
                                .gradient = s->n_in ? launch->in[0] : accumulated,
                                .clear = accumulated,
                                .scale = (float)launch->params->gradient_scale,
                                .decay = a->decoupled ? 0 : (float)a->weight_decay,
                                .shrink = a->decoupled ? (float)(1 - lr * a->weight_decay) : 1,
                                .beta1 = (float)a->beta1,
                                .rest1 = (float)(1 - a->beta1),
                                .beta2 = (float)a->beta2,
                                .rest2 = (float)(1 - a->beta2),
                                .step = (float)(lr / (1 - pow(a->beta1, t))),
                                .root = (float)sqrt(1 - pow(a->beta2, t)),
                                .eps = (float)a->eps});
    return NULL;
}

const struct kernel kernel_adam_cpu = {
    .name = "adam:cpu",
    .op = &op_adam,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = run,
};
