/* conv2d: y[n,o,p] = b[o] + Σ_{c,k} x[n,c,s p − pad + d k] w[o,c,k], optionally through a ReLU;
 * x (N,C,H,W), w (O,C/groups,kh,kw), b (O). PyTorch's Conv2d.
 * Backward of the data needs w, of the weight x: two ops with two sets of needs. */
#include "ops/conv2d.h"

#include "ops/autodiff.h"
#include "ops/index.h"

static const struct attr_def attrs[] = {
    {"stride", ATTR_INTS, offsetof(struct conv2d_attrs, stride), 0, 0, 0},
    {"padding", ATTR_INTS, offsetof(struct conv2d_attrs, padding), 0, 0, 0},
    {"dilation", ATTR_INTS, offsetof(struct conv2d_attrs, dilation), 0, 0, 0},
    {"groups", ATTR_INT, offsetof(struct conv2d_attrs, groups), 1, 1, 1 << 20},
    {"input", ATTR_INTS, offsetof(struct conv2d_attrs, input), 0, 0, 0},
    {"kernel", ATTR_INTS, offsetof(struct conv2d_attrs, kernel), 0, 0, 0},
    {"relu", ATTR_BOOL, offsetof(struct conv2d_attrs, relu), 0, 0, 1},
    {"bias", ATTR_BOOL, offsetof(struct conv2d_attrs, bias), 0, 0, 1},
    ATTR_END,
};

int64_t conv2d_output(int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                      int64_t dilation) {
    int64_t room = input + 2 * padding - dilation * (kernel - 1) - 1;
    return room < 0 || stride < 1 ? 0 : room / stride + 1;
}

void conv2d_geometry_of(const neap_graph *g, const struct node *node, struct conv2d_geometry *out) {
    const struct conv2d_attrs *a = node->attrs;
    const int64_t *first = node_input(g, node, 0)->shape.dim;
    const int64_t *second = node_input(g, node, 1)->shape.dim;
    *out = (struct conv2d_geometry){.batch = first[0], .groups = a->groups};
    int_list_sides(&a->stride, 1, out->stride);
    int_list_sides(&a->padding, 0, out->padding);
    int_list_sides(&a->dilation, 1, out->dilation);
    int_list_sides(&a->input, 0, out->input);
    int_list_sides(&a->kernel, 0, out->kernel);
    bool data = node->op == &op_conv2d_backward_data;
    bool weight = node->op == &op_conv2d_backward_weight;
    out->in_channels = data ? second[1] * a->groups : first[1];
    out->out_channels = data ? first[1] : weight ? second[1] : second[0];
    for (int i = 0; i < 2; i++) {
        if (!weight)
            out->kernel[i] = second[2 + i];
        if (!data)
            out->input[i] = first[2 + i];
        out->output[i] = conv2d_output(out->input[i], out->kernel[i], out->stride[i],
                                       out->padding[i], out->dilation[i]);
    }
}

static void cost(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    struct conv2d_geometry c;
    conv2d_geometry_of(g, node, &c);
    cost_elementwise(g, node, cost);
    cost->flops = 2.0 * (double)(c.batch * c.out_channels) * (double)(c.output[0] * c.output[1]) *
                  (double)(c.in_channels / c.groups) * (double)(c.kernel[0] * c.kernel[1]);
}

/* Where kernel place k of output place p reads along axis a; false in the padding. */
static bool input_place(const struct conv2d_geometry *c, int a, int64_t p, int64_t k, int64_t *at) {
    *at = p * c->stride[a] - c->padding[a] + k * c->dilation[a];
    return *at >= 0 && *at < c->input[a];
}

/* The output place along axis a that reads input place `at` with kernel place k, if one does. */
static bool output_place(const struct conv2d_geometry *c, int a, int64_t at, int64_t k,
                         int64_t *p) {
    int64_t shifted = at + c->padding[a] - k * c->dilation[a];
    *p = shifted / c->stride[a];
    return shifted >= 0 && shifted % c->stride[a] == 0 && *p < c->output[a];
}

/* Where element (i,j,h,w) of a rank-4 tensor lies. */
static int64_t at4(const struct tensor *t, int64_t i, int64_t j, int64_t h, int64_t w) {
    const int64_t *d = t->shape.dim;
    return ((i * d[1] + j) * d[2] + h) * d[3] + w;
}

/* Σ a[i + e area_a] b[j + e area_b] over n values of e, channels of a rank-4 tensor. */
static double channels_product(const struct tensor *a, int64_t i, int64_t area_a,
                               const struct tensor *b, int64_t j, int64_t area_b, int64_t n) {
    double sum = 0;
    for (int64_t e = 0; e < n; e++)
        sum += tensor_get(a, i + e * area_a) * tensor_get(b, j + e * area_b);
    return sum;
}

