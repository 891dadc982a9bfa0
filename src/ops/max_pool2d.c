/* max_pool2d: the largest value of each window; optionally a second output, one byte an element:
 * which place of its window (row-major over the kernel) it was. Of equal values the first counts,
 * NaN beats all. PyTorch's MaxPool2d without dilation; windows of up to 255 places.
 * Backward needs the byte alone, neither x nor y. */
#include <math.h>

#include "ops/autodiff.h"
#include "ops/index.h"
#include "ops/pool2d.h"

static void cost(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    const struct pool2d_attrs *a = node->attrs;
    int64_t kernel[2];
    int_list_sides(&a->kernel, 1, kernel);
    cost_elementwise(g, node, cost);
    cost->flops =
        (double)shape_elements(node_output(g, node, 0)->shape) * (double)(kernel[0] * kernel[1]);
}

/* ---- backward: dx = Σ dy over the windows whose largest value this place was --------------------
 */

static neap_error *backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if (!shape_equal(node_input(g, node, 0)->shape, node_input(g, node, 1)->shape))
        return node_refuse(g, node, "the index's shape differs from the gradient's");
    return pool2d_backward_infer(g, id);
}

static double gradient_at(const struct pool2d_geometry *p, const struct op_call *call,
                          int64_t image, int64_t h, int64_t w) {
    int64_t first[2], end[2];
    double sum = 0;
    pool2d_readers(p, 0, h, &first[0], &end[0]);
    pool2d_readers(p, 1, w, &first[1], &end[1]);
    for (int64_t o = first[0]; o < end[0]; o++)
        for (int64_t q = first[1]; q < end[1]; q++) {
            int64_t at = (image * p->output[0] + o) * p->output[1] + q;
            int64_t k = h - pool2d_window_at(p, 0, o).start;
            int64_t l = w - pool2d_window_at(p, 1, q).start;
            if ((int64_t)tensor_get(&call->in[1], at) == k * p->kernel[1] + l)
                sum += tensor_get(&call->in[0], at);
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

const struct op_def op_max_pool2d_backward = {
    .name = "max_pool2d_backward",
    .summary = "dx = Σ dy of the windows that took their value here (dy, index) → dx",
    .attrs = pool2d_attr_table,
    .attrs_bytes = sizeof(struct pool2d_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = backward_infer,
    .cost = cost_elementwise,
    .reference = backward_reference,
};

/* ---- forward -----------------------------------------------------------------------------------
 */

static neap_error *infer(neap_graph *g, node_id id) {
    TRY(pool2d_infer(g, id));
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0), *y = node_output(g, node, 0);
    struct pool2d_geometry p = pool2d_geometry_of(node->attrs, x->shape, false);
    if (p.kernel[0] > MAX_POOL2D_AREA || p.kernel[0] * p.kernel[1] > MAX_POOL2D_AREA)
        return node_refuse(g, node, "kernel %lldx%lld has more than %d places",
                           (long long)p.kernel[0], (long long)p.kernel[1], MAX_POOL2D_AREA);
    if (node->n_outputs > 1)
        node_set_output(g, id, 1, DTYPE_U8, y->shape);
    return NULL;
}

static neap_error *gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    const struct node *node = graph_node(g, id);
    struct pool2d_attrs a = *(const struct pool2d_attrs *)node->attrs;
    struct shape input = node_input(g, node, 0)->shape, output = node_output(g, node, 0)->shape;
    value_id inputs[2] = {autodiff_output_gradient(ad, id, 0)};
    a.input = (struct int_list){2, {input.dim[2], input.dim[3]}};
    TRY(graph_add_output(g, id, "index", VALUE_SAVED, DTYPE_U8, output, &inputs[1]));
    node_id backward;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_max_pool2d_backward,
                                                .attrs = &a,
                                                .inputs = inputs,
                                                .n_inputs = 2,
                                                .n_outputs = 1},
                        &backward));
    return autodiff_give(ad, id, 0, graph_node(g, backward)->outputs[0]);
}

/* The largest value of a window; its place in the kernel to *index. */
static double largest(const struct pool2d_geometry *p, const struct tensor *x, int64_t image,
                      const struct pool2d_window *rows, const struct pool2d_window *columns,
                      int64_t *index) {
    double best = -INFINITY;
    *index = (rows->begin - rows->start) * p->kernel[1] + columns->begin - columns->start;
    for (int64_t h = rows->begin; h < rows->end; h++)
        for (int64_t w = columns->begin; w < columns->end; w++) {
            double value = tensor_get(x, (image * p->input[0] + h) * p->input[1] + w);
            if (!(value > best) && !isnan(value))
                continue;
            best = value;
            *index = (h - rows->start) * p->kernel[1] + w - columns->start;
        }
    return best;
}

static void reference(const struct op_call *call) {
    struct pool2d_geometry p = pool2d_geometry_of(call->attrs, call->in[0].shape, false);
    int64_t area = p.output[0] * p.output[1];
    for (int64_t i = 0; i < p.batch * p.channels * area; i++) {
        struct pool2d_window rows = pool2d_window_at(&p, 0, i % area / p.output[1]);
        struct pool2d_window columns = pool2d_window_at(&p, 1, i % p.output[1]);
        int64_t index;
        tensor_set(&call->out[0], i, largest(&p, &call->in[0], i / area, &rows, &columns, &index));
        if (call->n_out > 1)
            tensor_set(&call->out[1], i, (double)index);
    }
}

const struct op_def op_max_pool2d = {
    .name = "max_pool2d",
    .summary = "the largest value of each window (x) → y, [index]",
    .attrs = pool2d_attr_table,
    .attrs_bytes = sizeof(struct pool2d_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 2,
    .infer = infer,
    .gradient = gradient,
    .cost = cost,
    .reference = reference,
};
