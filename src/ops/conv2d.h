/* Attributes and geometry of the 2-D convolutions, for their kernels. */
#ifndef NEAP_OPS_CONV2D_H
#define NEAP_OPS_CONV2D_H

#include "ir/op.h"

struct conv2d_attrs {
    struct int_list stride, padding, dilation; /* h,w; empty: 1, 0, 1 */
    struct int_list input;                     /* backward data: the input's h,w */
    struct int_list kernel;                    /* backward weight: the kernel's h,w */
    int64_t groups;
    bool relu; /* forward: y = max(…, 0) */
    bool bias; /* backward weight: also the bias's gradient */
};

/* All that the three convolutions are described by. */
struct conv2d_geometry {
    int64_t batch, groups;
    int64_t in_channels, out_channels;
    int64_t input[2], kernel[2], output[2], stride[2], padding[2], dilation[2];
};

/* Of a conv2d, conv2d_backward_data or conv2d_backward_weight node. */
void conv2d_geometry_of(const neap_graph *g, const struct node *node, struct conv2d_geometry *out);

/* floor((input + 2 padding − dilation (kernel − 1) − 1) / stride) + 1; 0 where nothing fits */
int64_t conv2d_output(int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation);

extern const struct op_def op_conv2d, op_conv2d_backward_data, op_conv2d_backward_weight;

#endif
