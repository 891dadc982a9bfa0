/* update: appends one optimizer node per parameter and decides where parameter gradients live.
 *
 *   stored        dw (persistent) = …                      sgd(dw) updates w, v
 *   accumulated   t = …; accumulate(t) updates dw          sgd() updates w, v, dw and clears dw
 *                 (an op that can add does: linear_backward_weight(x, dy) updates dw)
 *   fused         t = …                                    sgd(t) updates w, v
 *
 * Without an optimizer the gradients are all there is.
 *
 * Needs: autodiff has run. Breaks nothing. Accumulators and moments are fp32 and take their
 * parameter's layout in the layout pass (`of` names it). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "pass/pass.h"

enum { MAX_STATES = 4 };

static neap_error *add_state(neap_graph *g, value_id parameter, const char *suffix,
                             enum value_kind kind, value_id *out) {
    const struct value *p = graph_value(g, parameter);
    char name[256];
    snprintf(name, sizeof name, "%s.%s", p->name, suffix);
    return graph_add_value(g,
                           &(struct value_spec){.name = name,
                                                .kind = kind,
                                                .dtype = p->dtype,
                                                .shape = p->shape,
                                                .persistent = true,
                                                .of = parameter},
                           out);
}

/* Is the gradient the sole use of an output of a node that can accumulate? */
static bool can_accumulate(const neap_graph *g, value_id gradient, const uint32_t *readers) {
    node_id producer = graph_value(g, gradient)->producer;
    const struct node *node = graph_node(g, producer);
    bool alone = (node->op->flags & OP_ACCUMULATES) != 0;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        alone = alone && !readers[node->outputs[i]];
    return alone;
}

/* The accumulator takes the place of the producer's output: the outputs that are left become
 * updates one by one, in order, so that the last call leaves none. */
static neap_error *output_to_update(neap_graph *g, value_id gradient, value_id accumulator) {
    struct node *node = graph_node(g, graph_value(g, gradient)->producer);
    uint32_t n = node->n_outputs + node->n_updates, at = 0;
    value_id *updates;
    TRY(pool_alloc(&g->pool, n, sizeof *updates, &updates));
    while (at < node->n_outputs && node->outputs[at] != gradient)
        at++;
    memcpy(updates, node->updates, node->n_updates * sizeof *updates);
    updates[node->n_updates++] = accumulator;
    node->updates = updates;
    memmove(&node->outputs[at], &node->outputs[at + 1],
            (node->n_outputs - at - 1) * sizeof *node->outputs);
    node->n_outputs--;
    graph_value(g, gradient)->producer = ID_NONE;
    return NULL;
}

static neap_error *accumulate(neap_graph *g, value_id parameter, value_id gradient, bool in_kernel,
                              value_id *accumulator) {
    TRY(add_state(g, parameter, "gradient", VALUE_PARAMETER_GRADIENT, accumulator));
    if (in_kernel)
        return output_to_update(g, gradient, *accumulator);
    char name[256];
    node_id added;
    snprintf(name, sizeof name, "%s.accumulate", graph_value(g, parameter)->name);
    return graph_add_node(g,
                          &(struct node_spec){.op = &op_accumulate,
                                              .name = name,
                                              .phase = PHASE_BACKWARD,
                                              .inputs = &gradient,
                                              .n_inputs = 1,
                                              .updates = accumulator,
                                              .n_updates = 1},
                          &added);
}

static neap_error *add_update(neap_graph *g, const struct update_options *o, value_id parameter,
                              value_id gradient, value_id accumulator) {
    value_id updates[MAX_STATES + 2] = {parameter};
    uint32_t n_updates = 1;
    for (uint32_t i = 0; i < o->n_states; i++, n_updates++)
        TRY(add_state(g, parameter, o->state_names[i], VALUE_OPTIMIZER_STATE, &updates[n_updates]));
    if (accumulator != ID_NONE)
        updates[n_updates++] = accumulator;
    char name[256];
    node_id added;
    bool vector = graph_value(g, parameter)->shape.rank <= 1;
    snprintf(name, sizeof name, "%s.%s", graph_value(g, parameter)->name, o->op->name);
    return graph_add_node(
        g,
        &(struct node_spec){.op = o->op,
                            .name = name,
                            .phase = PHASE_UPDATE,
                            .attrs = vector && o->attrs_of_vectors ? o->attrs_of_vectors : o->attrs,
                            .inputs = &gradient,
                            .n_inputs = accumulator == ID_NONE,
                            .updates = updates,
                            .n_updates = n_updates},
        &added);
}

/* The accumulate nodes of all parameters come before the first update: the two parts of a window.
 */
static neap_error *place_gradients(neap_graph *g, const struct update_options *o,
                                   const value_id *gradients, uint32_t n, value_id *accumulators) {
    uint32_t *readers;
    TRY(graph_count_readers(g, &readers));
    neap_error *error = NULL;
    for (value_id v = 0; v < n && !error; v++) {
        accumulators[v] = ID_NONE;
        if (graph_value(g, v)->kind != VALUE_PARAMETER || gradients[v] == ID_NONE)
            continue;
        struct value *gradient = graph_value(g, gradients[v]);
        gradient->kind = VALUE_PARAMETER_GRADIENT;
        gradient->of = v;
        /* A view cannot be storage of its own: it is added to storage that is. */
        bool view = graph_root(g, gradients[v]) != gradients[v];
        gradient->persistent = o->gradients == GRADIENTS_STORED && !view;
        if (o->gradients == GRADIENTS_ACCUMULATED ||
            (o->gradients == GRADIENTS_STORED && view)) /* by producer: all its outputs or none */
            error = accumulate(g, v, gradients[v], can_accumulate(g, gradients[v], readers),
                               &accumulators[v]);
    }
    free(readers);
    return error;
}

neap_error *pass_update(neap_graph *g, const struct update_options *o, const value_id *gradients,
                        uint32_t n_gradients) {
    value_id *accumulators;
    TRY(memory_alloc(n_gradients, sizeof *accumulators, &accumulators));
    neap_error *error = place_gradients(g, o, gradients, n_gradients, accumulators);
    for (value_id v = 0; o->op && v < n_gradients && !error; v++)
        if (graph_value(g, v)->kind == VALUE_PARAMETER && gradients[v] != ID_NONE)
            error = add_update(g, o, v, gradients[v], accumulators[v]);
    free(accumulators);
    return error;
}
