/* accumulate: adds to a persistent sum, as the gradients of a window's micro-batches are added. */
#include "ir/op.h"

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if (node->n_updates != 1)
        return node_refuse(g, node, "should update one value, not %u", node->n_updates);
    if (!shape_equal(node_input(g, node, 0)->shape, graph_value(g, node->updates[0])->shape))
        return node_refuse(g, node, "the sum's shape differs from what is added");
    return NULL;
}

static void reference(const struct op_call *call) {
    int64_t n = shape_elements(call->in[0].shape);
    for (int64_t i = 0; i < n; i++)
        tensor_set(&call->up[0], i, tensor_get(&call->up[0], i) + tensor_get(&call->in[0], i));
}

const struct op_def op_accumulate = {
    .name = "accumulate",
    .summary = "sum += x (x), updates sum",
    .flags = OP_EFFECT | OP_ELEMENTWISE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = reference,
};
