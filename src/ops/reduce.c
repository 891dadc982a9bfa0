/* reduce_sum and reduce_mean over some axes, or all. Backward spreads the gradient over them. */
#include "ops/reduce.h"

#include "ops/autodiff.h"
#include "ops/index.h"

static const struct attr_def attrs[] = {
    {"axes", ATTR_INTS, offsetof(struct reduce_attrs, axes), 0, 0, 0},
    {"keep", ATTR_BOOL, offsetof(struct reduce_attrs, keep), 0, 0, 1},
    {"dims", ATTR_INTS, offsetof(struct reduce_attrs, dims), 0, 0, 0},
    {"scale", ATTR_FLOAT, offsetof(struct reduce_attrs, scale), 1, -1e300, 1e300},
    ATTR_END,
};

/* The input's shape cut in two: 1 on the axes that are reduced, 1 on the others. An index of the
 * input is the sum of an index of each. */
struct halves {
    struct shape kept, reduced;
};

static bool halves_of(const struct reduce_attrs *a, struct shape input, struct halves *out) {
    *out = (struct halves){input, input};
    unsigned axes = a->axes.n ? 0 : (1u << input.rank) - 1;
    for (int i = 0; i < a->axes.n; i++) {
        if (a->axes.at[i] < 0 || a->axes.at[i] >= input.rank)
            return false;
        axes |= 1u << a->axes.at[i];
    }
    for (int d = 0; d < input.rank; d++)
        *(axes >> d & 1 ? &out->kept.dim[d] : &out->reduced.dim[d]) = 1;
    return true;
}

static int64_t input_place(const struct halves *h, struct shape input, int64_t kept,
                           int64_t reduced) {
    int64_t a[MAX_RANK], b[MAX_RANK];
    index_of(h->kept, kept, a);
    index_of(h->reduced, reduced, b);
    for (int d = 0; d < input.rank; d++)
        a[d] += b[d];
    return index_place(input, a);
}

/* ---- backward: dx = scale dy, over the axes
 * --------------------------------------------------------- */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct reduce_attrs *a = node->attrs;
    const struct value *dy = node_input(g, node, 0);
    struct halves h;
    struct shape input = shape_of(a->dims.n, a->dims.at);
    if (!halves_of(a, input, &h) || shape_elements(h.kept) != shape_elements(dy->shape))
        return node_refuse(g, node, "the gradient's shape is not that of the reduction");
    node_set_output(g, id, 0, dy->dtype, input);
    return NULL;
}

static void backward_reference(const struct op_call *call) {
    const struct reduce_attrs *a = call->attrs;
    struct halves h;
    halves_of(a, call->out[0].shape, &h);
    for (int64_t k = 0; k < shape_elements(h.kept); k++)
        for (int64_t r = 0; r < shape_elements(h.reduced); r++)
            tensor_set(&call->out[0], input_place(&h, call->out[0].shape, k, r),
                       a->scale * tensor_get(&call->in[0], k));
}

const struct op_def op_reduce_backward = {
    .name = "reduce_backward",
    .summary = "dx = scale dy, the same over the axes (dy) → dx",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct reduce_attrs),
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
    const struct reduce_attrs *a = node->attrs;
    const struct value *x = node_input(g, node, 0);
    struct halves h;
    char text[64];
    if (!halves_of(a, x->shape, &h))
        return node_refuse(g, node, "an axis is not one of input %s", shape_text(x->shape, text));
    struct shape shape = {0};
    unsigned axes = a->axes.n ? 0 : ~0u;
    for (int i = 0; i < a->axes.n; i++)
        axes |= 1u << a->axes.at[i];
    for (int d = 0; d < x->shape.rank; d++)
        if (a->keep || !(axes >> d & 1))
            shape.dim[shape.rank++] = h.kept.dim[d];
    node_set_output(g, id, 0, x->dtype, shape);
    return NULL;
}

static double factor(const struct op_def *op, const struct halves *h) {
    return op == &op_reduce_mean ? 1 / (double)shape_elements(h->reduced) : 1;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    struct shape input = node_input(g, graph_node(g, id), 0)->shape;
    struct reduce_attrs a = *(const struct reduce_attrs *)graph_node(g, id)->attrs;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    struct halves h;
    node_id backward;
    halves_of(&a, input, &h);
    a.keep = false;
    a.dims = int_list_of_shape(input);
    a.scale = factor(graph_node(g, id)->op, &h);
    TRY(autodiff_append(
        ad, id,
        &(struct backward_spec){
            .op = &op_reduce_backward, .attrs = &a, .inputs = &dy, .n_inputs = 1, .n_outputs = 1},
        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reduce(const struct op_call *call, const struct op_def *op) {
    struct halves h;
    halves_of(call->attrs, call->in[0].shape, &h);
    for (int64_t k = 0; k < shape_elements(h.kept); k++) {
        double sum = 0;
        for (int64_t r = 0; r < shape_elements(h.reduced); r++)
            sum += tensor_get(&call->in[0], input_place(&h, call->in[0].shape, k, r));
        tensor_set(&call->out[0], k, sum * factor(op, &h));
    }
}

static void sum_reference(const struct op_call *call) {
    reduce(call, &op_reduce_sum);
}

const struct op_def op_reduce_sum = {
    .name = "reduce_sum",
    .summary = "the sum over the axes, empty: all (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct reduce_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = sum_reference,
};

static void mean_reference(const struct op_call *call) {
    reduce(call, &op_reduce_mean);
}

const struct op_def op_reduce_mean = {
    .name = "reduce_mean",
    .summary = "the mean over the axes, empty: all (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct reduce_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = mean_reference,
};
