/* Attributes of softmax_cross_entropy and of its backward, for their kernels. */
#ifndef NEAP_OPS_SOFTMAX_CROSS_ENTROPY_H
#define NEAP_OPS_SOFTMAX_CROSS_ENTROPY_H

#include "ir/op.h"

/* The target of class c is (1 − s) [c = label] + s / classes. */
struct cross_entropy_attrs {
    double label_smoothing; /* s */
};

extern const struct op_def op_softmax_cross_entropy, op_softmax_cross_entropy_backward;

#endif
