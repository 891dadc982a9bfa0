/* What batch norm's forward and backward kernels share. Both compute a and b of y = x a + b here
 * and y in the same two roundings, so that backward sees the sign that forward saw. */
#ifndef NEAP_OPS_BATCH_NORM_CPU_H
#define NEAP_OPS_BATCH_NORM_CPU_H

#include <math.h>

#include "backend/cpu/channels.h"
#include "backend/cpu/real.h"
#include "backend/kernel.h"
#include "ops/batch_norm.h"

struct batch_norm_state {
    struct channel_units units;
    const struct batch_norm_attrs *attrs;
    int64_t n_elements; /* with padding */
    enum dtype dtype;   /* of activations; they are computed with in fp32 */
    uint32_t n_out;
    int n_tables;
    bool residual;
};

/* The parts of a run's scratch memory. */
struct batch_norm_scratch {
    double *sums, *partials;    /* for channels_sum */
    float *table[MAX_PATTERNS]; /* zeroed: padding has scale and shift 0 */
};

const char *batch_norm_negotiate(const struct kernel_site *site, struct kernel_layouts *want);
MUST_USE neap_error *batch_norm_create(const struct kernel_site *site, int n_tables, bool sums,
                                       struct batch_norm_state **out, size_t *scratch_bytes);
/* Zeroes the tables and names them in the job, and the type. */
struct batch_norm_scratch batch_norm_scratch_of(const struct batch_norm_state *s, void *scratch,
                                                bool sums, struct channel_job *job);

/* a = γ / √(var + eps), b = β − mean a, from mean, var, γ, β. */
static inline void batch_norm_scale_shift(const struct batch_norm_state *s, void *const *in,
                                          float *a, float *b) {
    const float *mean = in[0], *var = in[1], *gamma = in[2], *beta = in[3];
    for (int64_t c = 0; c < s->units.channels; c++) {
        double scale = (double)gamma[c] / sqrt((double)var[c] + s->attrs->eps);
        a[c] = (float)scale;
        b[c] = (float)((double)beta[c] - (double)mean[c] * scale);
    }
}

#endif
