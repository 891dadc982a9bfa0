/* Max pooling and its backward, windows of 16 elements at a time. Backward scatters: each plane of
 * the image belongs to one thread, which adds in the order of the pooled image. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/parallel.h"
#include "backend/cpu/real.h"
#include "backend/cpu/windows.h"
#include "base/simd.h"
#include "ops/pool2d.h"

struct state {
    struct windows *windows;
    int64_t kernel_width;
    enum dtype dtype;
    bool indexed;
    int64_t place[MAX_POOL2D_AREA + 1]; /* of a kernel place, from the window's origin */
};

struct call {
    const struct state *state;
    enum dtype dtype;
    const void *from;
    void *to;
    uint8_t *index; /* or NULL */
};

static neap_error *create_state(const struct kernel_site *site, bool backward, void **state) {
    const struct node *node = site->node;
    const struct value *first = node_input(site->g, node, 0), *out = node_output(site->g, node, 0);
    struct pool2d_geometry p = pool2d_geometry_of(node->attrs, first->shape, backward);
    struct state *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    *state = s;
    TRY(windows_create(backward ? out : first, backward ? first : out, &s->windows));
    struct windows *w = s->windows;
    w->step = p.stride[1];
    for (int axis = 0, at = 0; axis < 2; axis++)
        for (int64_t o = 0; o < p.output[axis]; o++) {
            struct pool2d_window window = pool2d_window_at(&p, axis, o);
            w->spans[at++] = (struct window_span){(int32_t)window.start, (int32_t)window.begin,
                                                  (int32_t)window.end, 1};
        }
    s->kernel_width = p.kernel[1];
    s->dtype = first->dtype;
    s->indexed = node->n_outputs > 1;
    for (int64_t k = 0; k < p.kernel[0] * p.kernel[1]; k++)
        s->place[k] = (k / p.kernel[1] * w->image.width + k % p.kernel[1]) * w->image.lanes;
    return NULL;
}

static void destroy(void *state) {
    struct state *s = state;
    if (s)
        free(s->windows);
    free(s);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* n and step are constants where the caller's are: the loops over n are then a vector each. */
REAL_INLINE void largest(enum dtype type, const struct call *call, const struct window_run *run,
                         int64_t n, int64_t step) {
    int32_t where[MAX_RUN];
    float best[MAX_RUN];
    int64_t kernel_width = call->state->kernel_width;
    int32_t first = (int32_t)(run->first_row * kernel_width + run->first_column);
    for (int64_t k = 0; k < n; k++) {
        best[k] = -INFINITY;
        where[k] = first;
    }
    for (int64_t row = 0; row < run->rows; row++)
        for (int64_t column = 0; column < run->columns; column++) {
            int64_t at = run->image + row * run->row_stride + column * run->column_stride;
            int32_t place = first + (int32_t)(row * kernel_width + column);
#pragma omp simd
            for (int64_t k = 0; k < n; k++) {
                float value = real_load(type, call->from, at + k * step);
                bool better = (value > best[k]) | (value != value); /* or not a number */
                best[k] = better ? value : best[k];
                where[k] = better ? place : where[k];
            }
        }
    for (int64_t k = 0; k < n; k++)
        real_store(type, call->to, run->pooled + k, best[k]);
    for (int64_t k = 0; call->index && k < n; k++)
        call->index[run->pooled + k] = (uint8_t)where[k];
}

REAL_INLINE void forward_run_of(enum dtype type, const struct call *call,
                                const struct window_run *run) {
    if (run->step == 1 && run->n == 16)
        largest(type, call, run, 16, 1);
    else if (run->step == 1 && run->n == 8)
        largest(type, call, run, 8, 1);
    else if (run->step == 2 && run->n == 16)
        largest(type, call, run, 16, 2);
    else
        largest(type, call, run, run->n, run->step);
}

REAL_INLINE void forward_body(const void *context, const struct window_run *run) {
    const struct call *call = context;
    WITH_REAL(call->dtype, forward_run_of, call, run);
}

/* Rows of all planes. */
SIMD static void forward_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    const struct windows *w = call->state->windows;
    for (int64_t i = begin; i < end; i++) {
        int64_t plane = i / w->pooled.height, row = i % w->pooled.height;
        windows_row(w, plane, row, forward_body, call);
        windows_clear_padding(w, plane, row, call->to, real_bytes(call->dtype));
        if (call->index)
            windows_clear_padding(w, plane, row, call->index, 1);
    }
}

static const char *forward_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    return windows_negotiate_real(site, want, 0);
}

static neap_error *forward_create(const struct kernel_site *site, void **state,
                                  size_t *scratch_bytes) {
    (void)scratch_bytes;
    return create_state(site, false, state);
}

static neap_error *forward_run(void *state, const struct launch *launch) {
    const struct state *s = state;
    const struct channel_view *p = &s->windows->pooled;
    parallel_for(p->batch * p->blocks * p->height, 4096 / (p->width * p->lanes) + 1, forward_range,
                 &(struct call){s, s->dtype, launch->in[0], launch->out[0],
                                s->indexed ? launch->out[1] : NULL});
    return NULL;
}

const struct kernel kernel_max_pool2d_cpu = {
    .name = "max_pool2d:cpu",
    .op = &op_max_pool2d,
    .negotiate = forward_negotiate,
    .create = forward_create,
    .run = forward_run,
    .destroy = destroy,
};

/* ---- backward: inputs dy, index, in fp32: sums of 16 bits would round again and again
 * -------------------------------------------------------------- */

static inline __attribute__((always_inline)) void backward_body(const void *context,
                                                                const struct window_run *run) {
    const struct call *call = context;
    const float *dy = (const float *)call->from + run->pooled;
    const uint8_t *index = call->index + run->pooled;
    float *dx = call->to;
    for (int64_t k = 0; k < run->n; k++)
        dx[run->origin + k * run->step + call->state->place[index[k]]] += dy[k];
}

static void backward_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    const struct windows *w = call->state->windows;
    int64_t elements = w->image.space * w->image.lanes;
    for (int64_t plane = begin; plane < end; plane++) {
        memset((float *)call->to + plane * elements, 0, (size_t)elements * sizeof(float));
        for (int64_t row = 0; row < w->pooled.height; row++)
            windows_row(w, plane, row, backward_body, call);
    }
}

/* The index cannot be reordered: the gradient takes its layout. */
static const char *backward_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    return windows_negotiate(site, want, 1);
}

static neap_error *backward_create(const struct kernel_site *site, void **state,
                                   size_t *scratch_bytes) {
    (void)scratch_bytes;
    return create_state(site, true, state);
}

static neap_error *backward_run(void *state, const struct launch *launch) {
    const struct state *s = state;
    const struct channel_view *image = &s->windows->image;
    parallel_for(image->batch * image->blocks, 4096 / (image->space * image->lanes) + 1,
                 backward_range,
                 &(struct call){s, DTYPE_F32, launch->in[0], launch->out[0], launch->in[1]});
    return NULL;
}

const struct kernel kernel_max_pool2d_backward_cpu = {
    .name = "max_pool2d_backward:cpu",
    .op = &op_max_pool2d_backward,
    .negotiate = backward_negotiate,
    .create = backward_create,
    .run = backward_run,
    .destroy = destroy,
};
