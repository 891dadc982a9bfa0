/* Attributes of fill, for its kernels and for whoever needs a constant. */
#ifndef NEAP_OPS_FILL_H
#define NEAP_OPS_FILL_H

#include "ir/op.h"

struct fill_attrs {
    double value;
    struct int_list dims; /* empty: a scalar */
    int64_t dtype;        /* enum dtype */
    bool scaled;          /* times the run's loss scale */
};

extern const struct op_def op_fill;

#endif
