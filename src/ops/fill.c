/* fill: a constant. The seed of backward is one, times the loss scale where losses are scaled. */
#include "ops/fill.h"

static const struct attr_def attrs[] = {
    {"value", ATTR_FLOAT, offsetof(struct fill_attrs, value), 0, -1e300, 1e300},
    {"dims", ATTR_INTS, offsetof(struct fill_attrs, dims), 0, 0, 0},
    {"dtype", ATTR_INT, offsetof(struct fill_attrs, dtype), DTYPE_F32, 0, N_DTYPES - 1},
    {"scaled", ATTR_BOOL, offsetof(struct fill_attrs, scaled), 0, 0, 1},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct fill_attrs *a = graph_node(g, id)->attrs;
    for (int d = 0; d < a->dims.n; d++)
        if (a->dims.at[d] < 1)
            return node_refuse(g, graph_node(g, id), "dimension %d is %lld", d,
                               (long long)a->dims.at[d]);
    node_set_output(g, id, 0, (enum dtype)a->dtype, shape_of(a->dims.n, a->dims.at));
    return NULL;
}

static void reference(const struct op_call *call) {
    const struct fill_attrs *a = call->attrs;
    double value = a->scaled ? a->value * call->params->loss_scale : a->value;
    for (int64_t i = 0; i < shape_elements(call->out[0].shape); i++)
        tensor_set(&call->out[0], i, value);
}

const struct op_def op_fill = {
    .name = "fill",
    .summary = "the same value everywhere, scaled=1: times the loss scale () → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct fill_attrs),
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
    .reference = reference,
};
