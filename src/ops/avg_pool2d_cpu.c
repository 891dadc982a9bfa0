/* Mean pooling and its backward, windows of 16 elements at a time. Backward scatters: each plane of
 * the image belongs to one thread, which adds in the order of the pooled image. */
#include "ops/avg_pool2d_cpu.h"

#include <string.h>

#include "backend/cpu/parallel.h"
#include "base/simd.h"
#include "ops/pool2d.h"

struct call {
    const struct windows *windows;
    const float *from;
    float *to;
};

const char *window_mean_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    return windows_negotiate(site, want, 0);
}

/* As the image lies, where that is one of the three: what reads the gradient lies so too, and of
 * the two the pooled side is the cheaper one to reorder. */
const char *window_mean_backward_negotiate(const struct kernel_site *site,
                                           struct kernel_layouts *want) {
    value_id image = node_output(site->g, site->node, 0)->of;
    struct channel_view view;
    if (image != ID_NONE && channel_view_of(graph_value(site->g, image), &view))
        want->in[0] = graph_value(site->g, image)->layout;
    return windows_negotiate(site, want, 0);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Rows are added up one by one, then together: errors stay small in large windows. */
static inline void mean(const struct call *call, const struct window_run *run, int64_t n,
                        int64_t step) {
    float sum[MAX_RUN] = {0};
    for (int64_t row = 0; row < run->rows; row++) {
        float part[MAX_RUN] = {0};
        const float *x = call->from + run->image + row * run->row_stride;
        for (int64_t column = 0; column < run->columns; column++, x += run->column_stride)
            for (int64_t k = 0; k < n; k++)
                part[k] += x[k * step];
        for (int64_t k = 0; k < n; k++)
            sum[k] += part[k];
    }
    for (int64_t k = 0; k < n; k++)
        call->to[run->pooled + k] = sum[k] * run->scale;
}

static inline __attribute__((always_inline)) void forward_body(const void *context,
                                                               const struct window_run *run) {
    if (run->step == 1 && run->n == 16)
        mean(context, run, 16, 1);
    else if (run->step == 1 && run->n == 8)
        mean(context, run, 8, 1);
    else
        mean(context, run, run->n, run->step);
}

SIMD static void forward_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    const struct windows *w = call->windows;
    for (int64_t i = begin; i < end; i++) {
        int64_t plane = i / w->pooled.height, row = i % w->pooled.height;
        windows_row(w, plane, row, forward_body, call);
        windows_clear_padding(w, plane, row, call->to, sizeof *call->to);
    }
}

neap_error *window_mean_run(void *state, const struct launch *launch) {
    const struct windows *w = state;
    const struct channel_view *p = &w->pooled;
    int64_t covered = w->image.space / p->space + 1; /* elements of a window, about */
    parallel_for(p->batch * p->blocks * p->height, 4096 / (p->width * p->lanes * covered) + 1,
                 forward_range, &(struct call){w, launch->in[0], launch->out[0]});
    return NULL;
}

/* ---- backward -------------------------------------------------------------------------------- */

static inline void spread(const struct call *call, const struct window_run *run, int64_t n) {
    const float *dy = call->from + run->pooled;
    float *dx = call->to + run->image, part[MAX_RUN];
    for (int64_t k = 0; k < n; k++)
        part[k] = dy[k] * run->scale;
    for (int64_t row = 0; row < run->rows; row++)
        for (int64_t column = 0; column < run->columns; column++)
            for (int64_t k = 0; k < n; k++)
                dx[row * run->row_stride + column * run->column_stride + k * run->step] += part[k];
}

static inline __attribute__((always_inline)) void backward_body(const void *context,
                                                                const struct window_run *run) {
    struct window_run dense = *run;
    dense.step = 1;
    if (run->step == 1 && run->n == 16)
        spread(context, &dense, 16);
    else if (run->step == 1 && run->n == 8)
        spread(context, &dense, 8);
    else
        spread(context, run, run->n);
}

SIMD static void backward_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    const struct windows *w = call->windows;
    int64_t elements = w->image.space * w->image.lanes;
    for (int64_t plane = begin; plane < end; plane++) {
        memset(call->to + plane * elements, 0, (size_t)elements * sizeof *call->to);
        for (int64_t row = 0; row < w->pooled.height; row++)
            windows_row(w, plane, row, backward_body, call);
    }
}

neap_error *window_mean_backward_run(void *state, const struct launch *launch) {
    const struct windows *w = state;
    parallel_for(w->image.batch * w->image.blocks, 4096 / (w->image.space * w->image.lanes) + 1,
                 backward_range, &(struct call){w, launch->in[0], launch->out[0]});
    return NULL;
}

/* ---- avg_pool2d ------------------------------------------------------------------------------ */

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct pool2d_attrs *a = node->attrs;
    const struct value *first = node_input(site->g, node, 0), *out = node_output(site->g, node, 0);
    bool backward = node->op == &op_avg_pool2d_backward;
    struct pool2d_geometry p = pool2d_geometry_of(a, first->shape, backward);
    struct windows *w;
    (void)scratch_bytes;
    TRY(windows_create(backward ? out : first, backward ? first : out, &w));
    w->step = p.stride[1];
    for (int axis = 0, at = 0; axis < 2; axis++)
        for (int64_t o = 0; o < p.output[axis]; o++) {
            struct pool2d_window window = pool2d_window_at(&p, axis, o);
            int64_t divisor = a->count_include_pad ? window.divided : window.end - window.begin;
            w->spans[at++] = (struct window_span){(int32_t)window.start, (int32_t)window.begin,
                                                  (int32_t)window.end, 1 / (float)divisor};
        }
    *state = w;
    return NULL;
}

const struct kernel kernel_avg_pool2d_cpu = {
    .name = "avg_pool2d:cpu",
    .op = &op_avg_pool2d,
    .negotiate = window_mean_negotiate,
    .create = create,
    .run = window_mean_run,
};

const struct kernel kernel_avg_pool2d_backward_cpu = {
    .name = "avg_pool2d_backward:cpu",
    .op = &op_avg_pool2d_backward,
    .negotiate = window_mean_backward_negotiate,
    .create = create,
    .run = window_mean_backward_run,
};
