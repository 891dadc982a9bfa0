/* Attributes of pad, for its kernels. */
#ifndef NEAP_OPS_PAD_H
#define NEAP_OPS_PAD_H

#include "ir/op.h"

/* Zeros before and after each dimension; missing ones are 0. */
struct pad_attrs {
    struct int_list before, after;
};

extern const struct op_def op_pad;

#endif
