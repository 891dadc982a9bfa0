/* relu: y = max(x, 0), NaN staying NaN; optionally a second output, one bit per element: x > 0.
 * Backward needs the sign alone: the bit mask, 1/32 of the bytes, or y. Autodiff saves y if
 * something else reads it in backward anyway, so that the ReLU can be fused into a node that makes
 * no mask; pass/mask.c asks for the mask where there is one, and the planner may go back to y. */
#include "ops/autodiff.h"

/* ---- backward: dx = dy where the saved value is positive, else 0 ---------------------------- */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *dy = node_input(g, node, 0), *saved = node_input(g, node, 1);
    if (!shape_equal(dy->shape, saved->shape))
        return node_refuse(g, node, "the saved value's shape differs from the gradient's");
    node_set_output(g, id, 0, dy->dtype, dy->shape);
    return NULL;
}

static void backward_reference(const struct op_call *call) {
    int64_t n = shape_elements(call->in[0].shape);
    for (int64_t i = 0; i < n; i++)
        tensor_set(&call->out[0], i,
                   tensor_get(&call->in[1], i) > 0 ? tensor_get(&call->in[0], i) : 0);
}

/* In the mask's stead y, the first output of the node that makes it. */
static bool backward_alternative(const neap_graph *g, const struct node *node, value_id *inputs) {
    const struct value *saved = node_input(g, node, 1);
    if (saved->dtype != DTYPE_BIT || saved->producer == ID_NONE)
        return false;
    inputs[0] = node->inputs[0];
    inputs[1] = graph_node(g, saved->producer)->outputs[0];
    return true;
}

const struct op_def op_relu_backward = {
    .name = "relu_backward",
    .summary = "dx = dy where saved > 0, else 0 (dy, y or mask) → dx",
    .flags = OP_ELEMENTWISE,
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{0, 0}},
    .n_overwrites = 1,
    .infer = backward_infer,
    .alternative = backward_alternative,
    .cost = cost_elementwise,
    .reference = backward_reference,
};

/* ---- forward -------------------------------------------------------------------------------- */

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0);
    node_set_output(g, id, 0, x->dtype, x->shape);
    if (node->n_outputs > 1)
        node_set_output(g, id, 1, DTYPE_BIT, x->shape);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    value_id saved = graph_node(g, id)->outputs[0];
    if (!autodiff_is_read_backward(ad, saved))
        TRY(graph_add_output(g, id, "mask", VALUE_SAVED, DTYPE_BIT, graph_value(g, saved)->shape,
                             &saved));
    const value_id inputs[] = {autodiff_output_gradient(ad, id, 0), saved};
    node_id backward;
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_relu_backward, .inputs = inputs, .n_inputs = 2, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    int64_t n = shape_elements(call->in[0].shape);
    for (int64_t i = 0; i < n; i++) {
        double x = tensor_get(&call->in[0], i);
        tensor_set(&call->out[0], i, x < 0 ? 0 : x);
        if (call->n_out > 1)
            tensor_set(&call->out[1], i, x > 0);
    }
}

const struct op_def op_relu = {
    .name = "relu",
    .summary = "y = max(x, 0) (x) → y, [mask]",
    .flags = OP_ELEMENTWISE,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 2,
    .overwrites = {{0, 0}},
    .n_overwrites = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
