/* Attributes of the linear family, for its kernels. */
#ifndef NEAP_OPS_LINEAR_H
#define NEAP_OPS_LINEAR_H

#include "ir/op.h"

struct linear_attrs {
    bool relu; /* linear: y = max(…, 0); backward ops: unused */
    bool bias; /* linear_backward_weight: also the bias's gradient */
};

extern const struct op_def op_linear, op_linear_backward_data, op_linear_backward_weight;

#endif
