/* Attributes of top_k_correct, for its kernels. */
#ifndef NEAP_OPS_TOP_K_CORRECT_H
#define NEAP_OPS_TOP_K_CORRECT_H

#include "ir/op.h"

struct top_k_correct_attrs {
    int64_t k;
};

extern const struct op_def op_top_k_correct;

#endif
