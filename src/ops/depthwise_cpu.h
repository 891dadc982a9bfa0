/* What the kernels of depthwise convolutions share: one filter a channel, activations in nChw8c or
 * nChw16c, weights in the like Abcd8a or Abcd16a, so that a place's lanes and a filter's are one
 * vector each. Their forward, and most of their backward, is oneDNN's; these are for what it leaves
 * to its fallbacks: the data of dilated ones, and the weights of any but 3×3 undilated ones. */
#ifndef NEAP_OPS_DEPTHWISE_CPU_H
#define NEAP_OPS_DEPTHWISE_CPU_H

#include "backend/kernel.h"
#include "ops/conv2d.h"

/* A place's lanes, wherever they lie. */
typedef float lanes8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float lanes16 __attribute__((vector_size(64), aligned(4), may_alias));

enum {
    MAX_LANES = 16,
    MAX_KERNEL = 7,
    STRIP = 32, /* columns done at a time */
    MAX_ROWS = 13,
    MAX_COLUMNS = 76, /* of a strip's rows: kernels of 7 at dilation 2, stride 2 */
};

struct depthwise {
    struct conv2d_geometry c;
    int64_t lanes, blocks, strips; /* strips: of one row */
    bool bias;
};

/* Wants both activations, and the gradient or weight, in one kind of blocks; why not otherwise. */
const char *depthwise_negotiate(const struct kernel_site *site, struct kernel_layouts *want);
/* `columns`: of the image that is done in strips. */
struct depthwise depthwise_of(const struct kernel_site *site, int64_t columns);

/* The last few rows of a strip of a plane, with zeros where it reaches over the plane's sides. */
struct strip_rows {
    const float *plane;
    int64_t width, lanes;
    int64_t first, n;                       /* columns: the first may be negative */
    int64_t next;                           /* row to be fetched */
    float (*rows)[MAX_COLUMNS * MAX_LANES]; /* MAX_ROWS of them */
};

/* Fetches rows up to `last`, at most MAX_ROWS of which stay at hand. */
void strip_rows_fetch(struct strip_rows *s, int64_t last);
static inline const float *strip_row(const struct strip_rows *s, int64_t row) {
    return s->rows[row % MAX_ROWS];
}

#endif
