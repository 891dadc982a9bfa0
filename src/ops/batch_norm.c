/* Batch norm (Ioffe & Szegedy 2015): y = (x − mean) / √(var + eps) γ + β per channel of (N,C,H,W)
 * or (N,C), optionally plus a residual, optionally through a ReLU. Definitions; see batch_norm.h.
 *
 * All is computed as y = x a + b with a = γ / √(var + eps), b = β − mean a, so that backward can
 * tell the sign of y from x alone: with relu=1 backward needs neither y nor a mask. */
#include "ops/batch_norm.h"

#include <math.h>

#include "ops/autodiff.h"

static const struct attr_def attrs[] = {
    {"eps", ATTR_FLOAT, offsetof(struct batch_norm_attrs, eps), 1e-5, 0, 1},
    {"momentum", ATTR_FLOAT, offsetof(struct batch_norm_attrs, momentum), 0.1, 0, 1},
    {"count", ATTR_INT, offsetof(struct batch_norm_attrs, count), 0, 0, 9e15},
    {"relu", ATTR_BOOL, offsetof(struct batch_norm_attrs, relu), 0, 0, 1},
    ATTR_END,
};

/* Inputs 1.. of x's node are one number a channel. */
static neap_error *check_channels(const neap_graph *g, const struct node *node, uint32_t first,
                                  uint32_t end) {
    const struct value *x = node_input(g, node, 0);
    if (x->shape.rank != 2 && x->shape.rank != 4)
        return node_refuse(g, node, "the input should have rank 2 or 4, not %d", x->shape.rank);
    for (uint32_t i = first; i < end && i < node->n_inputs; i++)
        if (!shape_equal(node_input(g, node, i)->shape, shape_of(1, &x->shape.dim[1])))
            return node_refuse(g, node, "input %u should have %lld elements", i,
                               (long long)x->shape.dim[1]);
    return NULL;
}

/* Walks x's elements channel by channel: element e of channel c. */
struct walk {
    int64_t channels, area, count; /* count: elements per channel */
};

static struct walk walk_of(struct shape shape) {
    struct walk walk = {.channels = shape.dim[1], .area = 1};
    for (int i = 2; i < shape.rank; i++)
        walk.area *= shape.dim[i];
    walk.count = shape.dim[0] * walk.area;
    return walk;
}

static int64_t walk_at(struct walk walk, int64_t c, int64_t e) {
    return (e / walk.area * walk.channels + c) * walk.area + e % walk.area;
}

/* ---- statistics ----------------------------------------------------------------------------- */

static neap_error *stats_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check_channels(g, node, 1, 1));
    const struct value *x = node_input(g, node, 0);
    if (walk_of(x->shape).count < 2)
        return node_refuse(g, node,
                           "batch statistics of one value per channel: use a larger batch "
                           "or image");
    for (uint32_t i = 0; i < 2; i++)
        node_set_output(g, id, i, dtype_of_sums(x->dtype),
                        shape_of(1, &node_input(g, node, 0)->shape.dim[1]));
    return NULL;
}

static void stats_reference(const struct op_call *call) {
    struct walk walk = walk_of(call->in[0].shape);
    for (int64_t c = 0; c < walk.channels; c++) {
        double mean = 0, var = 0;
        for (int64_t e = 0; e < walk.count; e++)
            mean += tensor_get(&call->in[0], walk_at(walk, c, e));
        mean /= (double)walk.count;
        for (int64_t e = 0; e < walk.count; e++) {
            double d = tensor_get(&call->in[0], walk_at(walk, c, e)) - mean;
            var += d * d;
        }
        tensor_set(&call->out[0], c, mean);
        tensor_set(&call->out[1], c, var / (double)walk.count);
    }
}

const struct op_def op_batch_norm_stats = {
    .name = "batch_norm_stats",
    .summary = "mean and (biased) variance of each channel (x) → mean, var",
    .flags = OP_MIXES_SAMPLES,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 2,
    .max_outputs = 2,
    .infer = stats_infer,
    .cost = cost_elementwise,
    .reference = stats_reference,
};

/* ---- running statistics --------------------------------------------------------------------- */

static neap_error *running_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if (node->n_updates != 2)
        return node_refuse(g, node, "should update the running mean and variance");
    return NULL;
}

static void running_reference(const struct op_call *call) {
    const struct batch_norm_attrs *a = call->attrs;
    double unbiased = (double)a->count / (double)(a->count - 1);
    for (int64_t c = 0; c < call->in[0].shape.dim[0]; c++)
        for (int i = 0; i < 2; i++) {
            double now = tensor_get(&call->in[i], c) * (i ? unbiased : 1);
            double old = tensor_get(&call->up[i], c);
            tensor_set(&call->up[i], c, (1 - a->momentum) * old + a->momentum * now);
        }
}

