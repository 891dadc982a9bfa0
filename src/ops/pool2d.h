/* Attributes and geometry of max_pool2d, avg_pool2d and their backward ops: PyTorch's windows. */
#ifndef NEAP_OPS_POOL2D_H
#define NEAP_OPS_POOL2D_H

#include "ir/op.h"

struct pool2d_attrs {
    struct int_list kernel, stride, padding; /* h,w; empty stride: the kernel, empty padding: 0 */
    struct int_list input;                   /* backward: the input's h,w */
    bool ceil_mode;                          /* windows may hang over the far edge */
    bool count_include_pad;                  /* avg_pool2d: padding counts in the divisor */
};

/* A max pool's index is one byte: a window has at most this many places. */
enum { MAX_POOL2D_AREA = 255 };

struct pool2d_geometry {
    int64_t batch, channels;
    int64_t input[2], kernel[2], output[2], stride[2], padding[2];
};

/* The places of one window along one axis: input places begin ≤ i < end are kernel places
 * i − start; `divided` is the axis's factor in the divisor where padding counts. */
struct pool2d_window {
    int64_t start, begin, end, divided;
};
static inline struct pool2d_window pool2d_window_at(const struct pool2d_geometry *p, int axis,
                                                    int64_t output) {
    int64_t start = output * p->stride[axis] - p->padding[axis];
    int64_t end = start + p->kernel[axis], padded = p->input[axis] + p->padding[axis];
    return (struct pool2d_window){.start = start,
                                  .begin = start > 0 ? start : 0,
                                  .end = end < p->input[axis] ? end : p->input[axis],
                                  .divided = (end < padded ? end : padded) - start};
}

/* Of a node of the four ops; `image` is its first input's shape. */
struct pool2d_geometry pool2d_geometry_of(const struct pool2d_attrs *attrs, struct shape image,
                                          bool backward);

/* The outputs first ≤ o < end whose windows hold input place `at`. */
void pool2d_readers(const struct pool2d_geometry *p, int axis, int64_t at, int64_t *first,
                    int64_t *end);

/* For the ops' own files: the table of attributes, and what infer functions share. */
extern const struct attr_def pool2d_attr_table[];
/* Refuses impossible windows and sets output 0. */
MUST_USE neap_error *pool2d_infer(neap_graph *g, node_id id);
MUST_USE neap_error *pool2d_backward_infer(neap_graph *g, node_id id);

extern const struct op_def op_max_pool2d, op_max_pool2d_backward, op_avg_pool2d,
    op_avg_pool2d_backward;

#endif
