/* Batch norm's forward ops at the speed of memory: statistics read x once, apply once.
 *
 * Statistics are sums of d = x − shift and d², the shift being near the mean, in float for a few
 * hundred values and in double from there on: mean = shift + Σd/n, var = Σd²/n − (Σd/n)², without
 * the cancellation that Σx² suffers from. */
#include "ops/batch_norm_cpu.h"

#include <string.h>

#include "backend/cpu/elementwise.h"
#include "base/simd.h"

/* ---- shared with backward ------------------------------------------------------------------- */

/* Numbers per channel are plain; activations have x's layout, or are plain where it is none of the
 * three. */
const char *batch_norm_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    struct value x = *node_input(site->g, node, 0);
    struct channel_units units;
    x.layout = want->in[0];
    if (!channel_units_of(&x, &units))
        x.layout = (struct layout){0};
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node_has_input(node, i))
            want->in[i] =
                node_input(site->g, node, i)->shape.rank == 1 ? (struct layout){0} : x.layout;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        want->out[i] =
            node_output(site->g, node, i)->shape.rank == 1 ? (struct layout){0} : x.layout;
    return real_negotiate(site);
}

neap_error *batch_norm_create(const struct kernel_site *site, int n_tables, bool sums,
                              struct batch_norm_state **out, size_t *scratch_bytes) {
    const struct value *x = node_input(site->g, site->node, 0);
    struct batch_norm_state *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    channel_units_of(x, &s->units);
    s->attrs = site->node->attrs;
    s->n_out = site->node->n_outputs;
    s->n_elements = layout_elements(x->layout, x->shape);
    s->dtype = x->dtype;
    s->n_tables = n_tables;
    int64_t doubles = sums ? N_SUMS * s->units.padded_channels + channels_partials(&s->units) : 0;
    *scratch_bytes = (size_t)doubles * sizeof(double) +
                     (size_t)(n_tables * s->units.padded_channels) * sizeof(float);
    *out = s;
    return NULL;
}

struct batch_norm_scratch batch_norm_scratch_of(const struct batch_norm_state *s, void *scratch,
                                                bool sums, struct channel_job *job) {
    struct batch_norm_scratch at = {.sums = scratch};
    int64_t channels = s->units.padded_channels;
    int64_t doubles = sums ? N_SUMS * channels + channels_partials(&s->units) : 0;
    float *tables = (float *)((double *)scratch + doubles);
    at.partials = at.sums + N_SUMS * channels;
    memset(tables, 0, (size_t)(s->n_tables * channels) * sizeof *tables);
    job->dtype = s->dtype;
    job->n_tables = s->n_tables;
    for (int t = 0; t < s->n_tables; t++)
        job->table[t] = at.table[t] = tables + t * channels;
    return at;
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* Four rows at a time, so that the sums are loaded and stored once for four. */
REAL_INLINE void stats_rows(enum dtype type, const void *x, const struct channel_unit *unit,
                            const float *restrict shift, float *restrict s0, float *restrict s1) {
    int64_t stride = unit->stride, row = 0, at = unit->offset;
    for (; row + 4 <= unit->rows; row += 4, at += 4 * stride)
#pragma omp simd
        for (int64_t k = 0; k < unit->width; k++) {
            float a = real_load(type, x, at + k) - shift[k];
            float b = real_load(type, x, at + stride + k) - shift[k];
            float c = real_load(type, x, at + 2 * stride + k) - shift[k];
            float d = real_load(type, x, at + 3 * stride + k) - shift[k];
            s0[k] += (a + b) + (c + d);
            s1[k] += (a * a + b * b) + (c * c + d * d);
        }
    for (; row <= unit->rows; row++, at += stride) {
        int64_t n = row < unit->rows ? unit->width : unit->tail;
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            float a = real_load(type, x, at + k) - shift[k];
            s0[k] += a;
            s1[k] += a * a;
        }
    }
}

SIMD static void stats_leaf(const struct channel_job *job, const struct channel_unit *unit,
                            float (*restrict pattern)[MAX_WIDTH],
                            float (*restrict sum)[MAX_WIDTH]) {
    WITH_REAL(job->dtype, stats_rows, job->in[0], unit, pattern[0], sum[0], sum[1]);
}

static neap_error *stats_create(const struct kernel_site *site, void **state,
                                size_t *scratch_bytes) {
    struct batch_norm_state *s;
    TRY(batch_norm_create(site, 1, true, &s, scratch_bytes));
    *state = s;
    return NULL;
}