/* A call of a reference kernel as the graph's node would be seen. */
static struct conv2d_geometry call_geometry(const struct op_call *call, const struct op_def *op) {
    struct value values[2] = {{.shape = call->in[0].shape}, {.shape = call->in[1].shape}};
    struct node node = {.op = op,
                        .attrs = (void *)(uintptr_t)call->attrs,
                        .inputs = (value_id[]){0, 1},
                        .n_inputs = 2};
    struct conv2d_geometry c;
    conv2d_geometry_of(&(neap_graph){.values = values, .n_values = 2}, &node, &c);
    return c;
}

/* ---- backward data -------------------------------------------------------------------------- */

static neap_error *data_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *dy = node_input(g, node, 0), *w = node_input(g, node, 1);
    if (dy->shape.rank != 4 || w->shape.rank != 4 || dy->shape.dim[1] != w->shape.dim[0])
        return node_refuse(g, node, "the gradient's and the weight's shapes do not match");
    struct conv2d_geometry c;
    conv2d_geometry_of(g, node, &c);
    if (c.output[0] != dy->shape.dim[2] || c.output[1] != dy->shape.dim[3])
        return node_refuse(g, node, "the gradient's size is not that of the output");
    node_set_output(g, id, 0, dy->dtype,
                    shape_of(4, (int64_t[]){c.batch, c.in_channels, c.input[0], c.input[1]}));
    return NULL;
}

static double data_at(const struct conv2d_geometry *c, const struct op_call *call, int64_t n,
                      int64_t channel, int64_t h, int64_t w) {
    int64_t in_group = c->in_channels / c->groups, out_group = c->out_channels / c->groups;
    int64_t first = channel / in_group * out_group, p, q;
    int64_t area = c->output[0] * c->output[1];
    int64_t filter = in_group * c->kernel[0] * c->kernel[1];
    const struct tensor *dy = &call->in[0], *weight = &call->in[1];
    double sum = 0;
    for (int64_t k = 0; k < c->kernel[0]; k++)
        for (int64_t l = 0; l < c->kernel[1]; l++)
            if (output_place(c, 0, h, k, &p) && output_place(c, 1, w, l, &q))
                sum += channels_product(dy, at4(dy, n, first, p, q), area, weight,
                                        at4(weight, first, channel % in_group, k, l), filter,
                                        out_group);
    return sum;
}

static void data_reference(const struct op_call *call) {
    struct conv2d_geometry c = call_geometry(call, &op_conv2d_backward_data);
    int64_t area = c.input[0] * c.input[1];
    for (int64_t i = 0; i < c.batch * c.in_channels * area; i++)
        tensor_set(&call->out[0], i,
                   data_at(&c, call, i / area / c.in_channels, i / area % c.in_channels,
                           i % area / c.input[1], i % c.input[1]));
}

const struct op_def op_conv2d_backward_data = {
    .name = "conv2d_backward_data",
    .summary = "the gradient of conv2d's input (dy, w) → dx",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct conv2d_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = data_infer,
    .cost = cost,
    .reference = data_reference,
};

/* ---- backward weight ------------------------------------------------------------------------ */

static neap_error *weight_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0), *dy = node_input(g, node, 1);
    if (x->shape.rank != 4 || dy->shape.rank != 4 || x->shape.dim[0] != dy->shape.dim[0])
        return node_refuse(g, node, "the input's and the gradient's shapes do not match");
    struct conv2d_geometry c;
    conv2d_geometry_of(g, node, &c);
    enum dtype sums = dtype_of_sums(x->dtype);
    node_set_output(g, id, 0, sums,
                    shape_of(4, (int64_t[]){c.out_channels, c.in_channels / c.groups, c.kernel[0],
                                            c.kernel[1]}));
    if (node->n_outputs > 1)
        node_set_output(g, id, 1, sums, shape_of(1, &c.out_channels));
    return NULL;
}

static double weight_at(const struct conv2d_geometry *c, const struct op_call *call, int64_t o,
                        int64_t channel, int64_t k, int64_t l) {
    int64_t in_group = c->in_channels / c->groups, out_group = c->out_channels / c->groups, h, w;
    const struct tensor *x = &call->in[0], *dy = &call->in[1];
    double sum = 0;
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t p = 0; p < c->output[0]; p++) {
            if (!input_place(c, 0, p, k, &h))
                continue;
            int64_t row = at4(x, n, o / out_group * in_group + channel, h, 0);
            int64_t dy_row = at4(dy, n, o, p, 0);
            for (int64_t q = 0; q < c->output[1]; q++)
                if (input_place(c, 1, q, l, &w))
                    sum += tensor_get(x, row + w) * tensor_get(dy, dy_row + q);
        }
    return sum;
}

static void weight_reference(const struct op_call *call) {
    struct conv2d_geometry c = call_geometry(call, &op_conv2d_backward_weight);
    const struct conv2d_attrs *a = call->attrs;
    int64_t area = c.kernel[0] * c.kernel[1], filter = c.in_channels / c.groups * area;
    int64_t out_area = c.output[0] * c.output[1];
    for (int64_t i = 0; i < c.out_channels * filter; i++)
        tensor_set(&call->out[0], i,
                   weight_at(&c, call, i / filter, i % filter / area, i % area / c.kernel[1],
                             i % c.kernel[1]));
    for (int64_t o = 0; a->bias && o < c.out_channels; o++) {
        double sum = 0;
        for (int64_t n = 0; n < c.batch; n++)
            for (int64_t p = 0; p < out_area; p++)
                sum += tensor_get(&call->in[1], (n * c.out_channels + o) * out_area + p);
        tensor_set(&call->out[1], o, sum);
    }
}

