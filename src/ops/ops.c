/* The table of all ops: see ops.def. */
#include "ops/ops.h"

static const struct op_def *const table[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
};

const struct op_set all_ops = {table, sizeof table / sizeof *table};
