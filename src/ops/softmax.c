/* softmax over the last axis: y = exp(x − max x) / Σ exp(x − max x). Backward needs y, not x. */
#include <math.h>

#include "ops/autodiff.h"
#include "ops/ops.h"

/* ---- backward: dx = y (dy − Σ dy y)
 * -------------------------------------------------------------- */

static void backward_reference(const struct op_call *call) {
    const struct tensor *dy = &call->in[0], *y = &call->in[1];
    int64_t n = shape_elements(y->shape), width = y->shape.dim[y->shape.rank - 1];
    for (int64_t row = 0; row < n; row += width) {
        double sum = 0;
        for (int64_t i = row; i < row + width; i++)
            sum += tensor_get(dy, i) * tensor_get(y, i);
        for (int64_t i = row; i < row + width; i++)
            tensor_set(&call->out[0], i, tensor_get(y, i) * (tensor_get(dy, i) - sum));
    }
}

/* Of forward and backward: like the first input, which has a last axis. */
static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if (node_input(g, node, 0)->shape.rank < 1)
        return node_refuse(g, node, "the input should have an axis to sum over");
    return infer_like_first(g, id);
}

const struct op_def op_softmax_backward = {
    .name = "softmax_backward",
    .summary = "dx = y (dy − Σ dy y) (dy, y) → dx",
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{0, 0}, {1, 0}},
    .n_overwrites = 2,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = backward_reference,
};

/* ---- forward -----------------------------------------------------------------------------------
 */

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const value_id inputs[] = {autodiff_output_gradient(ad, id, 0), graph_node(g, id)->outputs[0]};
    node_id backward;
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_softmax_backward, .inputs = inputs, .n_inputs = 2, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const struct tensor *x = &call->in[0];
    int64_t n = shape_elements(x->shape), width = x->shape.dim[x->shape.rank - 1];
    for (int64_t row = 0; row < n; row += width) {
        double most = -INFINITY, sum = 0;
        for (int64_t i = row; i < row + width; i++)
            most = fmax(most, tensor_get(x, i));
        for (int64_t i = row; i < row + width; i++)
            sum += exp(tensor_get(x, i) - most);
        for (int64_t i = row; i < row + width; i++)
            tensor_set(&call->out[0], i, exp(tensor_get(x, i) - most) / sum);
    }
}

const struct op_def op_softmax = {
    .name = "softmax",
    .summary = "y = exp(x) / Σ exp(x) over the last axis (x) → y",
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
