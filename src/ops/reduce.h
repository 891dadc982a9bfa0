/* Attributes of reduce_sum, reduce_mean and reduce_backward, for their kernels. */
#ifndef NEAP_OPS_REDUCE_H
#define NEAP_OPS_REDUCE_H

#include "ir/op.h"

struct reduce_attrs {
    struct int_list axes; /* empty: all */
    struct int_list dims; /* backward: the input's shape */
    double scale;         /* backward: dx = scale × dy, spread over the axes */
    bool keep;            /* forward: reduced dimensions stay, as 1 */
};

extern const struct op_def op_reduce_sum, op_reduce_mean, op_reduce_backward;

#endif
