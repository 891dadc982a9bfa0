/* adam: g = dw × gradient_scale;  m = β1 m + (1−β1) g;  v = β2 v + (1−β2) g²;
 *       w −= lr/(1−β1^t) m / (√v / √(1−β2^t) + eps)
 * Weight decay adds wd w to g, or, decoupled (AdamW), first shrinks w by lr wd. PyTorch's formulas
 * (Kingma, Ba 2015; Loshchilov, Hutter 2019). The gradient is the input, or, without one, the last
 * update, which is cleared. */
#include "ops/adam.h"

#include <math.h>

static const struct attr_def attrs[] = {
    {"beta1", ATTR_FLOAT, offsetof(struct adam_attrs, beta1), 0.9, 0, 1},
    {"beta2", ATTR_FLOAT, offsetof(struct adam_attrs, beta2), 0.999, 0, 1},
    {"eps", ATTR_FLOAT, offsetof(struct adam_attrs, eps), 1e-8, 0, 1},
    {"weight_decay", ATTR_FLOAT, offsetof(struct adam_attrs, weight_decay), 0, 0, 1e9},
    {"decoupled", ATTR_BOOL, offsetof(struct adam_attrs, decoupled), 0, 0, 1},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    uint32_t expected = ADAM_ACCUMULATOR + !node_has_input(node, 0);
    if (node->n_updates != expected)
        return node_refuse(g, node, "should update %u values, not %u", expected, node->n_updates);
    struct shape shape = graph_value(g, node->updates[ADAM_PARAMETER])->shape;
    for (uint32_t i = 1; i < node->n_updates; i++)
        if (!shape_equal(graph_value(g, node->updates[i])->shape, shape))
            return node_refuse(g, node, "update %u's shape differs from the parameter's", i);
    if (node_has_input(node, 0) && !shape_equal(node_input(g, node, 0)->shape, shape))
        return node_refuse(g, node, "the gradient's shape differs from the parameter's");
    return NULL;
}

static void reference(const struct op_call *call) {
    const struct adam_attrs *a = call->attrs;
    bool is_input = call->n_in && call->in[0].data;
    const struct tensor *w = &call->up[ADAM_PARAMETER], *m = &call->up[ADAM_MEAN];
    const struct tensor *v = &call->up[ADAM_SQUARE];
    const struct tensor *gradient = is_input ? &call->in[0] : &call->up[ADAM_ACCUMULATOR];
    double t = (double)(call->params->update - call->params->skipped) + 1, lr = call->params->lr;
    double step = lr / (1 - pow(a->beta1, t)), root = sqrt(1 - pow(a->beta2, t));
    for (int64_t i = 0; i < shape_elements(w->shape); i++) {
        double weight = tensor_get(w, i);
        double g = tensor_get(gradient, i) * call->params->gradient_scale;
        if (a->decoupled)
            weight *= 1 - lr * a->weight_decay;
        else
            g += a->weight_decay * weight;
        double mean = a->beta1 * tensor_get(m, i) + (1 - a->beta1) * g;
        double square = a->beta2 * tensor_get(v, i) + (1 - a->beta2) * g * g;
        tensor_set(m, i, mean);
        tensor_set(v, i, square);
        tensor_set(w, i, weight - step * mean / (sqrt(square) / root + a->eps));
        if (!is_input)
            tensor_set(gradient, i, 0);
    }
}

const struct op_def op_adam = {
    .name = "adam",
    .summary = "Adam, decoupled=1: AdamW ([gradient]), updates w, m, v, [accumulated gradient]",
    .flags = OP_EFFECT | OP_ELEMENTWISE,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct adam_attrs),
    .max_inputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = reference,
};
