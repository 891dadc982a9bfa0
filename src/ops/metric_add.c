/* metric_add: adds a scalar (a batch's loss, its count of right answers) to a running total in
 * double, which the host reads when it reports. */
#include "ir/op.h"

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if (node->n_updates != 1)
        return node_refuse(g, node, "should update one total, not %u", node->n_updates);
    const struct value *total = graph_value(g, node->updates[0]);
    if (node_input(g, node, 0)->shape.rank || total->shape.rank)
        return node_refuse(g, node, "what is added and the total should be scalars");
    if (total->dtype != DTYPE_F64)
        return node_refuse(g, node, "the total should be f64, not %s", dtype_name(total->dtype));
    return NULL;
}

static void reference(const struct op_call *call) {
    tensor_set(&call->up[0], 0, tensor_get(&call->up[0], 0) + tensor_get(&call->in[0], 0));
}

const struct op_def op_metric_add = {
    .name = "metric_add",
    .summary = "total += x (x), updates total, a scalar in f64",
    .flags = OP_EFFECT | OP_FORWARD_ONLY,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = reference,
};
