/* Pooling in plain, channels-last and blocked layouts alike: every element of the pooled image has
 * a window, a rectangle of the image. A row of the pooled image is cut into runs of up to 16
 * elements whose windows look the same, `step` elements apart: lanes of one place, or, in the plain
 * layout, neighbours. */
#ifndef NEAP_BACKEND_CPU_WINDOWS_H
#define NEAP_BACKEND_CPU_WINDOWS_H

#include "backend/cpu/view.h"
#include "backend/kernel.h"

enum { MAX_RUN = 16 };

/* A window along one axis: image places begin ≤ i < end; kernel place 0 is image place `start`. */
struct window_span {
    int32_t start, begin, end;
    float scale; /* of a mean: the axis's factor */
};

struct windows {
    struct channel_view image, pooled;
    int64_t step;               /* image columns from one window to the next; 0: uneven */
    struct window_span spans[]; /* rows of the pooled image, then its columns */
};

struct window_run {
    int64_t image, pooled; /* where the first window and its element lie */
    int64_t origin;        /* where the window would start without the image's edge */
    int64_t n, step;       /* elements, and how far apart their windows are */
    int64_t rows, columns, row_stride, column_stride;
    int64_t first_row, first_column; /* kernel place of the window's first */
    float scale;
};

/* Rooms the spans; `image` is the large one, both in the layout of the image. False where it is
 * none of the three. */
MUST_USE neap_error *windows_create(const struct value *image, const struct value *pooled,
                                    struct windows **out);

/* Wants one of the three layouts for all inputs and outputs: that of input `leader`;
 * fp32, or, in the second, one real type. */
const char *windows_negotiate(const struct kernel_site *site, struct kernel_layouts *want,
                              uint32_t leader);
const char *windows_negotiate_real(const struct kernel_site *site, struct kernel_layouts *want,
                                   uint32_t leader);

/* How many elements from column `at` on have windows that look the same (plain layout). */
int64_t windows_alike(const struct windows *w, int64_t at);

/* Calls `body` for the runs of one row of one plane (batch × blocks). Inlined, so that the caller's
 * instruction set and body make one loop. */
static inline __attribute__((always_inline)) void windows_row(
    const struct windows *w, int64_t plane, int64_t row,
    void (*body)(const void *context, const struct window_run *run), const void *context) {
    const struct channel_view *image = &w->image, *pooled = &w->pooled;
    int64_t lanes = image->lanes;
    int64_t channels = image->channels - plane % image->blocks * lanes;
    if (channels > lanes)
        channels = lanes;
    const struct window_span *y = &w->spans[row], *x = &w->spans[pooled->height];
    struct window_run run = {.rows = y->end - y->begin,
                             .row_stride = image->width * lanes,
                             .column_stride = lanes,
                             .first_row = y->begin - y->start};
    int64_t image_row = plane * image->space + y->begin * image->width;
    int64_t origin_row = plane * image->space + y->start * image->width;
    int64_t pooled_row = plane * pooled->space + row * pooled->width;
    for (int64_t column = 0, alike = 1; column < pooled->width; column += alike) {
        const struct window_span *span = &x[column];
        run.columns = span->end - span->begin;
        run.first_column = span->begin - span->start;
        run.scale = y->scale * span->scale;
        if (lanes == 1)
            alike = windows_alike(w, column);
        for (int64_t lane = 0; lane < channels; lane += MAX_RUN) {
            run.step = lanes == 1 ? w->step : 1;
            run.n = lanes == 1 ? alike : channels - lane < MAX_RUN ? channels - lane : MAX_RUN;
            run.image = (image_row + span->begin) * lanes + lane;
            run.origin = (origin_row + span->start) * lanes + lane;
            run.pooled = (pooled_row + column) * lanes + lane;
            body(context, &run);
        }
    }
}

/* The padded lanes of a pooled row, all bytes zero: `bytes` an element. */
void windows_clear_padding(const struct windows *w, int64_t plane, int64_t row, void *pooled,
                           size_t bytes);

#endif
