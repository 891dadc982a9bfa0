/* cast: the same values in another dtype. Its gradient is cast back, unless it is a sum that was
 * kept in that dtype already (the gradient of a weight). */
#include "ops/cast.h"

#include "ops/autodiff.h"

static const struct attr_def attrs[] = {
    {"dtype", ATTR_INT, offsetof(struct cast_attrs, dtype), DTYPE_F32, 0, N_DTYPES - 1},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct cast_attrs *a = node->attrs;
    node_set_output(g, id, 0, (enum dtype)a->dtype, node_input(g, node, 0)->shape);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const struct cast_attrs back = {.dtype = node_input(g, graph_node(g, id), 0)->dtype};
    value_id dy = autodiff_output_gradient(ad, id, 0);
    node_id backward;
    if (graph_value(g, dy)->dtype == (enum dtype)back.dtype)
        return autodiff_give(ad, id, 0, dy);
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_cast, .attrs = &back, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    for (int64_t i = 0; i < shape_elements(call->in[0].shape); i++)
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], i));
}

const struct op_def op_cast = {
    .name = "cast",
    .summary = "the same values in another dtype (x) → y",
    .flags = OP_ELEMENTWISE,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct cast_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
