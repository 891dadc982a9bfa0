/* reorder: the same values in another layout. Put in by the layout pass; a copy of a parameter made
 * so is a weight_copy. */
#include "ir/op.h"

static void reference(const struct op_call *call) {
    for (int64_t i = 0; i < shape_elements(call->in[0].shape); i++)
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], i));
}

const struct op_def op_reorder = {
    .name = "reorder",
    .summary = "the same values in another layout (x) → y",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer_like_first,
    .cost = cost_elementwise,
    .reference = reference,
};