const struct op_def op_batch_norm_running = {
    .name = "batch_norm_running",
    .summary = "running = (1 − m) running + m now, variance × n/(n−1) (mean, var), updates both",
    .flags = OP_EFFECT,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct batch_norm_attrs),
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = running_infer,
    .cost = cost_elementwise,
    .reference = running_reference,
};

/* ---- apply ---------------------------------------------------------------------------------- */

/* y = x a + b of channel c, from inputs mean, var, γ, β starting at in[1]. */
static void scale_shift(const struct tensor *in, int64_t c, double eps, double *a, double *b) {
    *a = tensor_get(&in[2], c) / sqrt(tensor_get(&in[1], c) + eps);
    *b = tensor_get(&in[3], c) - tensor_get(&in[0], c) * *a;
}

static neap_error *apply_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check_channels(g, node, 1, 5));
    const struct value *x = node_input(g, node, 0), *residual = node_input(g, node, 5);
    if (residual && !shape_equal(residual->shape, x->shape))
        return node_refuse(g, node, "the residual's shape differs from the input's");
    node_set_output(g, id, 0, x->dtype, x->shape);
    if (node->n_outputs > 1)
        node_set_output(g, id, 1, DTYPE_BIT, x->shape);
    return NULL;
}

static void apply_reference(const struct op_call *call) {
    const struct batch_norm_attrs *at = call->attrs;
    struct walk walk = walk_of(call->in[0].shape);
    bool residual = call->n_in > 5 && call->in[5].data;
    for (int64_t c = 0; c < walk.channels; c++) {
        double a, b;
        scale_shift(call->in + 1, c, at->eps, &a, &b);
        for (int64_t e = 0; e < walk.count; e++) {
            int64_t i = walk_at(walk, c, e);
            double y = tensor_get(&call->in[0], i) * a + b;
            if (residual)
                y += tensor_get(&call->in[5], i);
            tensor_set(&call->out[0], i, at->relu && y < 0 ? 0 : y);
            if (call->n_out > 1)
                tensor_set(&call->out[1], i, y > 0);
        }
    }
}

/* Without a residual: the fused and the plain form differ in the attribute alone. With one, relu is
 * fused only after autodiff, which has then made the ReLU's own backward. */
static neap_error *apply_gradient(struct autodiff *ad, node_id id) {
    neap_graph *g = autodiff_graph(ad);
    struct batch_norm_attrs a = *(const struct batch_norm_attrs *)graph_node(g, id)->attrs;
    const value_id *in = graph_node(g, id)->inputs;
    value_id dy = autodiff_output_gradient(ad, id, 0);
    value_id inputs[8] = {in[0], dy, in[1], in[2], in[3], in[4]};
    node_id reduce, apply;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_batch_norm_backward_reduce,
                                                .attrs = &a,
                                                .inputs = inputs,
                                                .n_inputs = 6,
                                                .n_outputs = 2},
                        &reduce));
    for (uint32_t i = 0; i < 2; i++) {
        inputs[6 + i] = graph_node(g, reduce)->outputs[i];
        if (autodiff_wants(ad, id, 3 + i))
            TRY(autodiff_give(ad, id, 3 + i, inputs[6 + i]));
    }
    if (!autodiff_wants(ad, id, 0))
        return NULL;
    TRY(autodiff_append(ad, id,
                        &(struct backward_spec){.op = &op_batch_norm_backward_apply,
                                                .attrs = &a,
                                                .inputs = inputs,
                                                .n_inputs = 8,
                                                .n_outputs = 1},
                        &apply));
    return autodiff_give(ad, id, 0, graph_node(g, apply)->outputs[0]);
}

const struct op_def op_batch_norm_apply = {
    .name = "batch_norm_apply",
    .summary = "y = x a + b, a = γ/√(var+eps), b = β − mean a, [+ residual], relu=1: max(y, 0) "
               "(x, mean, var, γ, β, [residual]) → y, [mask]",
    .flags = 0,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct batch_norm_attrs),
    .min_inputs = 5,
    .max_inputs = 6,
    .min_outputs = 1,
    .max_outputs = 2,
    .overwrites = {{0, 0}, {5, 0}},
    .n_overwrites = 2,
    .infer = apply_infer,
    .gradient = apply_gradient,
    .cost = cost_elementwise,
    .reference = apply_reference,
};

/* ---- backward: dβ = Σ dy, dγ = Σ dy x̂, then dx --------------------------------------------- */

