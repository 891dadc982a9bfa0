/* softmax_cross_entropy: loss = Σ_n (log Σ_c exp(logit) − logit[label]), the sum over the samples,
 * not their mean: the update divides by the window's true count. logits (N,C), labels (N) i32.
 * Whoever supplies labels has checked their range. */
#include <assert.h>
#include <math.h>

#include "ops/autodiff.h"
#include "ops/ops.h"

/* Shared by forward and backward: inputs 0 and 1. */
static neap_error *check(const neap_graph *g, const struct node *node) {
    const struct value *logits = node_input(g, node, 0), *labels = node_input(g, node, 1);
    char text[64];
    if (logits->shape.rank != 2)
        return node_refuse(g, node, "logits should have rank 2, not %s",
                           shape_text(logits->shape, text));
    if (labels->dtype != DTYPE_I32 || !shape_equal(labels->shape, shape_of(1, logits->shape.dim)))
        return node_refuse(g, node, "labels should be %lld in i32, not %s in %s",
                           (long long)logits->shape.dim[0], shape_text(labels->shape, text),
                           dtype_name(labels->dtype));
    return NULL;
}

/* Row n's largest logit, and the sum of exp(logit − it). */
static void row_sum(const struct tensor *logits, int64_t n, double *most, double *sum) {
    int64_t classes = logits->shape.dim[1];
    *most = -INFINITY;
    *sum = 0;
    for (int64_t c = 0; c < classes; c++)
        *most = fmax(*most, tensor_get(logits, n * classes + c));
    for (int64_t c = 0; c < classes; c++)
        *sum += exp(tensor_get(logits, n * classes + c) - *most);
}

static int64_t label_of(const struct op_call *call, int64_t n) {
    int64_t label = (int64_t)tensor_get(&call->in[1], n);
    assert(label >= 0 && label < call->in[0].shape.dim[1]);
    return label;
}

/* ---- backward: dlogits = (softmax − onehot) dloss
 * -------------------------------------------------- */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check(g, node));
    if (node_input(g, node, 2)->shape.rank)
        return node_refuse(g, node, "the loss's gradient should be a scalar");
    node_set_output(g, id, 0, node_input(g, node, 0)->dtype, node_input(g, node, 0)->shape);
    return NULL;
}

static void backward_reference(const struct op_call *call) {
    const struct tensor *logits = &call->in[0];
    int64_t classes = logits->shape.dim[1];
    double dloss = tensor_get(&call->in[2], 0);
    for (int64_t n = 0; n < logits->shape.dim[0]; n++) {
        int64_t label = label_of(call, n);
        double most, sum;
        row_sum(logits, n, &most, &sum);
        for (int64_t c = 0; c < classes; c++) {
            double softmax = exp(tensor_get(logits, n * classes + c) - most) / sum;
            tensor_set(&call->out[0], n * classes + c, (softmax - (c == label)) * dloss);
        }
    }
}

const struct op_def op_softmax_cross_entropy_backward = {
    .name = "softmax_cross_entropy_backward",
    .summary = "dlogits = (softmax − onehot) dloss (logits, labels, dloss) → dlogits",
    .min_inputs = 3,
    .max_inputs = 3,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{0, 0}},
    .n_overwrites = 1,
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

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const value_id *in = graph_node(g, id)->inputs;
    const value_id inputs[] = {in[0], in[1], autodiff_output_gradient(ad, id, 0)};
    node_id backward;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_softmax_cross_entropy_backward,
                                                .inputs = inputs,
                                                .n_inputs = 3,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const struct tensor *logits = &call->in[0];
    double loss = 0;
    for (int64_t n = 0; n < logits->shape.dim[0]; n++) {
        double most, sum;
        row_sum(logits, n, &most, &sum);
        loss += log(sum) + most - tensor_get(logits, n * logits->shape.dim[1] + label_of(call, n));
    }
    tensor_set(&call->out[0], 0, loss);
}

const struct op_def op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .summary = "Σ over samples of log Σ exp(logits) − logits[label] (logits, labels) → loss",
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
