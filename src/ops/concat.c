/* concat: the inputs behind each other along one axis. Its gradients are slices. */
#include "ops/concat.h"

#include "ops/autodiff.h"
#include "ops/index.h"
#include "ops/slice.h"

static const struct attr_def attrs[] = {
    {"axis", ATTR_INT, offsetof(struct concat_attrs, axis), 1, 0, MAX_RANK - 1},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct concat_attrs *a = node->attrs;
    const struct value *first = node_input(g, node, 0);
    struct shape sum = first->shape;
    char one[64], other[64];
    if (a->axis >= sum.rank)
        return node_refuse(g, node, "axis %lld of input %s does not exist", (long long)a->axis,
                           shape_text(sum, one));
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        struct shape shape = node_input(g, node, i)->shape;
        int64_t side = a->axis < shape.rank ? shape.dim[a->axis] : 0;
        struct shape expected = first->shape;
        expected.dim[a->axis] = side;
        if (!shape_equal(shape, expected) || !size_add(sum.dim[a->axis], side, &sum.dim[a->axis]))
            return node_refuse(g, node, "input %u is %s, which does not fit %s on axis %lld", i,
                               shape_text(shape, one), shape_text(first->shape, other),
                               (long long)a->axis);
    }
    node_set_output(g, id, 0, first->dtype, sum);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    int64_t axis = ((const struct concat_attrs *)graph_node(g, id)->attrs)->axis, begin = 0;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    uint32_t n_inputs = graph_node(g, id)->n_inputs;
    for (uint32_t i = 0; i < n_inputs; i++) {
        int64_t end = begin + node_input(g, graph_node(g, id), i)->shape.dim[axis];
        struct slice_attrs part = {.begin = {.n = (int)axis + 1}, .end = {.n = (int)axis + 1}};
        node_id backward;
        part.begin.at[axis] = begin;
        part.end.at[axis] = end;
        begin = end;
        if (!autodiff_wants(ad, id, i))
            continue;
        TRY(autodiff_append(
            ad, id,
            &(struct backward_spec){
                .op = &op_slice, .attrs = &part, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
            &backward));
        TRY(autodiff_give(ad, id, i, graph_node(g, backward)->outputs[0]));
    }
    return NULL;
}

static void reference(const struct op_call *call) {
    const struct concat_attrs *a = call->attrs;
    int64_t begin = 0;
    for (uint32_t t = 0; t < call->n_in; t++) {
        struct shape shape = call->in[t].shape;
        for (int64_t i = 0; i < shape_elements(shape); i++) {
            int64_t index[MAX_RANK];
            index_of(shape, i, index);
            index[a->axis] += begin;
            tensor_set(&call->out[0], index_place(call->out[0].shape, index),
                       tensor_get(&call->in[t], i));
        }
        begin += shape.dim[a->axis];
    }
}

const struct op_def op_concat = {
    .name = "concat",
    .summary = "the inputs behind each other along an axis (x, …) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct concat_attrs),
    .min_inputs = 1,
    .max_inputs = UINT32_MAX,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