static neap_error *stats_run(void *state, const struct launch *launch) {
    const struct batch_norm_state *s = state;
    struct channel_job job = {.leaf = stats_leaf, .in = {launch->in[0]}};
    struct batch_norm_scratch at = batch_norm_scratch_of(s, launch->scratch, true, &job);
    float *mean = launch->out[0], *var = launch->out[1];
    double count = (double)s->units.count;
    channels_estimate(&s->units, s->dtype, launch->in[0], at.table[0]);
    channels_sum(&s->units, &job, at.partials, at.sums);
    for (int64_t c = 0; c < s->units.channels; c++) {
        double shifted = at.sums[c] / count;
        double v = at.sums[s->units.padded_channels + c] / count - shifted * shifted;
        mean[c] = (float)((double)at.table[0][c] + shifted);
        var[c] = v < 0 ? 0 : (float)v; /* NaN stays NaN */
    }
    return NULL;
}

const struct kernel kernel_batch_norm_stats_cpu = {
    .name = "batch_norm_stats:cpu",
    .op = &op_batch_norm_stats,
    .negotiate = batch_norm_negotiate,
    .create = stats_create,
    .run = stats_run,
};

/* ---- running statistics --------------------------------------------------------------------- */

static neap_error *running_run(void *state, const struct launch *launch) {
    const struct elementwise *s = state;
    const struct batch_norm_attrs *a = s->attrs;
    double unbiased = (double)a->count / (double)(a->count - 1);
    for (int i = 0; i < 2; i++) {
        const float *now = launch->in[i];
        float *running = launch->up[i];
        for (int64_t c = 0; c < s->n; c++)
            running[c] = (float)((1 - a->momentum) * (double)running[c] +
                                 a->momentum * ((double)now[c] * (i ? unbiased : 1)));
    }
    return NULL;
}

const struct kernel kernel_batch_norm_running_cpu = {
    .name = "batch_norm_running:cpu",
    .op = &op_batch_norm_running,
    .negotiate = elementwise_negotiate,
    .create = elementwise_create,
    .run = running_run,
};

/* ---- apply ---------------------------------------------------------------------------------- */

/* In place over x or the residual, element by element: nothing is carried between columns. */
REAL_INLINE void apply_rows(enum dtype type, const struct channel_job *job,
                            const struct channel_unit *unit, const float *a, const float *b,
                            bool residual, bool relu) {
    const void *x = job->in[0], *r = job->in[1];
    for (int64_t row = 0; row <= unit->rows; row++) {
        int64_t at = unit->offset + row * unit->stride;
        int64_t n = row < unit->rows ? unit->width : unit->tail;
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            float v = real_load(type, x, at + k) * a[k] + b[k];
            if (residual)
                v += real_load(type, r, at + k);
            real_store(type, job->out, at + k, relu && v < 0 ? 0 : v);
        }
    }
}

/* A call for each case, for the compiler to make a loop of each. */
REAL_INLINE void apply_unit(enum dtype type, const struct channel_job *job,
                            const struct channel_unit *unit, const float *a, const float *b) {
    if (job->in[1] && job->relu)
        apply_rows(type, job, unit, a, b, true, true);
    else if (job->in[1])
        apply_rows(type, job, unit, a, b, true, false);
    else if (job->relu)
        apply_rows(type, job, unit, a, b, false, true);
    else
        apply_rows(type, job, unit, a, b, false, false);
}

SIMD static void apply_leaf(const struct channel_job *job, const struct channel_unit *unit,
                            float (*restrict pattern)[MAX_WIDTH],
                            float (*restrict sum)[MAX_WIDTH]) {
    (void)sum;
    WITH_REAL(job->dtype, apply_unit, job, unit, pattern[0], pattern[1]);
}

static neap_error *apply_create(const struct kernel_site *site, void **state,
                                size_t *scratch_bytes) {
    struct batch_norm_state *s;
    TRY(batch_norm_create(site, 2, false, &s, scratch_bytes));
    s->residual = node_has_input(site->node, 5);
    *state = s;
    return NULL;
}

static neap_error *apply_run(void *state, const struct launch *launch) {
    const struct batch_norm_state *s = state;
    struct channel_job job = {.leaf = apply_leaf,
                              .in = {launch->in[0], s->residual ? launch->in[5] : NULL},
                              .out = launch->out[0],
                              .relu = s->attrs->relu};
    struct batch_norm_scratch at = batch_norm_scratch_of(s, launch->scratch, false, &job);
    batch_norm_scale_shift(s, launch->in + 1, at.table[0], at.table[1]);
    channels_each(&s->units, &job);
    if (s->n_out > 1)
        elementwise_mask(s->dtype, launch->out[0], s->n_elements, launch->out[1]);
    return NULL;
}

const struct kernel kernel_batch_norm_apply_cpu = {
    .name = "batch_norm_apply:cpu",
    .op = &op_batch_norm_apply,
    .negotiate = batch_norm_negotiate,
    .create = apply_create,
    .run = apply_run,
};
