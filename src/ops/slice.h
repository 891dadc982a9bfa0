/* Attributes of slice and slice_backward, for their kernels. */
#ifndef NEAP_OPS_SLICE_H
#define NEAP_OPS_SLICE_H

#include "ir/op.h"

/* One number per dimension; missing ones are 0. */
struct slice_attrs {
    struct int_list begin;
    struct int_list end;  /* 0: to the end */
    struct int_list step; /* 0: 1 */
    struct int_list dims; /* backward: the input's shape */
};

/* y[i] = x[begin + step i] in each of the input's dimensions. False where it does not fit. */
struct slice_geometry {
    struct shape input, output;
    int64_t begin[MAX_RANK], step[MAX_RANK];
};
bool slice_geometry_of(const struct slice_attrs *attrs, struct shape input,
                       struct slice_geometry *out);

extern const struct op_def op_slice, op_slice_backward;

#endif
