/* Attributes of cast, for its kernels. */
#ifndef NEAP_OPS_CAST_H
#define NEAP_OPS_CAST_H

#include "ir/op.h"

struct cast_attrs {
    int64_t dtype; /* enum dtype */
};

extern const struct op_def op_cast;

#endif