/* dy as it counts: 0 where the ReLU was closed. Inputs x, dy, mean, var, γ, β. */
static double open_gradient(const struct op_call *call, int64_t i, double a, double b) {
    const struct batch_norm_attrs *at = call->attrs;
    bool closed = at->relu && !(tensor_get(&call->in[0], i) * a + b > 0);
    return closed ? 0 : tensor_get(&call->in[1], i);
}

static neap_error *reduce_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check_channels(g, node, 2, 6));
    const struct value *x = node_input(g, node, 0);
    for (uint32_t i = 0; i < 2; i++)
        node_set_output(g, id, i, dtype_of_sums(x->dtype),
                        shape_of(1, &node_input(g, node, 0)->shape.dim[1]));
    return NULL;
}

static void reduce_reference(const struct op_call *call) {
    const struct batch_norm_attrs *at = call->attrs;
    struct walk walk = walk_of(call->in[0].shape);
    for (int64_t c = 0; c < walk.channels; c++) {
        double a, b, dgamma = 0, dbeta = 0, mean = tensor_get(&call->in[2], c);
        double inverse = 1 / sqrt(tensor_get(&call->in[3], c) + at->eps);
        scale_shift(call->in + 2, c, at->eps, &a, &b);
        for (int64_t e = 0; e < walk.count; e++) {
            int64_t i = walk_at(walk, c, e);
            double dy = open_gradient(call, i, a, b);
            dbeta += dy;
            dgamma += dy * (tensor_get(&call->in[0], i) - mean) * inverse;
        }
        tensor_set(&call->out[0], c, dgamma);
        tensor_set(&call->out[1], c, dbeta);
    }
}

const struct op_def op_batch_norm_backward_reduce = {
    .name = "batch_norm_backward_reduce",
    .summary = "dγ = Σ dy x̂, dβ = Σ dy (x, dy, mean, var, γ, β) → dγ, dβ",
    .flags = OP_MIXES_SAMPLES,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct batch_norm_attrs),
    .min_inputs = 6,
    .max_inputs = 6,
    .min_outputs = 2,
    .max_outputs = 2,
    .infer = reduce_infer,
    .cost = cost_elementwise,
    .reference = reduce_reference,
};

static neap_error *dx_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check_channels(g, node, 2, 8));
    const struct value *x = node_input(g, node, 0);
    node_set_output(g, id, 0, x->dtype, x->shape);
    return NULL;
}

static void dx_reference(const struct op_call *call) {
    const struct batch_norm_attrs *at = call->attrs;
    struct walk walk = walk_of(call->in[0].shape);
    for (int64_t c = 0; c < walk.channels; c++) {
        double a, b, mean = tensor_get(&call->in[2], c);
        double inverse = 1 / sqrt(tensor_get(&call->in[3], c) + at->eps);
        double dgamma = tensor_get(&call->in[6], c) / (double)walk.count;
        double dbeta = tensor_get(&call->in[7], c) / (double)walk.count;
        scale_shift(call->in + 2, c, at->eps, &a, &b);
        for (int64_t e = 0; e < walk.count; e++) {
            int64_t i = walk_at(walk, c, e);
            double xhat = (tensor_get(&call->in[0], i) - mean) * inverse;
            tensor_set(&call->out[0], i,
                       a * (open_gradient(call, i, a, b) - dbeta - xhat * dgamma));
        }
    }
}

const struct op_def op_batch_norm_backward_apply = {
    .name = "batch_norm_backward_apply",
    .summary = "dx = a (dy − dβ/n − x̂ dγ/n) (x, dy, mean, var, γ, β, dγ, dβ) → dx",
    .flags = OP_MIXES_SAMPLES,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct batch_norm_attrs),
    .min_inputs = 8,
    .max_inputs = 8,
    .min_outputs = 1,
    .max_outputs = 1,
    .overwrites = {{1, 0}, {0, 0}},
    .n_overwrites = 2,
    .infer = dx_infer,
    .cost = cost_elementwise,
    .reference = dx_reference,
};

/* ---- as users write it ---------------------------------------------------------------------- */

static neap_error *infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check_channels(g, node, 1, 5));
    node_set_output(g, id, 0, node_input(g, node, 0)->dtype, node_input(g, node, 0)->shape);
    return NULL;
}

const struct op_def op_batch_norm = {
    .name = "batch_norm",
    .summary = "batch norm (x, γ, β, running mean, running variance) → y; expanded before autodiff",
    .flags = OP_MIXES_SAMPLES,
    .attrs = attrs,
    .attrs_bytes = sizeof(struct batch_norm_attrs),
    .min_inputs = 5,
    .max_inputs = 5,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .cost = cost_elementwise,
};
