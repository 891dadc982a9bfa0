/* Attributes of concat, for its kernels. */
#ifndef NEAP_OPS_CONCAT_H
#define NEAP_OPS_CONCAT_H

#include "ir/op.h"

struct concat_attrs {
    int64_t axis;
};

extern const struct op_def op_concat;

#endif
