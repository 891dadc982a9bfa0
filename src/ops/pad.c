/* pad: zeros before and after each dimension. Its gradient is a slice. */
#include "ops/pad.h"

#include "ops/autodiff.h"
#include "ops/index.h"
#include "ops/slice.h"

static const struct attr_def attrs[] = {
    {"before", ATTR_INTS, offsetof(struct pad_attrs, before), 0, 0, 0},
    {"after", ATTR_INTS, offsetof(struct pad_attrs, after), 0, 0, 0},
    ATTR_END,
};

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct pad_attrs *a = node->attrs;
    const struct value *x = node_input(g, node, 0);
    struct shape shape = x->shape;
    for (int d = 0; d < shape.rank; d++) {
        int64_t before = int_list_at(&a->before, d, 0), after = int_list_at(&a->after, d, 0);
        if (before < 0 || after < 0 || !size_add(shape.dim[d], before, &shape.dim[d]) ||
            !size_add(shape.dim[d], after, &shape.dim[d]))
            return node_refuse(g, node, "cannot pad dimension %d by %lld and %lld", d,
                               (long long)before, (long long)after);
    }
    node_set_output(g, id, 0, x->dtype, shape);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const struct pad_attrs *a = graph_node(g, id)->attrs;
    struct shape input = node_input(g, graph_node(g, id), 0)->shape;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    struct slice_attrs inner = {.begin = {.n = input.rank}, .end = {.n = input.rank}};
    node_id backward;
    for (int d = 0; d < input.rank; d++) {
        inner.begin.at[d] = int_list_at(&a->before, d, 0);
        inner.end.at[d] = inner.begin.at[d] + input.dim[d];
    }
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_slice, .attrs = &inner, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const struct pad_attrs *a = call->attrs;
    struct shape input = call->in[0].shape, output = call->out[0].shape;
    for (int64_t i = 0; i < shape_elements(output); i++)
        tensor_set(&call->out[0], i, 0);
    for (int64_t i = 0; i < shape_elements(input); i++) {
        int64_t index[MAX_RANK];
        index_of(input, i, index);
        for (int d = 0; d < input.rank; d++)
            index[d] += int_list_at(&a->before, d, 0);
        tensor_set(&call->out[0], index_place(output, index), tensor_get(&call->in[0], i));
    }
}

const struct op_def op_pad = {
    .name = "pad",
    .summary = "zeros before and after each dimension (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct pad_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
