/* reshape and flatten: the same elements under another shape, in the same storage. */
#include "ops/reshape.h"

#include "ops/autodiff.h"
#include "ops/index.h"

static const struct attr_def reshape_attr_table[] = {
    {"dims", ATTR_INTS, offsetof(struct reshape_attrs, dims), 0, 0, 0},
    ATTR_END,
};
static const struct attr_def flatten_attr_table[] = {
    {"start", ATTR_INT, offsetof(struct flatten_attrs, start), 1, 0, MAX_RANK - 1},
    ATTR_END,
};

/* A view moves nothing. */
static void cost_nothing(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    (void)g;
    (void)node;
    (void)cost;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    struct shape input = node_input(g, graph_node(g, id), 0)->shape;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    node_id backward;
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){.op = &op_reshape,
                                .attrs = &(struct reshape_attrs){int_list_of_shape(input)},
                                .inputs = &dy,
                                .n_inputs = 1,
                                .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    for (int64_t i = 0; i < shape_elements(call->in[0].shape); i++)
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], i));
}

/* ---- reshape
 * ------------------------------------------------------------------------------------- */

static neap_error *reshape_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct reshape_attrs *a = node->attrs;
    const struct value *x = node_input(g, node, 0);
    struct shape shape = shape_of(a->dims.n, a->dims.at);
    int64_t n = shape_elements(x->shape), known = 1;
    int open = -1;
    char text[64];
    bool valid = true;
    for (int d = 0; d < shape.rank; d++) {
        if (shape.dim[d] == 0)
            shape.dim[d] = d < x->shape.rank ? x->shape.dim[d] : 0;
        if (shape.dim[d] == -1 && open < 0)
            open = d;
        else
            valid = valid && shape.dim[d] > 0 && size_multiply(known, shape.dim[d], &known);
    }
    if (valid && open >= 0) {
        shape.dim[open] = n / known;
        known *= shape.dim[open];
    }
    if (!valid || known != n)
        return node_refuse(g, node, "%s has %lld elements, which the new dimensions do not take",
                           shape_text(x->shape, text), (long long)n);
    node_set_output(g, id, 0, x->dtype, shape);
    return NULL;
}

const struct op_def op_reshape = {
    .name = "reshape",
    .summary = "another shape, 0: as it is, -1: what is left (x) → y",
    .flags = OP_VIEW,
    .attrs = reshape_attr_table,
    .attrs_bytes = sizeof(struct reshape_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = reshape_infer,
    .gradient = gradient,
    .cost = cost_nothing,
    .reference = reference,
};

/* ---- flatten
 * ------------------------------------------------------------------------------------- */

static neap_error *flatten_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct flatten_attrs *a = node->attrs;
    const struct value *x = node_input(g, node, 0);
    struct shape shape = x->shape;
    char text[64];
    if (a->start >= shape.rank)
        return node_refuse(g, node, "input %s has no dimension %lld", shape_text(shape, text),
                           (long long)a->start);
    for (int d = (int)a->start + 1; d < x->shape.rank; d++)
        shape.dim[a->start] *= x->shape.dim[d];
    node_set_output(g, id, 0, x->dtype, shape_of((int)a->start + 1, shape.dim));
    return NULL;
}

const struct op_def op_flatten = {
    .name = "flatten",
    .summary = "the dimensions from `start` on become one (x) → y",
    .flags = OP_VIEW,
    .attrs = flatten_attr_table,
    .attrs_bytes = sizeof(struct flatten_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = flatten_infer,
    .gradient = gradient,
    .cost = cost_nothing,
    .reference = reference,
};
