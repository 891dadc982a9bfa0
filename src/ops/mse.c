/* mse: loss = Σ_n mean (x − target)², the sum over the samples of the mean over a sample's
 * elements: divided by the number of samples it is PyTorch's MSELoss. */
#include "ops/autodiff.h"
#include "ops/ops.h"

/* Shared by forward and backward: inputs 0 and 1. */
static neap_error *check(const neap_graph *g, const struct node *node) {
    const struct value *x = node_input(g, node, 0), *target = node_input(g, node, 1);
    char a[64], b[64];
    if (x->shape.rank < 1 || !shape_equal(x->shape, target->shape))
        return node_refuse(g, node, "input %s does not fit target %s", shape_text(x->shape, a),
                           shape_text(target->shape, b));
    return NULL;
}

static double per_sample(struct shape shape) {
    return (double)(shape_elements(shape) / shape.dim[0]);
}

/* ---- backward: dx = 2 (x − target) dloss / elements of a sample
 * ------------------------------------ */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check(g, node));
    if (node_input(g, node, 2)->shape.rank)
        return node_refuse(g, node, "the loss's gradient should be a scalar");
    node_set_output(g, id, 0, node_input(g, node, 0)->dtype, node_input(g, node, 0)->shape);
    return NULL;
}

static void backward_reference(const struct op_call *call) {
    const struct tensor *x = &call->in[0], *target = &call->in[1];
    double scale = 2 * tensor_get(&call->in[2], 0) / per_sample(x->shape);
    for (int64_t i = 0; i < shape_elements(x->shape); i++)
        tensor_set(&call->out[0], i, (tensor_get(x, i) - tensor_get(target, i)) * scale);
}

const struct op_def op_mse_backward = {
    .name = "mse_backward",
    .summary = "dx = 2 (x − target) dloss / elements of a sample (x, target, dloss) → dx",
    .min_inputs = 3,
    .max_inputs = 3,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{0, 0}, {1, 0}},
    .n_overwrites = 2,
    .infer = backward_infer,
    .cost = cost_elementwise,
    .reference = backward_reference,
};

/* ---- forward -----------------------------------------------------------------------------------
 */

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check(g, node));
    node_set_output(g, id, 0, node_input(g, node, 0)->dtype, (struct shape){0});
    return NULL;
}

/* The target's gradient is that of x with the two changed round. */
static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const value_id *in = graph_node(g, id)->inputs;
    for (uint32_t i = 0; i < 2; i++) {
        if (!autodiff_wants(ad, id, i))
            continue;
        const value_id inputs[] = {in[i], in[1 - i], autodiff_output_gradient(ad, id, 0)};
        node_id backward;
        TRY(autodiff_append(
            ad, id,
            &(struct backward_spec){
                .op = &op_mse_backward, .inputs = inputs, .n_inputs = 3, .n_outputs = 1},
            &backward));
        TRY(autodiff_give(ad, id, i, graph_node(g, backward)->outputs[0]));
    }
    return NULL;
}

static void reference(const struct op_call *call) {
    const struct tensor *x = &call->in[0], *target = &call->in[1];
    double sum = 0;
    for (int64_t i = 0; i < shape_elements(x->shape); i++) {
        double d = tensor_get(x, i) - tensor_get(target, i);
        sum += d * d;
    }
    tensor_set(&call->out[0], 0, sum / per_sample(x->shape));
}

const struct op_def op_mse = {
    .name = "mse",
    .summary = "Σ over samples of the mean of (x − target)² (x, target) → loss",
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
