/* Attributes of the views reshape and flatten. */
#ifndef NEAP_OPS_RESHAPE_H
#define NEAP_OPS_RESHAPE_H

#include "ir/op.h"

struct reshape_attrs {
    struct int_list dims; /* 0: as the input's dimension there, -1: what is left, once */
};
struct flatten_attrs {
    int64_t start; /* this dimension and all after it become one */
};

extern const struct op_def op_reshape, op_flatten;

#endif
