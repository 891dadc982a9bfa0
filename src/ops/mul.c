/* mul: y = a b, element by element, of one shape. */
#include "ops/autodiff.h"
#include "ops/ops.h"

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    value_id dy = autodiff_output_gradient(ad, id, 0);
    for (uint32_t i = 0; i < 2; i++) {
        if (!autodiff_wants(ad, id, i))
            continue;
        const value_id inputs[] = {dy, graph_node(g, id)->inputs[1 - i]};
        node_id backward;
        TRY(autodiff_append(
            ad, id,
            &(struct backward_spec){.op = &op_mul, .inputs = inputs, .n_inputs = 2, .n_outputs = 1},
            &backward));
        TRY(autodiff_give(ad, id, i, graph_node(g, backward)->outputs[0]));
    }
    return NULL;
}

static void reference(const struct op_call *call) {
    int64_t n = shape_elements(call->in[0].shape);
    for (int64_t i = 0; i < n; i++)
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], i) * tensor_get(&call->in[1], i));
}

const struct op_def op_mul = {
    .name = "mul",
    .summary = "y = a b (a, b) → y",
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
