/* dropout: y = x / (1 − p) where kept, else 0. The mask is a function of seed, update, sample,
 * layer and the element's logical index: it is not stored, and backward is this op on the gradient.
 * Evaluation drops the op from the graph. */
#include "ops/dropout.h"

#include "ops/autodiff.h"

static const struct attr_def attrs[] = {
    {"p", ATTR_FLOAT, offsetof(struct dropout_attrs, p), 0.5, 0, 1},
    {"layer", ATTR_INT, offsetof(struct dropout_attrs, layer), 0, -0x1p63, 0x1p63},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if (node_input(g, node, 0)->shape.rank < 1)
        return node_refuse(g, node, "the input should have a batch dimension");
    return infer_like_first(g, id);
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    value_id dy = autodiff_output_gradient(ad, id, 0);
    node_id backward;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_dropout,
                                                .attrs = graph_node(g, id)->attrs,
                                                .inputs = &dy,
                                                .n_inputs = 1,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const struct dropout_attrs *a = call->attrs;
    struct shape shape = call->in[0].shape;
    int64_t n = shape_elements(shape), per_sample = n / shape.dim[0];
    double scale = dropout_scale(a);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i % per_sample;
        struct philox_block words = dropout_words(a, call->params, i / per_sample, at / 4);
        bool keep = dropout_keeps(a, words.word[at % 4]);
        tensor_set(&call->out[0], i, keep ? tensor_get(&call->in[0], i) * scale : 0);
    }
}

const struct op_def op_dropout = {
    .name = "dropout",
    .summary = "y = x / (1 − p) where kept, else 0 (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct dropout_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{0, 0}},
    .n_overwrites = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
