/* concat: the inputs behind each other along one axis. Its gradients are slices. */
#include "ops/concat.h"

#include <string.h>

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

/* The longest earlier concat of this one's first inputs, two or more; ID_NONE. */
static node_id prefix_of(const neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct concat_attrs *a = node->attrs;
    node_id longest = ID_NONE;
    for (node_id n = 0; n < id; n++) {
        const struct node *other = graph_node(g, n);
        uint32_t least = longest == ID_NONE ? 2 : graph_node(g, longest)->n_inputs + 1;
        if (other->op == &op_concat &&
            ((const struct concat_attrs *)other->attrs)->axis == a->axis &&
            other->n_inputs >= least && other->n_inputs < node->n_inputs &&
            !memcmp(other->inputs, node->inputs, other->n_inputs * sizeof *node->inputs))
            longest = n;
    }
    return longest;
}

/* The slice of dy that begins at *begin and is as long as `target`, which it is given to. */
static neap_error *give_slice(struct autodiff *ad, node_id id, value_id target, int64_t *begin) {
    neap_graph *g = autodiff_graph(ad);
    int axis = (int)((const struct concat_attrs *)graph_node(g, id)->attrs)->axis;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    struct slice_attrs part = {.begin = {.n = axis + 1}, .end = {.n = axis + 1}};
    node_id backward;
    part.begin.at[axis] = *begin;
    *begin += graph_value(g, target)->shape.dim[axis];
    part.end.at[axis] = *begin;
    if (!autodiff_wants_value(ad, target))
        return NULL;
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_slice, .attrs = &part, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
        &backward));
    return autodiff_give_value(ad, id, target, graph_node(g, backward)->outputs[0]);
}

/* Where an earlier concat is of the same first values, as in DenseNet, what they get goes through
 * its output: n layers take n slices and sums, not n² / 2. */
static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    node_id prefix = prefix_of(g, id);
    uint32_t n_inputs = graph_node(g, id)->n_inputs, first = 0;
    int64_t begin = 0;
    if (prefix != ID_NONE) {
        TRY(give_slice(ad, id, graph_node(g, prefix)->outputs[0], &begin));
        first = graph_node(g, prefix)->n_inputs;
    }
    for (uint32_t i = first; i < n_inputs; i++)
        TRY(give_slice(ad, id, graph_node(g, id)->inputs[i], &begin));
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
