/* Attributes of sgd, and which of its tensors is which, for its kernels. */
#ifndef NEAP_OPS_SGD_H
#define NEAP_OPS_SGD_H

#include "ir/op.h"

struct sgd_attrs {
    double momentum, weight_decay;
    bool nesterov;
};

/* Updates: parameter, velocity (where momentum ≠ 0), and, where the node has no input, the
 * accumulated gradient, which is read and cleared. */
enum { SGD_PARAMETER, SGD_VELOCITY };

extern const struct op_def op_sgd;

#endif
