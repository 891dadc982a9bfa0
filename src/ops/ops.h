/* The table of all ops (ops.def) and their declarations. */
#ifndef NEAP_OPS_OPS_H
#define NEAP_OPS_OPS_H

#include "ir/op.h"

#define OP(name) extern const struct op_def op_##name;
#include "ops/ops.def"
#undef OP

extern const struct op_set all_ops;

#endif
