/* The gradients of a depthwise convolution's weight and bias.
 *
 *   dw[k][l] = Σ x[s p − pad + d k][s q − pad + d l] dy[p][q]     db = Σ dy     over places,
 * samples
 *
 * A row of dy meets the row of x that a row of the filter reads: as many sums as the filter is wide
 * stay in registers. Sums run in float over a strip of a plane and in double over those; a block's
 * samples are in pieces whose number depends on shapes alone, so that threads do not matter. */
#include <string.h>

#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/depthwise_cpu.h"

enum { PIECES = 32, MAX_SUMS = MAX_ROWS * MAX_KERNEL + 1 }; /* one for the bias */

struct state {
    struct depthwise d;
    int64_t pieces; /* of the batch */
    int64_t n_sums; /* of a channel */
};

/* n places of a row of dy and what they meet; steps are in elements. */
struct row {
    const float *x, *dy;
    int64_t n, x_step, tap_step;
};

/* sums[l] += Σ x[q + l] dy[q]: in two halves where they are few, to keep the adders busy. */
#define ROW(VECTOR)                                                                                \
    static inline __attribute__((always_inline)) void row_##VECTOR(const struct row *r,            \
                                                                   const int width, float *sums) { \
        const int lanes = sizeof(VECTOR) / sizeof(float);                                          \
        VECTOR even[MAX_KERNEL] = {{0}}, odd[MAX_KERNEL] = {{0}};                                  \
        const float *x = r->x, *dy = r->dy;                                                        \
        int64_t q = 0;                                                                             \
        for (; q + 1 < r->n; q += 2, x += 2 * r->x_step, dy += 2 * lanes) {                        \
            VECTOR here = *(const VECTOR *)dy, next = *(const VECTOR *)(dy + lanes);               \
            for (int l = 0; l < width; l++) {                                                      \
                even[l] += *(const VECTOR *)(x + l * r->tap_step) * here;                          \
                odd[l] += *(const VECTOR *)(x + r->x_step + l * r->tap_step) * next;               \
            }                                                                                      \
        }                                                                                          \
        if (q < r->n)                                                                              \
            for (int l = 0; l < width; l++)                                                        \
                even[l] += *(const VECTOR *)(x + l * r->tap_step) * *(const VECTOR *)dy;           \
        for (int l = 0; l < width; l++)                                                            \
            *(VECTOR *)(sums + l * lanes) += even[l] + odd[l];                                     \
    }                                                                                              \
    SIMD static void row3_##VECTOR(const struct row *r, float *sums) {                             \
        row_##VECTOR(r, 3, sums);                                                                  \
    }                                                                                              \
    SIMD static void row5_##VECTOR(const struct row *r, float *sums) {                             \
        row_##VECTOR(r, 5, sums);                                                                  \
    }                                                                                              \
    SIMD static void row7_##VECTOR(const struct row *r, float *sums) {                             \
        row_##VECTOR(r, 7, sums);                                                                  \
    }
ROW(lanes8)
ROW(lanes16)

typedef void row_fn(const struct row *r, float *sums);

static row_fn *row_of(const struct depthwise *d) {
    static row_fn *const rows[][2] = {
        [3] = {row3_lanes8, row3_lanes16},
        [5] = {row5_lanes8, row5_lanes16},
        [7] = {row7_lanes8, row7_lanes16},
    };
    return rows[d->c.kernel[1]][d->lanes == 16];
}

SIMD static void add_places(const float *dy, int64_t n, int64_t lanes, float *sum) {
    for (int64_t q = 0; q < n; q++)
        for (int64_t lane = 0; lane < lanes; lane++)
            sum[lane] += dy[q * lanes + lane];
}

struct call {
    const struct state *s;
    const float *x, *dy;
    double *partials; /* pieces of blocks, a block's being pieces × n_sums × lanes */
    float *dw, *db;
};

