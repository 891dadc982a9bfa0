/* slice: y[i] = x[begin + step i] in every dimension. */
#include "ops/slice.h"

#include "ops/autodiff.h"
#include "ops/index.h"

static const struct attr_def attrs[] = {
    {"begin", ATTR_INTS, offsetof(struct slice_attrs, begin), 0, 0, 0},
    {"end", ATTR_INTS, offsetof(struct slice_attrs, end), 0, 0, 0},
    {"step", ATTR_INTS, offsetof(struct slice_attrs, step), 0, 0, 0},
    {"dims", ATTR_INTS, offsetof(struct slice_attrs, dims), 0, 0, 0},
    ATTR_END,
};

bool slice_geometry_of(const struct slice_attrs *a, struct shape input,
                       struct slice_geometry *out) {
    *out = (struct slice_geometry){.input = input, .output = input};
    for (int d = 0; d < input.rank; d++) {
        int64_t end = int_list_at(&a->end, d, 0), step = int_list_at(&a->step, d, 0);
        out->begin[d] = int_list_at(&a->begin, d, 0);
        out->step[d] = step ? step : 1;
        if (!end)
            end = input.dim[d];
        if (step < 0 || out->begin[d] < 0 || out->begin[d] >= end || end > input.dim[d])
            return false;
        out->output.dim[d] = (end - out->begin[d] - 1) / out->step[d] + 1;
    }
    return true;
}

/* The input's place of the output's element `at`. */
static int64_t input_place(const struct slice_geometry *s, int64_t at) {
    int64_t index[MAX_RANK];
    index_of(s->output, at, index);
    for (int d = 0; d < s->input.rank; d++)
        index[d] = s->begin[d] + s->step[d] * index[d];
    return index_place(s->input, index);
}

/* ---- backward: dy where it was taken from, zeros elsewhere
 * --------------------------------------- */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct slice_attrs *a = node->attrs;
    const struct value *dy = node_input(g, node, 0);
    struct slice_geometry s;
    if (!slice_geometry_of(a, shape_of(a->dims.n, a->dims.at), &s) ||
        !shape_equal(s.output, dy->shape))
        return node_refuse(g, node, "the gradient's shape is not that of the slice");
    node_set_output(g, id, 0, dy->dtype, s.input);
    return NULL;
}

static void backward_reference(const struct op_call *call) {
    struct slice_geometry s;
    slice_geometry_of(call->attrs, call->out[0].shape, &s);
    for (int64_t i = 0; i < shape_elements(s.input); i++)
        tensor_set(&call->out[0], i, 0);
    for (int64_t i = 0; i < shape_elements(s.output); i++)
        tensor_set(&call->out[0], input_place(&s, i), tensor_get(&call->in[0], i));
}

const struct op_def op_slice_backward = {
    .name = "slice_backward",
    .summary = "dx[begin + step i] = dy[i], zero elsewhere (dy) → dx",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct slice_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = backward_infer,
    .cost = cost_elementwise,
    .reference = backward_reference,
};

/* ---- forward -----------------------------------------------------------------------------------
 */

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0);
    struct slice_geometry s;
    char text[64];
    if (!slice_geometry_of(node->attrs, x->shape, &s))
        return node_refuse(g, node, "input %s has no such slice", shape_text(x->shape, text));
    node_set_output(g, id, 0, x->dtype, s.output);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    struct slice_attrs a = *(const struct slice_attrs *)graph_node(g, id)->attrs;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    node_id backward;
    a.dims = int_list_of_shape(node_input(g, graph_node(g, id), 0)->shape);
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_slice_backward, .attrs = &a, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void cost(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    cost->bytes_written = (double)value_bytes(node_output(g, node, 0));
    cost->bytes_read = cost->bytes_written;
}

static void reference(const struct op_call *call) {
    struct slice_geometry s;
    slice_geometry_of(call->attrs, call->in[0].shape, &s);
    for (int64_t i = 0; i < shape_elements(s.output); i++)
        tensor_set(&call->out[0], i, tensor_get(&call->in[0], input_place(&s, i)));
}

const struct op_def op_slice = {
    .name = "slice",
    .summary = "y[i] = x[begin + step i], end=0: to the end (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct slice_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost,
    .reference = reference,
};
