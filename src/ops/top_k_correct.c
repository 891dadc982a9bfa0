/* top_k_correct: how many rows have their label's logit among the k largest. Of equal logits the
 * ones before the label come first; a label whose logit is NaN is wrong, any other NaN is larger.
 */
#include "ops/top_k_correct.h"

#include <assert.h>
#include <math.h>

static const struct attr_def attrs[] = {
    {"k", ATTR_INT, offsetof(struct top_k_correct_attrs, k), 1, 1, 1 << 30},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *logits = node_input(g, node, 0), *labels = node_input(g, node, 1);
    char text[64];
    if (logits->shape.rank != 2)
        return node_refuse(g, node, "logits should have rank 2, not %s",
                           shape_text(logits->shape, text));
    if (labels->dtype != DTYPE_I32 || !shape_equal(labels->shape, shape_of(1, logits->shape.dim)))
        return node_refuse(g, node, "labels should be %lld in i32, not %s in %s",
                           (long long)logits->shape.dim[0], shape_text(labels->shape, text),
                           dtype_name(labels->dtype));
    node_set_output(g, id, 0, logits->dtype, (struct shape){0});
    return NULL;
}

static bool is_correct(const struct tensor *logits, int64_t n, int64_t label, int64_t k) {
    int64_t row = n * logits->shape.dim[1], before = 0;
    double own = tensor_get(logits, row + label);
    for (int64_t c = 0; c < logits->shape.dim[1]; c++) {
        double other = tensor_get(logits, row + c);
        before += other > own || isnan(other) || (other == own && c < label);
    }
    return !isnan(own) && before < k;
}

static void reference(const struct op_call *call) {
    const struct top_k_correct_attrs *a = call->attrs;
    int64_t count = 0;
    for (int64_t n = 0; n < call->in[0].shape.dim[0]; n++) {
        int64_t label = (int64_t)tensor_get(&call->in[1], n);
        assert(label >= 0 && label < call->in[0].shape.dim[1]);
        count += is_correct(&call->in[0], n, label, a->k);
    }
    tensor_set(&call->out[0], 0, (double)count);
}

const struct op_def op_top_k_correct = {
    .name = "top_k_correct",
    .summary = "rows whose label is among the k largest logits (logits, labels) → count",
    .flags = OP_FORWARD_ONLY,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct top_k_correct_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = reference,
};