const struct op_def op_conv2d_backward_weight = {
    .name = "conv2d_backward_weight",
    .summary = "the gradients of conv2d's weight and, bias=1, bias (x, dy) → dw, [db]",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct conv2d_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 2,
    .infer = weight_infer,
    .cost = cost,
    .reference = weight_reference,
};

/* ---- forward -------------------------------------------------------------------------------- */

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct conv2d_attrs *a = node->attrs;
    const struct value *x = node_input(g, node, 0), *w = node_input(g, node, 1);
    const struct value *b = node_input(g, node, 2);
    char xt[64], wt[64];
    if (x->shape.rank != 4 || w->shape.rank != 4 ||
        x->shape.dim[1] != w->shape.dim[1] * a->groups || w->shape.dim[0] % a->groups)
        return node_refuse(g, node, "input %s does not fit weight %s in %lld groups",
                           shape_text(x->shape, xt), shape_text(w->shape, wt),
                           (long long)a->groups);
    if (b && !shape_equal(b->shape, shape_of(1, w->shape.dim)))
        return node_refuse(g, node, "the bias should have %lld elements",
                           (long long)w->shape.dim[0]);
    struct conv2d_geometry c;
    conv2d_geometry_of(g, node, &c);
    for (int i = 0; i < 2; i++)
        if (c.stride[i] < 1 || c.dilation[i] < 1 || c.padding[i] < 0 || c.output[i] < 1)
            return node_refuse(g, node, "input %s is too small for kernel %lldx%lld",
                               shape_text(x->shape, xt), (long long)c.kernel[0],
                               (long long)c.kernel[1]);
    node_set_output(g, id, 0, x->dtype,
                    shape_of(4, (int64_t[]){c.batch, c.out_channels, c.output[0], c.output[1]}));
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    value_id dy = autodiff_output_gradient(ad, id, 0);
    value_id x = graph_node(g, id)->inputs[0], w = graph_node(g, id)->inputs[1];
    bool bias = autodiff_wants(ad, id, 2);
    struct conv2d_geometry c;
    conv2d_geometry_of(g, graph_node(g, id), &c);
    struct conv2d_attrs a = *(const struct conv2d_attrs *)graph_node(g, id)->attrs;
    a.relu = false;
    node_id backward;
    if (autodiff_wants(ad, id, 1) || bias) {
        struct conv2d_attrs with_kernel = a;
        with_kernel.kernel = (struct int_list){2, {c.kernel[0], c.kernel[1]}};
        with_kernel.bias = bias;
        TRY(autodiff_append(ad, id,
                            &(struct backward_spec){.op = &op_conv2d_backward_weight,
                                                    .attrs = &with_kernel,
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
    struct conv2d_attrs with_input = a;
    with_input.input = (struct int_list){2, {c.input[0], c.input[1]}};
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_conv2d_backward_data,
                                                .attrs = &with_input,
                                                .inputs = (value_id[]){dy, w},
                                                .n_inputs = 2,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static double output_at(const struct conv2d_geometry *c, const struct op_call *call, int64_t n,
                        int64_t o, int64_t p, int64_t q) {
    int64_t in_group = c->in_channels / c->groups, out_group = c->out_channels / c->groups, h, w;
    int64_t first = o / out_group * in_group, area = c->input[0] * c->input[1];
    int64_t kernel_area = c->kernel[0] * c->kernel[1];
    const struct tensor *x = &call->in[0], *weight = &call->in[1];
    double sum = call->n_in > 2 && call->in[2].data ? tensor_get(&call->in[2], o) : 0;
    for (int64_t k = 0; k < c->kernel[0]; k++)
        for (int64_t l = 0; l < c->kernel[1]; l++)
            if (input_place(c, 0, p, k, &h) && input_place(c, 1, q, l, &w))
                sum += channels_product(x, at4(x, n, first, h, w), area, weight,
                                        at4(weight, o, 0, k, l), kernel_area, in_group);
    return sum;
}

static void reference(const struct op_call *call) {
    struct conv2d_geometry c = call_geometry(call, &op_conv2d);
    const struct conv2d_attrs *a = call->attrs;
    int64_t area = c.output[0] * c.output[1];
    for (int64_t i = 0; i < c.batch * c.out_channels * area; i++) {
        double y = output_at(&c, call, i / area / c.out_channels, i / area % c.out_channels,
                             i % area / c.output[1], i % c.output[1]);
        tensor_set(&call->out[0], i, a->relu && y < 0 ? 0 : y);
    }
}

const struct op_def op_conv2d = {
    .name = "conv2d",
    .summary = "2-D convolution, relu=1: max(y, 0) (x, w, [b]) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct conv2d_attrs),
    .min_inputs = 2,
    .max_inputs = 3,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost,
    .reference = reference,
};
