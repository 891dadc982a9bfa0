/* softmax_cross_entropy: loss = Σ_n (log Σ_c exp(logit) − Σ_c target_c logit_c), the sum over the
 * samples, not their mean: the update divides by the window's true count. The target is 1 at the
 * label, or with smoothing s 1 − s, and s / C more at every class. logits (N,C), labels (N) i32.
 * Whoever supplies labels has checked their range. */
#include "ops/softmax_cross_entropy.h"

#include <assert.h>
#include <math.h>

#include "ops/autodiff.h"

static const struct attr_def attrs[] = {
    {"label_smoothing", ATTR_FLOAT, offsetof(struct cross_entropy_attrs, label_smoothing), 0, 0, 1},
    ATTR_END,
};

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

/* ---- backward: dlogits = (softmax − target) dloss
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
    const struct cross_entropy_attrs *a = call->attrs;
    int64_t classes = logits->shape.dim[1];
    double dloss = tensor_get(&call->in[2], 0), spread = a->label_smoothing / (double)classes;
    for (int64_t n = 0; n < logits->shape.dim[0]; n++) {
        int64_t label = label_of(call, n);
        double most, sum;
        row_sum(logits, n, &most, &sum);
        for (int64_t c = 0; c < classes; c++) {
            double softmax = exp(tensor_get(logits, n * classes + c) - most) / sum;
            double target = (1 - a->label_smoothing) * (c == label) + spread;
            tensor_set(&call->out[0], n * classes + c, (softmax - target) * dloss);
        }
    }
}

const struct op_def op_softmax_cross_entropy_backward = {
    .name = "softmax_cross_entropy_backward",
    .summary = "dlogits = (softmax − target) dloss (logits, labels, dloss) → dlogits",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct cross_entropy_attrs),
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
                                                .attrs = graph_node(g, id)->attrs,
                                                .inputs = inputs,
                                                .n_inputs = 3,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

/* Σ_c target_c logit_c of row n. Without smoothing other logits do not count, be they infinite. */
static double aim(const struct op_call *call, int64_t n) {
    const struct cross_entropy_attrs *a = call->attrs;
    const struct tensor *logits = &call->in[0];
    int64_t classes = logits->shape.dim[1];
    double sum = 0, logit = tensor_get(logits, n * classes + label_of(call, n));
    if (a->label_smoothing == 0)
        return logit;
    for (int64_t c = 0; c < classes; c++)
        sum += tensor_get(logits, n * classes + c);
    return (1 - a->label_smoothing) * logit + a->label_smoothing * sum / (double)classes;
}

static void reference(const struct op_call *call) {
    const struct tensor *logits = &call->in[0];
    double loss = 0;
    for (int64_t n = 0; n < logits->shape.dim[0]; n++) {
        double most, sum;
        row_sum(logits, n, &most, &sum);
        loss += log(sum) + most - aim(call, n);
    }
    tensor_set(&call->out[0], 0, loss);
}

const struct op_def op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .summary = "Σ over samples of log Σ exp(logits) − Σ target logits (logits, labels) → loss",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct cross_entropy_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