/* Adds a strip of a plane, from column `first` of dy on. */
static void add_strip(const struct call *call, int64_t plane, int64_t first, float *sums) {
    const struct depthwise *d = &call->s->d;
    const struct conv2d_geometry *c = &d->c;
    int64_t left = c->output[1] - first, n = left < STRIP ? left : STRIP;
    float fetched[MAX_ROWS][MAX_COLUMNS * MAX_LANES];
    struct strip_rows rows = {
        .rows = fetched,
        .plane = call->x + plane * c->input[0] * c->input[1] * d->lanes,
        .width = c->input[1],
        .lanes = d->lanes,
        .first = first * c->stride[1] - c->padding[1],
        .n = (n - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1,
    };
    struct row row = {.dy = call->dy + (plane * c->output[0] * c->output[1] + first) * d->lanes,
                      .n = n,
                      .x_step = c->stride[1] * d->lanes,
                      .tap_step = c->dilation[1] * d->lanes};
    row_fn *add_row = row_of(d);
    for (int64_t p = 0; p < c->output[0]; p++, row.dy += c->output[1] * d->lanes) {
        int64_t top = p * c->stride[0] - c->padding[0];
        int64_t last = top + (c->kernel[0] - 1) * c->dilation[0];
        strip_rows_fetch(&rows, last < c->input[0] ? last : c->input[0] - 1);
        for (int64_t k = 0; k < c->kernel[0]; k++) {
            int64_t h = top + k * c->dilation[0];
            if (h < 0 || h >= c->input[0])
                continue;
            row.x = strip_row(&rows, h);
            add_row(&row, sums + k * c->kernel[1] * d->lanes);
        }
        if (d->bias)
            add_places(row.dy, n, d->lanes, sums + (call->s->n_sums - 1) * d->lanes);
    }
}

/* One piece of one block's samples. */
static void add_piece(const struct call *call, int64_t block, int64_t piece) {
    const struct state *s = call->s;
    int64_t n = s->n_sums * s->d.lanes, batch = s->d.c.batch;
    double whole[MAX_SUMS * MAX_LANES];
    float sums[MAX_SUMS * MAX_LANES];
    memset(whole, 0, (size_t)n * sizeof *whole);
    for (int64_t i = batch * piece / s->pieces; i < batch * (piece + 1) / s->pieces; i++)
        for (int64_t strip = 0; strip < s->d.strips; strip++) {
            memset(sums, 0, (size_t)n * sizeof *sums);
            add_strip(call, i * s->d.blocks + block, strip * STRIP, sums);
            for (int64_t k = 0; k < n; k++)
                whole[k] += (double)sums[k];
        }
    memcpy(call->partials + (block * s->pieces + piece) * n, whole, (size_t)n * sizeof *whole);
}

static void add_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    for (int64_t i = begin; i < end; i++)
        add_piece(call, i / call->s->pieces, i % call->s->pieces);
}

/* A block's pieces, added up in their order. The bias has no padded lanes. */
static void finish_block(const struct call *call, int64_t block) {
    const struct state *s = call->s;
    int64_t lanes = s->d.lanes, n = s->n_sums * lanes, n_weights = n - s->d.bias * lanes;
    double sums[MAX_SUMS * MAX_LANES];
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t piece = 0; piece < s->pieces; piece++)
        for (int64_t k = 0; k < n; k++)
            sums[k] += call->partials[(block * s->pieces + piece) * n + k];
    for (int64_t k = 0; k < n_weights; k++)
        call->dw[block * n_weights + k] = (float)sums[k];
    for (int64_t k = n_weights; k < n; k++)
        if (block * lanes + k - n_weights < s->d.c.out_channels)
            call->db[block * lanes + k - n_weights] = (float)sums[k];
}

static void finish_range(const void *context, int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; block++)
        finish_block(context, block);
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct state *s = state;
    const struct call call = {s,
                              launch->in[0],
                              launch->in[1],
                              launch->scratch,
                              launch->out[0],
                              s->d.bias ? launch->out[1] : NULL};
    parallel_for(s->d.blocks * s->pieces, 1, add_range, &call);
    parallel_for(s->d.blocks, 4, finish_range, &call);
    return NULL;
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    struct state *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->d = depthwise_of(site, node_input(site->g, site->node, 1)->shape.dim[3]);
    s->pieces = (PIECES + s->d.blocks - 1) / s->d.blocks;
    if (s->pieces > s->d.c.batch)
        s->pieces = s->d.c.batch;
    s->n_sums = s->d.c.kernel[0] * s->d.c.kernel[1] + s->d.bias;
    *scratch_bytes = (size_t)(s->d.blocks * s->pieces * s->n_sums * s->d.lanes) * sizeof(double);
    *state = s;
    return NULL;
}

const struct kernel kernel_depthwise_backward_weight_cpu = {
    .name = "depthwise_backward_weight:cpu",
    .op = &op_conv2d_backward_weight,
    .negotiate = depthwise_negotiate,
    .create = create,
    .run = run,
};
