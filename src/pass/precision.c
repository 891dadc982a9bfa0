/* precision: mixed precision. Which op reads and writes which type is a table; casts are nodes.
 *
 *   y = conv2d(x, w, b)    →   x' = cast(x)  w' = cast(w)   y = conv2d(x', w', b)   y in 16 bits
 *   l = softmax_cross_entropy(y)   →   y' = cast(y)   l = softmax_cross_entropy(y')     in fp32
 *
 * What an op writes follows from what it reads. So activations and their gradients are stored in 16
 * bits; parameters, their gradients, statistics, losses and buffers stay in fp32. A value is cast
 * to a type once. The cast of a parameter is a weight_copy, which can be made again like any
 * forward value.
 *
 * Needs: a forward graph, expanded, before autodiff, which then gives the gradients their types.
 * Breaks: values of the model that are floats need not be fp32 any more. Linear. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/cast.h"
#include "ops/ops.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* FP32: sums over many values, exponentials, what the host reads. HALF: ops that gain, and those
 * between them that would only be in the way. AS_IS: they take what they get. */
enum rule { FP32, HALF, AS_IS };

static const struct {
    const struct op_def *op;
    enum rule rule;
} rules[] = {
    {&op_conv2d, HALF},
    {&op_linear, HALF},
    {&op_batch_norm_stats, HALF},
    {&op_batch_norm_apply, HALF},
    {&op_relu, HALF},
    {&op_add, HALF},
    {&op_mul, HALF},
    {&op_max_pool2d, HALF},
    {&op_avg_pool2d, HALF},
    {&op_adaptive_avg_pool2d, HALF},
    {&op_dropout, HALF},
    {&op_concat, HALF},
    {&op_slice, AS_IS},
    {&op_pad, AS_IS},
    {&op_reshape, AS_IS},
    {&op_flatten, AS_IS},
    {&op_transpose, AS_IS},
    {&op_cast, AS_IS},
};

static enum rule rule_of(const struct op_def *op) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == op)
            return rules[i].rule;
    return FP32;
}

struct pass {
    struct rewrite rw;
    enum dtype half;
    value_id *cast_of; /* by new value; ID_NONE: not made */
    size_t cast_capacity;
};

static neap_error *cast(struct pass *pass, value_id from, enum dtype dtype, value_id *out) {
    neap_graph *g = pass->rw.to;
    size_t before = pass->cast_capacity;
    TRY(memory_grow(&pass->cast_of, &pass->cast_capacity, (size_t)from + 1, sizeof *out));
    for (size_t v = before; v < pass->cast_capacity; v++)
        pass->cast_of[v] = ID_NONE;
    *out = pass->cast_of[from];
    if (*out != ID_NONE)
        return NULL;
    const struct value *value = graph_value(g, from);
    bool weight = value->kind == VALUE_PARAMETER;
    char name[256];
    snprintf(name, sizeof name, "%s.%s", value->name, dtype_name(dtype));
    node_id node;
    TRY(graph_add_node(
        g,
        &(struct node_spec){.op = &op_cast,
                            .name = name,
                            .attrs = &(struct cast_attrs){.dtype = dtype},
                            .inputs = &from,
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .output_kind = weight ? VALUE_WEIGHT_COPY : VALUE_ACTIVATION},
        &node));
    *out = graph_node(g, node)->outputs[0];
    graph_value(g, *out)->of = weight ? from : ID_NONE;
    pass->cast_of[from] = *out;
    return NULL;
}

/* Vectors stay in fp32: biases, and numbers per channel. So do weights beside fp16, which no kernel
 * computes in: they would be widened again. */
static enum dtype wanted_type(const struct pass *pass, enum rule rule, const struct value *value) {
    bool wide =
        value->shape.rank < 2 || (value->kind == VALUE_PARAMETER && pass->half == DTYPE_F16);
    if (rule == HALF && value->dtype == DTYPE_F32 && !wide)
        return pass->half;
    return rule == FP32 && dtype_is_half(value->dtype) ? DTYPE_F32 : value->dtype;
}

/* While the node is copied, its inputs stand for their casts. */
static neap_error *convert_node(struct pass *pass, node_id n) {
    const struct node *node = graph_node(pass->rw.from, n);
    value_id *map = pass->rw.map, *kept;
    enum rule rule = rule_of(node->op);
    neap_error *error = NULL;
    uint32_t i = 0;
    TRY(memory_alloc(node->n_inputs, sizeof *kept, &kept));
    for (; i < node->n_inputs && !error; i++) {
        value_id old = node->inputs[i];
        kept[i] = rewrite_value(&pass->rw, old);
        if (kept[i] == ID_NONE)
            continue;
        const struct value *value = graph_value(pass->rw.to, kept[i]);
        enum dtype type = wanted_type(pass, rule, value);
        if (type != value->dtype)
            error = cast(pass, kept[i], type, &map[old]);
    }
    if (!error)
        error = rewrite_node(&pass->rw, n, NULL);
    while (i-- > 0)
        if (node->inputs[i] != ID_NONE)
            map[node->inputs[i]] = kept[i];
    free(kept);
    return error;
}

neap_error *pass_precision(const neap_graph *g, enum dtype dtype, neap_graph **out) {
    struct pass pass = {.half = dtype};
    *out = NULL;
    if (dtype == DTYPE_F32)
        return NULL;
    neap_error *error = rewrite_start(&pass.rw, g);
    for (node_id n = 0; n < g->n_nodes && !error; n++)
        error = convert_node(&pass, n);
    free(pass.cast_of);
    return rewrite_finish(&pass.rw, error, out);
}
