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

static inline void reduce_row4(const float *restrict x, const float *restrict dy,
                               const float (*restrict pattern)[MAX_WIDTH],
                               float (*restrict sum)[MAX_WIDTH], int64_t width, int64_t stride,
                               bool relu) {
    const float *mean = pattern[0], *a = pattern[1], *b = pattern[2];
    float *s0 = sum[0], *s1 = sum[1];
#pragma omp simd
    for (int64_t k = 0; k < width; k++) {
        int64_t k1 = stride + k, k2 = k1 + stride, k3 = k2 + stride;
        float g0 = open_gradient(dy[k], x[k], a[k], b[k], relu);
        float g1 = open_gradient(dy[k1], x[k1], a[k], b[k], relu);
        float g2 = open_gradient(dy[k2], x[k2], a[k], b[k], relu);
        float g3 = open_gradient(dy[k3], x[k3], a[k], b[k], relu);
        s0[k] += (g0 * (x[k] - mean[k]) + g1 * (x[k1] - mean[k])) +
                 (g2 * (x[k2] - mean[k]) + g3 * (x[k3] - mean[k]));
        s1[k] += (g0 + g1) + (g2 + g3);
    }
}

static inline void reduce_row(const float *restrict x, const float *restrict dy,
                              const float (*restrict pattern)[MAX_WIDTH],
                              float (*restrict sum)[MAX_WIDTH], int64_t width, bool relu) {
    const float *mean = pattern[0], *a = pattern[1], *b = pattern[2];
    float *s0 = sum[0], *s1 = sum[1];
#pragma omp simd
    for (int64_t k = 0; k < width; k++) {
        float g = open_gradient(dy[k], x[k], a[k], b[k], relu);
        s0[k] += g * (x[k] - mean[k]);
        s1[k] += g;
    }
}

static inline void reduce_rows(const struct channel_job *job, const struct channel_unit *unit,
                               const float (*restrict pattern)[MAX_WIDTH],
                               float (*restrict sum)[MAX_WIDTH], bool relu) {
    const float *x = job->in[0] + unit->offset, *dy = job->in[1] + unit->offset;
    int64_t stride = unit->stride, row = 0;
    for (; row + 4 <= unit->rows; row += 4, x += 4 * stride, dy += 4 * stride)
        reduce_row4(x, dy, pattern, sum, unit->width, stride, relu);
    for (; row <= unit->rows; row++, x += stride, dy += stride)
        reduce_row(x, dy, pattern, sum, row < unit->rows ? unit->width : unit->tail, relu);
}

SIMD static void reduce_leaf(const struct channel_job *job, const struct channel_unit *unit,
                             float (*restrict pattern)[MAX_WIDTH],
                             float (*restrict sum)[MAX_WIDTH]) {
    if (job->relu)
        reduce_rows(job, unit, (const float(*)[MAX_WIDTH])pattern, sum, true);
    else
        reduce_rows(job, unit, (const float(*)[MAX_WIDTH])pattern, sum, false);
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
static inline void dx_row(float *dx, const float *x, const float *dy,
                          const float (*pattern)[MAX_WIDTH], int64_t n, bool relu) {
    const float *mean = pattern[MEAN], *a = pattern[SCALE], *b = pattern[SHIFT];
    const float *offset = pattern[OFFSET], *slope = pattern[SLOPE];
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        float g = open_gradient(dy[k], x[k], a[k], b[k], relu);
        dx[k] = a[k] * ((g - offset[k]) - (x[k] - mean[k]) * slope[k]);
    }
}

static inline void dx_rows(const struct channel_job *job, const struct channel_unit *unit,
                           const float (*pattern)[MAX_WIDTH], bool relu) {
    for (int64_t row = 0; row <= unit->rows; row++) {
        int64_t at = unit->offset + row * unit->stride;
        dx_row(job->out + at, job->in[0] + at, job->in[1] + at, pattern,
               row < unit->rows ? unit->width : unit->tail, relu);
    }
}

SIMD static void dx_leaf(const struct channel_job *job, const struct channel_unit *unit,
                         float (*restrict pattern)[MAX_WIDTH], float (*restrict sum)[MAX_WIDTH]) {
    (void)sum;
    if (job->relu)
        dx_rows(job, unit, (const float(*)[MAX_WIDTH])pattern, true);
    else
        dx_rows(job, unit, (const float(*)[MAX_WIDTH])pattern, false);
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
