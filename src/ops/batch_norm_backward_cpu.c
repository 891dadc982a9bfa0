/* Batch norm's backward ops at the speed of memory: two passes over x and dy, the first for the
 * sums dγ and dβ, the second for dx. With relu=1 both recompute the sign of y instead of reading
 * it. */
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "ops/batch_norm_cpu.h"

/* ---- dγ = Σ dy x̂, dβ = Σ dy ---------------------------------------------------------------- */

/* dy as it counts: 0 where the ReLU was closed. */
static inline float open_gradient(float dy, float x, float a, float b, bool relu) {
    return relu && !(x * a + b > 0) ? 0 : dy;
}

/* What a row of x and dy adds to the two sums of column k. */
struct contribution {
    float gamma, beta;
};

REAL_INLINE struct contribution contribution_at(enum dtype type, const struct channel_job *job,
                                                int64_t i, float mean, float a, float b,
                                                bool relu) {
    float x = real_load(type, job->in[0], i);
    float g = open_gradient(real_load(type, job->in[1], i), x, a, b, relu);
    return (struct contribution){g * (x - mean), g};
}

REAL_INLINE void reduce_rows(enum dtype type, const struct channel_job *job,
                             const struct channel_unit *unit,
                             const float (*restrict pattern)[MAX_WIDTH], float *restrict s0,
                             float *restrict s1, bool relu) {
    const float *mean = pattern[0], *a = pattern[1], *b = pattern[2];
    int64_t stride = unit->stride, row = 0, at = unit->offset;
    for (; row + 4 <= unit->rows; row += 4, at += 4 * stride)
#pragma omp simd
        for (int64_t k = 0; k < unit->width; k++) {
            struct contribution c[4];
            for (int r = 0; r < 4; r++)
                c[r] = contribution_at(type, job, at + r * stride + k, mean[k], a[k], b[k], relu);
            s0[k] += (c[0].gamma + c[1].gamma) + (c[2].gamma + c[3].gamma);
            s1[k] += (c[0].beta + c[1].beta) + (c[2].beta + c[3].beta);
        }
    for (; row <= unit->rows; row++, at += stride) {
        int64_t n = row < unit->rows ? unit->width : unit->tail;
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            struct contribution c = contribution_at(type, job, at + k, mean[k], a[k], b[k], relu);
            s0[k] += c.gamma;
            s1[k] += c.beta;
        }
    }
}

REAL_INLINE void reduce_unit(enum dtype type, const struct channel_job *job,
                             const struct channel_unit *unit, const float (*pattern)[MAX_WIDTH],
                             float (*sum)[MAX_WIDTH]) {
    if (job->relu)
        reduce_rows(type, job, unit, pattern, sum[0], sum[1], true);
    else
        reduce_rows(type, job, unit, pattern, sum[0], sum[1], false);
}

SIMD static void reduce_leaf(const struct channel_job *job, const struct channel_unit *unit,
                             float (*restrict pattern)[MAX_WIDTH],
                             float (*restrict sum)[MAX_WIDTH]) {
    WITH_REAL(job->dtype, reduce_unit, job, unit, (const float(*)[MAX_WIDTH])pattern, sum);
}

static neap_error *reduce_create(const struct kernel_site *site, void **state,
                                 size_t *scratch_bytes) {
    struct batch_norm_state *s;
    TRY(batch_norm_create(site, 3, true, &s, scratch_bytes));
    *state = s;
    return NULL;
}

/* Inputs x, dy, mean, var, γ, β. */
static neap_error *reduce_run(void *state, const struct launch *launch) {
    const struct batch_norm_state *s = state;
    struct channel_job job = {
        .leaf = reduce_leaf, .in = {launch->in[0], launch->in[1]}, .relu = s->attrs->relu};
    struct batch_norm_scratch at = batch_norm_scratch_of(s, launch->scratch, true, &job);
    const float *mean = launch->in[2], *var = launch->in[3];
    float *dgamma = launch->out[0], *dbeta = launch->out[1];
    memcpy(at.table[0], mean, (size_t)s->units.channels * sizeof *mean);
    batch_norm_scale_shift(s, launch->in + 2, at.table[1], at.table[2]);
    channels_sum(&s->units, &job, at.partials, at.sums);
    for (int64_t c = 0; c < s->units.channels; c++) {
        dgamma[c] = (float)(at.sums[c] / sqrt((double)var[c] + s->attrs->eps));
        dbeta[c] = (float)at.sums[s->units.padded_channels + c];
    }
    return NULL;
}

