/* Attributes of adaptive_avg_pool2d and its backward, for their kernels. */
#ifndef NEAP_OPS_ADAPTIVE_AVG_POOL2D_H
#define NEAP_OPS_ADAPTIVE_AVG_POOL2D_H

#include "ir/op.h"

struct adaptive_avg_pool2d_attrs {
    struct int_list output; /* forward: the output's h,w; "1" is 1,1 */
    struct int_list input;  /* backward: the input's h,w */
};

/* Output place `at` of n_out averages the input places begin ≤ i < end of n_in. */
static inline int64_t adaptive_begin(int64_t at, int64_t n_in, int64_t n_out) {
    return at * n_in / n_out;
}
static inline int64_t adaptive_end(int64_t at, int64_t n_in, int64_t n_out) {
    return ((at + 1) * n_in + n_out - 1) / n_out;
}

extern const struct op_def op_adaptive_avg_pool2d, op_adaptive_avg_pool2d_backward;

#endif
