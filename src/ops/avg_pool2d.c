/* avg_pool2d: the mean of each window, padding counting as zeros (count_include_pad=1) or not at
 * all. PyTorch's AvgPool2d. Backward needs the gradient alone. */
#include "ops/autodiff.h"
#include "ops/index.h"
#include "ops/pool2d.h"

static void cost(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    const struct pool2d_attrs *a = node->attrs;
    const struct value *pooled =
        node->op == &op_avg_pool2d ? node_output(g, node, 0) : node_input(g, node, 0);
    int64_t kernel[2];
    int_list_sides(&a->kernel, 1, kernel);
    cost_elementwise(g, node, cost);
    cost->flops = (double)shape_elements(pooled->shape) * (double)(kernel[0] * kernel[1]);
}

/* What the sum over a window is divided by. */
static double divisor(const struct pool2d_attrs *a, const struct pool2d_window *rows,
                      const struct pool2d_window *columns) {
    return a->count_include_pad
               ? (double)(rows->divided * columns->divided)
               : (double)((rows->end - rows->begin) * (columns->end - columns->begin));
}

/* ---- backward: dx = Σ dy / divisor over the windows that hold this place
 * ------------------------- */

static double gradient_at(const struct pool2d_geometry *p, const struct op_call *call,
                          int64_t image, int64_t h, int64_t w) {
    int64_t first[2], end[2];
    double sum = 0;
    pool2d_readers(p, 0, h, &first[0], &end[0]);
    pool2d_readers(p, 1, w, &first[1], &end[1]);
    for (int64_t o = first[0]; o < end[0]; o++)
        for (int64_t q = first[1]; q < end[1]; q++) {
            struct pool2d_window rows = pool2d_window_at(p, 0, o);
            struct pool2d_window columns = pool2d_window_at(p, 1, q);
            sum += tensor_get(&call->in[0], (image * p->output[0] + o) * p->output[1] + q) /
                   divisor(call->attrs, &rows, &columns);
        }
    return sum;
}

static void backward_reference(const struct op_call *call) {
    struct pool2d_geometry p = pool2d_geometry_of(call->attrs, call->in[0].shape, true);
    int64_t area = p.input[0] * p.input[1];
    for (int64_t i = 0; i < p.batch * p.channels * area; i++)
        tensor_set(&call->out[0], i,
                   gradient_at(&p, call, i / area, i % area / p.input[1], i % p.input[1]));
}

const struct op_def op_avg_pool2d_backward = {
    .name = "avg_pool2d_backward",
    .summary = "dx = Σ dy / divisor of the windows that hold the place (dy) → dx",
    .attrs = pool2d_attr_table,
    .attrs_bytes = sizeof(struct pool2d_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = pool2d_backward_infer,
    .cost = cost,
    .reference = backward_reference,
};

/* ---- forward -----------------------------------------------------------------------------------
 */

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const struct node *node = graph_node(g, id);
    struct pool2d_attrs a = *(const struct pool2d_attrs *)node->attrs;
    struct shape input = node_input(g, node, 0)->shape;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    a.input = (struct int_list){2, {input.dim[2], input.dim[3]}};
    node_id backward;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_avg_pool2d_backward,
                                                .attrs = &a,
                                                .inputs = &dy,
                                                .n_inputs = 1,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

static void reference(const struct op_call *call) {
    struct pool2d_geometry p = pool2d_geometry_of(call->attrs, call->in[0].shape, false);
    int64_t area = p.output[0] * p.output[1];
    for (int64_t i = 0; i < p.batch * p.channels * area; i++) {
        struct pool2d_window rows = pool2d_window_at(&p, 0, i % area / p.output[1]);
        struct pool2d_window columns = pool2d_window_at(&p, 1, i % p.output[1]);
        double sum = 0;
        for (int64_t h = rows.begin; h < rows.end; h++)
            for (int64_t w = columns.begin; w < columns.end; w++)
                sum += tensor_get(&call->in[0], (i / area * p.input[0] + h) * p.input[1] + w);
        tensor_set(&call->out[0], i, sum / divisor(call->attrs, &rows, &columns));
    }
}

const struct op_def op_avg_pool2d = {
    .name = "avg_pool2d",
    .summary = "the mean of each window (x) → y",
    .attrs = pool2d_attr_table,
    .attrs_bytes = sizeof(struct pool2d_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = pool2d_infer,
    .gradient = gradient,
    .cost = cost,
    .reference = reference,
};
