/* linear: y = x wᵀ + b, optionally through a ReLU; x (N,I), w (O,I), b (O), y (N,O).
 * Backward of the data needs w, of the weight x: two ops with two sets of needs. */
#include "ops/linear.h"

#include "ops/autodiff.h"

static const struct attr_def attrs[] = {
    {"relu", ATTR_BOOL, offsetof(struct linear_attrs, relu), 0, 0, 1},
    {"bias", ATTR_BOOL, offsetof(struct linear_attrs, bias), 0, 0, 1},
    ATTR_END,
};

/* 2 N I O for each of the three products; every tensor is touched once. */
static void cost(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    const struct value *a = node_input(g, node, 0), *b = node_input(g, node, 1);
    int64_t third = b->shape.dim[node->op == &op_linear ? 0 : 1];
    cost_elementwise(g, node, cost);
    cost->flops = 2.0 * (double)a->shape.dim[0] * (double)a->shape.dim[1] * (double)third;
}

/* ---- backward data: dx = dy w --------------------------------------------------------------- */

static neap_error *data_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *dy = node_input(g, node, 0), *w = node_input(g, node, 1);
    if (dy->shape.rank != 2 || w->shape.rank != 2 || dy->shape.dim[1] != w->shape.dim[0])
        return node_refuse(g, node, "the gradient's and the weight's shapes do not match");
    node_set_output(g, id, 0, dy->dtype,
                    shape_of(2, (int64_t[]){dy->shape.dim[0], w->shape.dim[1]}));
    return NULL;
}

/* Strips of columns: w is read along its rows. */
static void data_reference(const struct op_call *call) {
    enum { STRIP = 64 };
    const struct tensor *dy = &call->in[0], *w = &call->in[1], *dx = &call->out[0];
    int64_t n_out = w->shape.dim[0], n_in = w->shape.dim[1];
    for (int64_t n = 0; n < dy->shape.dim[0]; n++)
        for (int64_t first = 0; first < n_in; first += STRIP) {
            int64_t count = n_in - first < STRIP ? n_in - first : STRIP;
            double sum[STRIP] = {0};
            for (int64_t o = 0; o < n_out; o++)
                for (int64_t i = 0; i < count; i++)
                    sum[i] += tensor_get(dy, n * n_out + o) * tensor_get(w, o * n_in + first + i);
            for (int64_t i = 0; i < count; i++)
                tensor_set(dx, n * n_in + first + i, sum[i]);
        }
}

const struct op_def op_linear_backward_data = {
    .name = "linear_backward_data",
    .summary = "dx = dy w (dy, w) → dx",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct linear_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = data_infer,
    .cost = cost,
    .reference = data_reference,
};

/* ---- backward weight: dw = dyᵀ x, db = Σ dy; adds to its updates where it has no outputs ---- */

static neap_error *weight_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0), *dy = node_input(g, node, 1);
    if (x->shape.rank != 2 || dy->shape.rank != 2 || x->shape.dim[0] != dy->shape.dim[0])
        return node_refuse(g, node, "the input's and the gradient's shapes do not match");
    if (node->n_outputs > 0)
        node_set_output(g, id, 0, dtype_of_sums(x->dtype),
                        shape_of(2, (int64_t[]){dy->shape.dim[1], x->shape.dim[1]}));
    if (node->n_outputs > 1)
        node_set_output(g, id, 1, dtype_of_sums(x->dtype), shape_of(1, &dy->shape.dim[1]));
    return NULL;
}

static void weight_reference(const struct op_call *call) {
    const struct tensor *x = &call->in[0], *dy = &call->in[1];
    const struct tensor *into = call->n_out ? call->out : call->up;
    const struct linear_attrs *a = call->attrs;
    int64_t n_in = x->shape.dim[1], n_out = dy->shape.dim[1];
    for (int64_t o = 0; o < n_out; o++)
        for (int64_t i = 0; i < n_in + a->bias; i++) { /* one past the weights is the bias */
            const struct tensor *t = &into[i == n_in];
            int64_t at = i == n_in ? o : o * n_in + i;
            double sum = call->n_out ? 0 : tensor_get(t, at);
            for (int64_t n = 0; n < x->shape.dim[0]; n++)
                sum +=
                    tensor_get(dy, n * n_out + o) * (i == n_in ? 1 : tensor_get(x, n * n_in + i));
            tensor_set(t, at, sum);
        }
}

const struct op_def op_linear_backward_weight = {
    .name = "linear_backward_weight",
    .summary = "dw = dyᵀ x, db = Σ dy (x, dy) → dw, [db]; or adds to its updates",
    .flags = OP_ACCUMULATES,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct linear_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 0,
    .max_outputs = 2,
    .infer = weight_infer,
    .cost = cost,
    .reference = weight_reference,
};

/* ---- forward -------------------------------------------------------------------------------- */

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0), *w = node_input(g, node, 1);
    const struct value *b = node_input(g, node, 2);
    char xt[64], wt[64];
    if (x->shape.rank != 2 || w->shape.rank != 2 || x->shape.dim[1] != w->shape.dim[1])
        return node_refuse(g, node, "input %s does not fit weight %s", shape_text(x->shape, xt),
                           shape_text(w->shape, wt));
    if (b && !shape_equal(b->shape, shape_of(1, w->shape.dim)))
        return node_refuse(g, node, "the bias should have %lld elements",
                           (long long)w->shape.dim[0]);
    node_set_output(g, id, 0, x->dtype, shape_of(2, (int64_t[]){x->shape.dim[0], w->shape.dim[0]}));
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    value_id dy = autodiff_output_gradient(ad, id, 0);
    value_id x = graph_node(g, id)->inputs[0], w = graph_node(g, id)->inputs[1];
    bool bias = autodiff_wants(ad, id, 2);
    node_id backward;
    if (autodiff_wants(ad, id, 1) || bias) {
        TRY(autodiff_append(ad, id,
                            &(struct backward_spec){.op = &op_linear_backward_weight,
                                                    .attrs = &(struct linear_attrs){.bias = bias},
                                                    .inputs = (value_id[]){x, dy},
                                                    .n_inputs = 2,
                                                    .n_outputs = 1u + bias},
                            &backward));
        TRY(autodiff_give(ad, id, 1, graph_node(g, backward)->outputs[0]));
        if (bias)
            TRY(autodiff_give(ad, id, 2, graph_node(g, backward)->outputs[1]));
    }
    if (!autodiff_wants(ad, id, 0))
        return NULL;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_linear_backward_data,
                                                .inputs = (value_id[]){dy, w},
                                                .n_inputs = 2,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const struct tensor *x = &call->in[0], *w = &call->in[1], *y = &call->out[0];
    const struct linear_attrs *a = call->attrs;
    int64_t n_out = w->shape.dim[0], n_in = w->shape.dim[1];
    for (int64_t n = 0; n < x->shape.dim[0]; n++)
        for (int64_t o = 0; o < n_out; o++) {
            double sum = call->n_in > 2 && call->in[2].data ? tensor_get(&call->in[2], o) : 0;
            for (int64_t i = 0; i < n_in; i++)
                sum += tensor_get(x, n * n_in + i) * tensor_get(w, o * n_in + i);
            tensor_set(y, n * n_out + o, a->relu && sum < 0 ? 0 : sum);
        }
}

const struct op_def op_linear = {
    .name = "linear",
    .summary = "y = x wᵀ + b, relu=1: max(y, 0) (x, w, [b]) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct linear_attrs),
    .min_inputs = 2,
    .max_inputs = 3,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost,
    .reference = reference,
};
