/* Attributes of adam, and which of its tensors is which, for its kernels. */
#ifndef NEAP_OPS_ADAM_H
#define NEAP_OPS_ADAM_H

#include "ir/op.h"

struct adam_attrs {
    double beta1, beta2, eps, weight_decay;
    bool decoupled; /* AdamW: the decay shrinks the parameter, not the gradient */
};

/* Updates: these, and, where the node has no input, the accumulated gradient, which is read and
 * cleared. */
enum { ADAM_PARAMETER, ADAM_MEAN, ADAM_SQUARE, ADAM_ACCUMULATOR };

extern const struct op_def op_adam;

#endif
