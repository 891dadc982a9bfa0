/* autodiff: appends the backward of a scalar loss, one gradient rule per op, in reverse node order.
 *
 *   y = conv(x, w); l = loss(y)   →   …; dl = fill 1; dy = loss_backward(…, dl);
 *                                     dw = conv_backward_weight(x, dy); dx = conv_backward_data(dy,
 * w)
 *
 * Needs: a forward graph in which every op on the path to the loss has a rule. Breaks nothing:
 * nodes are appended, forward nodes may gain outputs (masks, indices) that their backward reads.
 * What needs a gradient follows from the parameters: a value computed from one. Contributions to
 * one gradient are added in the order in which the rules give them, in one storage where in-place
 * execution allows, which for these sums is always. Linear in the number of nodes. */
#include "pass/autodiff.h"

#include <stdio.h>
#include <stdlib.h>

#include "ops/autodiff.h"
#include "ops/fill.h"
#include "ops/ops.h"

struct autodiff {
    neap_graph *g;
    value_id *gradients; /* so far, by forward value */
    bool *needed;        /* does this forward value want a gradient? */
    bool *read;          /* by storage: read by a backward node */
    size_t read_capacity;
    uint32_t n_forward_values;
};

neap_graph *autodiff_graph(struct autodiff *ad) {
    return ad->g;
}

static value_id gradient_of(const struct autodiff *ad, value_id value) {
    return value < ad->n_forward_values ? ad->gradients[value] : ID_NONE;
}

value_id autodiff_output_gradient(struct autodiff *ad, node_id node, uint32_t i) {
    return gradient_of(ad, graph_node(ad->g, node)->outputs[i]);
}

bool autodiff_wants(struct autodiff *ad, node_id node, uint32_t input) {
    const struct node *n = graph_node(ad->g, node);
    return node_has_input(n, input) && ad->needed[n->inputs[input]];
}

bool autodiff_wants_value(struct autodiff *ad, value_id value) {
    return ad->needed[value];
}

bool autodiff_is_read_backward(struct autodiff *ad, value_id value) {
    value_id root = graph_root(ad->g, value);
    return root < ad->read_capacity && ad->read[root];
}

static neap_error *mark_read(struct autodiff *ad, value_id value) {
    size_t before = ad->read_capacity;
    TRY(memory_grow(&ad->read, &ad->read_capacity, (size_t)value + 1, sizeof *ad->read));
    for (size_t v = before; v < ad->read_capacity; v++)
        ad->read[v] = false;
    ad->read[value] = true;
    return NULL;
}

neap_error *autodiff_append(struct autodiff *ad, node_id forward, const struct backward_spec *spec,
                            node_id *out) {
    char name[256];
    neap_graph *g = ad->g;
    /* The id keeps names unique where a rule appends the same op twice. */
    snprintf(name, sizeof name, "%s.%s@%u", graph_node(g, forward)->name, spec->op->name,
             g->n_nodes);
    for (uint32_t i = 0; i < spec->n_inputs; i++)
        if (spec->inputs[i] != ID_NONE)
            TRY(mark_read(ad, graph_root(g, spec->inputs[i])));
    return graph_add_node(g,
                          &(struct node_spec){.op = spec->op,
                                              .name = name,
                                              .phase = PHASE_BACKWARD,
                                              .attrs = spec->attrs,
                                              .inputs = spec->inputs,
                                              .n_inputs = spec->n_inputs,
                                              .n_outputs = spec->n_outputs,
                                              .output_kind = VALUE_GRADIENT},
                          out);
}

neap_error *autodiff_give_value(struct autodiff *ad, node_id node, value_id target,
                                value_id gradient) {
    value_id *so_far = &ad->gradients[target];
    if (*so_far == ID_NONE) {
        *so_far = gradient;
    } else {
        node_id sum;
        const value_id both[] = {*so_far, gradient};
        TRY(autodiff_append(
            ad, node,
            &(struct backward_spec){.op = &op_add, .inputs = both, .n_inputs = 2, .n_outputs = 1},
            &sum));
        *so_far = graph_node(ad->g, sum)->outputs[0];
    }
    if (graph_value(ad->g, *so_far)->of == ID_NONE)
        graph_value(ad->g, *so_far)->of = target;
    return NULL;
}

neap_error *autodiff_give(struct autodiff *ad, node_id node, uint32_t input, value_id gradient) {
    return autodiff_give_value(ad, node, graph_node(ad->g, node)->inputs[input], gradient);
}

/* Parameters, wanted inputs, and everything computed from them. */
static void mark_needed(struct autodiff *ad, bool input_gradient) {
    const neap_graph *g = ad->g;
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        bool real = value->dtype != DTYPE_I32 && value->dtype != DTYPE_I64;
        ad->needed[v] = value->kind == VALUE_PARAMETER ||
                        (input_gradient && value->kind == VALUE_INPUT && real);
    }
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(g, n);
        bool any = false;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            any = any || (node->inputs[i] != ID_NONE && ad->needed[node->inputs[i]]);
        for (uint32_t i = 0; i < node->n_outputs; i++)
            ad->needed[node->outputs[i]] = any;
    }
}

static neap_error *seed(struct autodiff *ad, value_id loss) {
    struct fill_attrs one;
    op_attrs_default(&op_fill, &one);
    one.value = 1;
    one.dtype = graph_value(ad->g, loss)->dtype;
    node_id node;
    TRY(graph_add_node(ad->g,
                       &(struct node_spec){.op = &op_fill,
                                           .name = "loss.seed",
                                           .phase = PHASE_BACKWARD,
                                           .attrs = &one,
                                           .n_outputs = 1,
                                           .output_kind = VALUE_GRADIENT},
                       &node));
    ad->gradients[loss] = graph_node(ad->g, node)->outputs[0];
    return NULL;
}

static bool has_gradient(struct autodiff *ad, const struct node *node) {
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (gradient_of(ad, node->outputs[i]) != ID_NONE)
            return true;
    return false;
}

static neap_error *differentiate(struct autodiff *ad, node_id n) {
    const struct node *node = graph_node(ad->g, n);
    bool wanted = false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        wanted = wanted || autodiff_wants(ad, n, i);
    if (!wanted || !has_gradient(ad, node))
        return NULL;
    if (!node->op->gradient)
        return node_refuse(ad->g, node, "has no gradient");
    return node->op->gradient(ad, n);
}

static neap_error *check_parameters(const struct autodiff *ad) {
    for (value_id v = 0; v < ad->n_forward_values; v++)
        if (graph_value(ad->g, v)->kind == VALUE_PARAMETER && ad->gradients[v] == ID_NONE)
            return error_make(NEAP_ERROR_MODEL,
                              "parameter '%s' has no path to the loss and would never be trained",
                              graph_value(ad->g, v)->name);
    return NULL;
}

neap_error *autodiff_run(neap_graph *g, value_id loss, bool input_gradient, value_id *gradients) {
    struct autodiff ad = {.g = g, .gradients = gradients, .n_forward_values = g->n_values};
    neap_error *error = NULL;
    node_id n_forward = g->n_nodes;
    for (value_id v = 0; v < g->n_values; v++)
        gradients[v] = ID_NONE;
    TRY_GOTO(memory_alloc(g->n_values, sizeof *ad.needed, &ad.needed));
    mark_needed(&ad, input_gradient);
    TRY_GOTO(seed(&ad, loss));
    for (node_id n = n_forward; n-- > 0;)
        TRY_GOTO(differentiate(&ad, n));
    TRY_GOTO(check_parameters(&ad));
done:
    free(ad.needed);
    free(ad.read);
    return error;
}
