/* sgd: g = dw × gradient_scale + wd w;  v = μ v + g;  w −= lr (nesterov ? g + μ v : μ ? v : g).
 * PyTorch's SGD. The gradient is the input, or, without one, the last update, which is cleared. */
#include "ops/sgd.h"

static const struct attr_def attrs[] = {
    {"momentum", ATTR_FLOAT, offsetof(struct sgd_attrs, momentum), 0, 0, 1},
    {"nesterov", ATTR_BOOL, offsetof(struct sgd_attrs, nesterov), 0, 0, 1},
    {"weight_decay", ATTR_FLOAT, offsetof(struct sgd_attrs, weight_decay), 0, 0, 1e9},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct sgd_attrs *a = node->attrs;
    uint32_t expected = 1u + (a->momentum != 0) + !node_has_input(node, 0);
    if (node->n_updates != expected)
        return node_refuse(g, node, "should update %u values, not %u", expected, node->n_updates);
    struct shape shape = graph_value(g, node->updates[SGD_PARAMETER])->shape;
    for (uint32_t i = 1; i < node->n_updates; i++)
        if (!shape_equal(graph_value(g, node->updates[i])->shape, shape))
            return node_refuse(g, node, "update %u's shape differs from the parameter's", i);
    if (node_has_input(node, 0) && !shape_equal(node_input(g, node, 0)->shape, shape))
        return node_refuse(g, node, "the gradient's shape differs from the parameter's");
    return NULL;
}

static void reference(const struct op_call *call) {
    const struct sgd_attrs *a = call->attrs;
    bool is_input = call->n_in && call->in[0].data;
    const struct tensor *w = &call->up[SGD_PARAMETER], *v = &call->up[SGD_VELOCITY];
    const struct tensor *gradient = is_input ? &call->in[0] : &call->up[call->n_up - 1];
    for (int64_t i = 0; i < shape_elements(w->shape); i++) {
        double weight = tensor_get(w, i);
        double g =
            tensor_get(gradient, i) * call->params->gradient_scale + a->weight_decay * weight;
        if (a->momentum != 0) {
            double velocity = a->momentum * tensor_get(v, i) + g;
            tensor_set(v, i, velocity);
            g = a->nesterov ? g + a->momentum * velocity : velocity;
        }
        tensor_set(w, i, weight - call->params->lr * g);
        if (!is_input)
            tensor_set(gradient, i, 0);
    }
}

const struct op_def op_sgd = {
    .name = "sgd",
    .summary = "w −= lr g, momentum, Nesterov, weight decay ([gradient]), updates w, [velocity], "
               "[accumulated gradient]",
    .flags = OP_EFFECT | OP_ELEMENTWISE,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct sgd_attrs),
    .max_inputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = reference,
};
