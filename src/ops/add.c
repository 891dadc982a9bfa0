/* add: y = a + b, of one shape. Sums of gradients are this op too: in place, it costs no memory. */
#include "ops/autodiff.h"

static neap_error *gradient(struct autodiff *ad, node_id id) {
    value_id dy = autodiff_output_gradient(ad, id, 0);
    for (uint32_t i = 0; i < 2; i++)
        if (autodiff_wants(ad, id, i))
            TRY(autodiff_give(ad, id, i, dy));
    return NULL;
}

static void reference(const struct op_call *call) {
    int64_t n = shape_elements(call->in[0].shape);
    for (int64_t i = 0; i < n; i++)
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], i) + tensor_get(&call->in[1], i));
}

const struct op_def op_add = {
    .name = "add",
    .summary = "y = a + b (a, b) → y",
    .flags = OP_ELEMENTWISE,
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{0, 0}, {1, 0}},
    .n_overwrites = 2,
    .infer = infer_like_first,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