const struct kernel kernel_batch_norm_backward_reduce_cpu = {
    .name = "batch_norm_backward_reduce:cpu",
    .op = &op_batch_norm_backward_reduce,
    .negotiate = batch_norm_negotiate,
    .create = reduce_create,
    .run = reduce_run,
};

/* ---- dx = a ((dy − dβ/n) − (x − mean) dγ/(n √(var + eps))) ---------------------------------- */

enum { MEAN, SCALE, SHIFT, OFFSET, SLOPE, N_DX_TABLES };

/* In place over dy or x, element by element. */
REAL_INLINE void dx_rows(enum dtype type, const struct channel_job *job,
                         const struct channel_unit *unit, const float (*pattern)[MAX_WIDTH],
                         bool relu) {
    const float *mean = pattern[MEAN], *a = pattern[SCALE], *b = pattern[SHIFT];
    const float *offset = pattern[OFFSET], *slope = pattern[SLOPE];
    for (int64_t row = 0; row <= unit->rows; row++) {
        int64_t at = unit->offset + row * unit->stride;
        int64_t n = row < unit->rows ? unit->width : unit->tail;
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            float x = real_load(type, job->in[0], at + k);
            float g = open_gradient(real_load(type, job->in[1], at + k), x, a[k], b[k], relu);
            real_store(type, job->out, at + k, a[k] * ((g - offset[k]) - (x - mean[k]) * slope[k]));
        }
    }
}

REAL_INLINE void dx_unit(enum dtype type, const struct channel_job *job,
                         const struct channel_unit *unit, const float (*pattern)[MAX_WIDTH]) {
    if (job->relu)
        dx_rows(type, job, unit, pattern, true);
    else
        dx_rows(type, job, unit, pattern, false);
}

SIMD static void dx_leaf(const struct channel_job *job, const struct channel_unit *unit,
                         float (*restrict pattern)[MAX_WIDTH], float (*restrict sum)[MAX_WIDTH]) {
    (void)sum;
    WITH_REAL(job->dtype, dx_unit, job, unit, (const float(*)[MAX_WIDTH])pattern);
}

static neap_error *dx_create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    struct batch_norm_state *s;
    TRY(batch_norm_create(site, N_DX_TABLES, false, &s, scratch_bytes));
    *state = s;
    return NULL;
}

/* Inputs x, dy, mean, var, γ, β, dγ, dβ. */
static neap_error *dx_run(void *state, const struct launch *launch) {
    const struct batch_norm_state *s = state;
    struct channel_job job = {.leaf = dx_leaf,
                              .in = {launch->in[0], launch->in[1]},
                              .out = launch->out[0],
                              .relu = s->attrs->relu};
    struct batch_norm_scratch at = batch_norm_scratch_of(s, launch->scratch, false, &job);
    const float *mean = launch->in[2], *var = launch->in[3];
    const float *dgamma = launch->in[6], *dbeta = launch->in[7];
    double count = (double)s->units.count;
    memcpy(at.table[MEAN], mean, (size_t)s->units.channels * sizeof *mean);
    batch_norm_scale_shift(s, launch->in + 2, at.table[SCALE], at.table[SHIFT]);
    for (int64_t c = 0; c < s->units.channels; c++) {
        at.table[OFFSET][c] = (float)((double)dbeta[c] / count);
        at.table[SLOPE][c] =
            (float)((double)dgamma[c] / count / sqrt((double)var[c] + s->attrs->eps));
    }
    channels_each(&s->units, &job);
    return NULL;
}

const struct kernel kernel_batch_norm_backward_apply_cpu = {
    .name = "batch_norm_backward_apply:cpu",
    .op = &op_batch_norm_backward_apply,
    .negotiate = batch_norm_negotiate,
    .create = dx_create,
    .run = dx_run,
};
