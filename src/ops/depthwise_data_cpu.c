/* The gradient of a depthwise convolution's input. A row of it is gathered: of every s-th place, s
 * being the stride, the same taps of the filter are read, each from a row of dy that is followed
 * place by place.
 *
 *   dx[h][w] = Σ dy[(h + pad − k d) / s][(w + pad − l d) / s] w[k][l]   where both divide */
#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/depthwise_cpu.h"

enum { MAX_TAPS = MAX_ROWS * MAX_KERNEL };

/* Output i of a row is Σ taps dy[i places on] × w. */
struct taps {
    const float *dy[MAX_TAPS], *w[MAX_TAPS];
    int n;
    float *dx;
    int64_t n_outputs, step; /* elements from one output to the next */
};

/* `n` outputs from output `at` on, summed side by side: n is a constant where the caller's is. */
#define GATHER(VECTOR)                                                                             \
    static inline __attribute__((always_inline)) void gather_##VECTOR(const struct taps *t,        \
                                                                      int64_t at, const int n) {   \
        const int lanes = sizeof(VECTOR) / sizeof(float);                                          \
        VECTOR sum[8] = {{0}};                                                                     \
        for (int i = 0; i < t->n; i++) {                                                           \
            const float *dy = t->dy[i] + at * lanes;                                               \
            VECTOR w = *(const VECTOR *)t->w[i];                                                   \
            for (int k = 0; k < n; k++)                                                            \
                sum[k] += *(const VECTOR *)(dy + k * lanes) * w;                                   \
        }                                                                                          \
        for (int k = 0; k < n; k++)                                                                \
            *(VECTOR *)(t->dx + (at + k) * t->step) = sum[k];                                      \
    }                                                                                              \
    SIMD static void gather_row_##VECTOR(const struct taps *t) {                                   \
        int64_t at = 0;                                                                            \
        for (; at + 8 <= t->n_outputs; at += 8)                                                    \
            gather_##VECTOR(t, at, 8);                                                             \
        for (; at + 4 <= t->n_outputs; at += 4)                                                    \
            gather_##VECTOR(t, at, 4);                                                             \
        for (; at < t->n_outputs; at++)                                                            \
            gather_##VECTOR(t, at, 1);                                                             \
    }
GATHER(lanes8)
GATHER(lanes16)

struct call {
    const struct depthwise *d;
    const float *dy, *w;
    float *dx;
};

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* The taps of places first, first + s, … of row h, dy's columns counted from rows->first. */
static void collect(const struct depthwise *d, const struct strip_rows *rows, const float *w,
                    int64_t h, int64_t first, struct taps *t) {
    const struct conv2d_geometry *c = &d->c;
    t->n = 0;
    for (int64_t k = 0; k < c->kernel[0]; k++) {
        int64_t row = h + c->padding[0] - k * c->dilation[0];
        if (row < 0 || row % c->stride[0] || row / c->stride[0] >= c->output[0])
            continue;
        for (int64_t l = 0; l < c->kernel[1]; l++) {
            int64_t column = first + c->padding[1] - l * c->dilation[1];
            if (column % c->stride[1])
                continue;
            column = column / c->stride[1] - rows->first;
            t->dy[t->n] = strip_row(rows, row / c->stride[0]) + column * d->lanes;
            t->w[t->n++] = w + (k * c->kernel[1] + l) * d->lanes;
        }
    }
}

static void strip(const struct call *call, int64_t plane, int64_t first) {
    const struct depthwise *d = call->d;
    const struct conv2d_geometry *c = &d->c;
    int64_t end = first + STRIP < c->input[1] ? first + STRIP : c->input[1];
    int64_t reach = (c->kernel[1] - 1) * c->dilation[1];
    float fetched[MAX_ROWS][MAX_COLUMNS * MAX_LANES];
    struct strip_rows rows = {
        .rows = fetched,
        .plane = call->dy + plane * c->output[0] * c->output[1] * d->lanes,
        .width = c->output[1],
        .lanes = d->lanes,
        .first = floor_divide(first + c->padding[1] - reach, c->stride[1]),
    };
    struct taps taps = {.step = c->stride[1] * d->lanes};
    const float *w = call->w + plane % d->blocks * c->kernel[0] * c->kernel[1] * d->lanes;
    float *dx = call->dx + plane * c->input[0] * c->input[1] * d->lanes;
    rows.n = floor_divide(end - 1 + c->padding[1], c->stride[1]) - rows.first + 1;
    for (int64_t h = 0; h < c->input[0]; h++) {
        int64_t last = (h + c->padding[0]) / c->stride[0];
        strip_rows_fetch(&rows, last < c->output[0] ? last : c->output[0] - 1);
        for (int64_t column = first; column < end && column < first + c->stride[1]; column++) {
            collect(d, &rows, w, h, column, &taps);
            taps.dx = dx + (h * c->input[1] + column) * d->lanes;
            taps.n_outputs = (end - column - 1) / c->stride[1] + 1;
            (d->lanes == 8 ? gather_row_lanes8 : gather_row_lanes16)(&taps);
        }
    }
}

static void range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    for (int64_t i = begin; i < end; i++)
        strip(call, i / call->d->strips, i % call->d->strips * STRIP);
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct depthwise *d = state;
    parallel_for(d->c.batch * d->blocks * d->strips, 1, range,
                 &(struct call){d, launch->in[0], launch->in[1], launch->out[0]});
    return NULL;
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    struct depthwise *d;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *d, &d));
    *d = depthwise_of(site, node_output(site->g, site->node, 0)->shape.dim[3]);
    *state = d;
    return NULL;
}

const struct kernel kernel_depthwise_backward_data_cpu = {
    .name = "depthwise_backward_data:cpu",
    .op = &op_conv2d_backward_data,
    .negotiate = depthwise_negotiate,
    .create = create,
    .run = run,
};
