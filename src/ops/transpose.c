/* transpose: the dimensions in another order, copied. Its gradient is the inverse transpose. */
#include "ops/transpose.h"

#include "ops/autodiff.h"
#include "ops/index.h"

static const struct attr_def attrs[] = {
    {"order", ATTR_INTS, offsetof(struct transpose_attrs, order), 0, 0, 0},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct transpose_attrs *a = node->attrs;
    const struct value *x = node_input(g, node, 0);
    struct shape shape = x->shape;
    unsigned seen = 0;
    for (int d = 0; d < a->order.n; d++) {
        int64_t from = a->order.at[d];
        if (from < 0 || from >= x->shape.rank)
            return node_refuse(g, node, "the input has no dimension %lld", (long long)from);
        seen |= 1u << from;
        shape.dim[d] = x->shape.dim[from];
    }
    if (a->order.n != shape.rank || seen != (1u << shape.rank) - 1)
        return node_refuse(g, node, "the order should name each of the %d dimensions once",
                           shape.rank);
    node_set_output(g, id, 0, x->dtype, shape);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const struct transpose_attrs *a = graph_node(g, id)->attrs;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    struct transpose_attrs inverse = {.order = {.n = a->order.n}};
    node_id backward;
    for (int d = 0; d < a->order.n; d++)
        inverse.order.at[a->order.at[d]] = d;
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_transpose, .attrs = &inverse, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const struct transpose_attrs *a = call->attrs;
    struct shape from = call->in[0].shape, to = call->out[0].shape;
    for (int64_t i = 0; i < shape_elements(to); i++) {
        int64_t index[MAX_RANK], source[MAX_RANK];
        index_of(to, i, index);
        for (int d = 0; d < to.rank; d++)
            source[a->order.at[d]] = index[d];
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], index_place(from, source)));
    }
}

const struct op_def op_transpose = {
    .name = "transpose",
    .summary = "output dimension i is input dimension order[i] (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct transpose_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
