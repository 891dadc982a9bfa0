/* adaptive_avg_pool2d: the mean of windows that cut the image into `output` parts, overlapping
 * where the sizes do not divide. PyTorch's AdaptiveAvgPool2d; output=1 is the global mean. */
#include "ops/adaptive_avg_pool2d.h"

#include "ops/autodiff.h"
#include "ops/index.h"

static const struct attr_def attrs[] = {
    {"output", ATTR_INTS, offsetof(struct adaptive_avg_pool2d_attrs, output), 0, 0, 0},
    {"input", ATTR_INTS, offsetof(struct adaptive_avg_pool2d_attrs, input), 0, 0, 0},
    ATTR_END,
};

/* Elements in place `at`'s window. */
static int64_t window(int64_t at, int64_t n_in, int64_t n_out) {
    return adaptive_end(at, n_in, n_out) - adaptive_begin(at, n_in, n_out);
}

/* Output 0 is like input 0, of other height and width. */
static neap_error *set_sides(neap_graph *g, node_id id, const struct int_list *sides) {
    const struct node *node = graph_node(g, id);
    const struct value *from = node_input(g, node, 0);
    struct shape shape = from->shape;
    if (shape.rank != 4)
        return node_refuse(g, node, "the input should have rank 4, not %d", shape.rank);
    int_list_sides(sides, 1, &shape.dim[2]);
    if (shape.dim[2] < 1 || shape.dim[3] < 1)
        return node_refuse(g, node, "sides of %lldx%lld make no image", (long long)shape.dim[2],
                           (long long)shape.dim[3]);
    node_set_output(g, id, 0, from->dtype, shape);
    return NULL;
}

/* ---- backward: dx = Σ dy / window over the windows that hold this place
 * --------------------------- */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct adaptive_avg_pool2d_attrs *a = graph_node(g, id)->attrs;
    return set_sides(g, id, &a->input);
}

/* The windows that hold input place `at` are a run that starts with floor(at n_out / n_in). */
static double gradient_at(const struct tensor *dy, int64_t image, const int64_t *sides, int64_t h,
                          int64_t w) {
    const int64_t *out = &dy->shape.dim[2];
    double sum = 0;
    for (int64_t o = h * out[0] / sides[0]; o < out[0]; o++) {
        if (adaptive_begin(o, sides[0], out[0]) > h)
            break;
        for (int64_t q = w * out[1] / sides[1]; q < out[1]; q++) {
            if (adaptive_begin(q, sides[1], out[1]) > w)
                break;
            sum += tensor_get(dy, (image * out[0] + o) * out[1] + q) /
                   (double)(window(o, sides[0], out[0]) * window(q, sides[1], out[1]));
        }
    }
    return sum;
}

static void backward_reference(const struct op_call *call) {
    const int64_t *sides = &call->out[0].shape.dim[2];
    int64_t area = sides[0] * sides[1];
    for (int64_t i = 0; i < shape_elements(call->out[0].shape); i++)
        tensor_set(&call->out[0], i,
                   gradient_at(&call->in[0], i / area, sides, i % area / sides[1], i % sides[1]));
}

const struct op_def op_adaptive_avg_pool2d_backward = {
    .name = "adaptive_avg_pool2d_backward",
    .summary = "dx = Σ dy / window over the windows that hold the place (dy) → dx",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct adaptive_avg_pool2d_attrs),
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
    const struct adaptive_avg_pool2d_attrs *a = graph_node(g, id)->attrs;
    return set_sides(g, id, &a->output);
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    struct shape input = node_input(g, graph_node(g, id), 0)->shape;
    struct adaptive_avg_pool2d_attrs a = {.input = {2, {input.dim[2], input.dim[3]}}};
    value_id dy = autodiff_output_gradient(ad, id, 0);
    node_id backward;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_adaptive_avg_pool2d_backward,
                                                .attrs = &a,
                                                .inputs = &dy,
                                                .n_inputs = 1,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    const int64_t *in = &call->in[0].shape.dim[2], *out = &call->out[0].shape.dim[2];
    int64_t area = out[0] * out[1];
    for (int64_t i = 0; i < shape_elements(call->out[0].shape); i++) {
        int64_t o = i % area / out[1], q = i % out[1];
        double sum = 0;
        for (int64_t h = adaptive_begin(o, in[0], out[0]); h < adaptive_end(o, in[0], out[0]); h++)
            for (int64_t w = adaptive_begin(q, in[1], out[1]); w < adaptive_end(q, in[1], out[1]);
                 w++)
                sum += tensor_get(&call->in[0], (i / area * in[0] + h) * in[1] + w);
        tensor_set(&call->out[0], i,
                   sum / (double)(window(o, in[0], out[0]) * window(q, in[1], out[1])));
    }
}

const struct op_def op_adaptive_avg_pool2d = {
    .name = "adaptive_avg_pool2d",
    .summary = "the mean of output[0] x output[1] parts of the image (x) → y",
    .attrs = attrs,
    .attrs_bytes = sizeof(struct adaptive_avg_pool2d_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .gradient = gradient,
    .cost = cost_elementwise,
    .reference = reference,
};
