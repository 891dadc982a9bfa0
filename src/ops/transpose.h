/* Attributes of transpose, for its kernels. */
#ifndef NEAP_OPS_TRANSPOSE_H
#define NEAP_OPS_TRANSPOSE_H

#include "ir/op.h"

struct transpose_attrs {
    struct int_list order; /* output dimension i is input dimension order[i] */
};

extern const struct op_def op_transpose;

#endif
