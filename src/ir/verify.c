/* The verifier: refuses graphs that break a rule, naming node and values.
 *
 * Each rule is a function below, in the order in which they rely on one another: first that ids are
 * in range, then who makes what, then the order of reads and writes, at last the types, which are
 * inferred again on a copy. Linear in the size of the graph; run between all passes. */
#include "ir/verify.h"

#include <stdlib.h>

#include "ir/names.h"
#include "ir/op.h"

#define BROKEN(...) error_make(NEAP_ERROR_MODEL, __VA_ARGS__)

/* ---- values --------------------------------------------------------------------------------- */

/* Layouts are compared as bytes, so each has one form only: the one that its text reads back to. */
static bool layout_is_sound(const struct value *value) {
    struct layout again;
    char text[40];
    if (value->layout.n_blocks > MAX_BLOCKS)
        return false;
    layout_text(value->layout, value->shape.rank, text);
    neap_error *error = layout_of_text(text, value->shape.rank, &again);
    bool sound = !error && layout_equal(value->layout, again);
    neap_error_free(error);
    return sound;
}

static neap_error *check_value(const neap_graph *g, const struct value *value) {
    static const bool lasts[N_VALUE_KINDS] = {
#define X(constant, name, persistent) [VALUE_##constant] = persistent,
        VALUE_KINDS(X)
#undef X
    };
    if ((unsigned)value->kind >= N_VALUE_KINDS || (unsigned)value->dtype >= N_DTYPES)
        return BROKEN("value '%s' has kind %d and data type %d", value->name, (int)value->kind,
                      (int)value->dtype);
    if (value->shape.rank < 0 || value->shape.rank > MAX_RANK)
        return BROKEN("value '%s' has rank %d", value->name, value->shape.rank);
    for (int d = 0; d < value->shape.rank; d++)
        if (value->shape.dim[d] < 1)
            return BROKEN("value '%s': dimension %d is %lld", value->name, d,
                          (long long)value->shape.dim[d]);
    if (!layout_is_sound(value))
        return BROKEN("value '%s' has a layout that is none of rank %d", value->name,
                      value->shape.rank);
    if (value_bytes(value) < 0)
        return BROKEN("value '%s' has more bytes than can be counted", value->name);
    if (lasts[value->kind] && !value->persistent)
        return BROKEN("%s '%s' does not outlive the step", value_kind_name(value->kind),
                      value->name);
    if (value->of != ID_NONE && value->of >= g->n_values)
        return BROKEN("value '%s' is of value %u, and there are %u", value->name, value->of,
                      g->n_values);
    return NULL;
}

static neap_error *check_producer(const neap_graph *g, value_id id) {
    const struct value *value = graph_value(g, id);
    if (value->producer == ID_NONE)
        return NULL;
    if (value->kind == VALUE_INPUT)
        return BROKEN("input '%s' is made by a node", value->name);
    if (value->producer >= g->n_nodes)
        return BROKEN("value '%s' is made by node %u, and there are %u", value->name,
                      value->producer, g->n_nodes);
    const struct node *node = graph_node(g, value->producer);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] == id)
            return NULL;
    return BROKEN("value '%s' is not among the outputs of node '%s' that makes it", value->name,
                  node->name);
}

static neap_error *check_names(const neap_graph *g) {
    struct names names = {0};
    neap_error *error = NULL;
    for (value_id v = 0; v < g->n_values && !error; v++) {
        value_id twin;
        TRY_GOTO(names_add(&names, g, v, &twin));
        if (twin != ID_NONE)
            error =
                BROKEN("values %u and %u are both named '%s'", twin, v, graph_value(g, v)->name);
    }
done:
    names_free(&names);
    return error;
}

static neap_error *check_role(const neap_graph *g, const char *role, value_id id, int rank) {
    if (id == ID_NONE)
        return NULL;
    if (id >= g->n_values)
        return BROKEN("%s is value %u, and there are %u", role, id, g->n_values);
    const struct value *value = graph_value(g, id);
    if (value->shape.rank != rank)
        return BROKEN("%s '%s' has rank %d instead of %d", role, value->name, value->shape.rank,
                      rank);
    return NULL;
}

static neap_error *check_roles(const neap_graph *g) {
    TRY(check_role(g, "logits", g->roles.logits, 2));
    TRY(check_role(g, "labels", g->roles.labels, 1));
    return check_role(g, "loss", g->roles.loss, 0);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static neap_error *check_count(const struct node *node, const char *what, uint32_t n, uint32_t min,
                               uint32_t max) {
    if (n >= min && n <= max)
        return NULL;
    if (min == max)
        return BROKEN("node '%s': %s has %u %s, not %u", node->name, node->op->name, min, what, n);
    if (max == UINT32_MAX)
        return BROKEN("node '%s': %s has at least %u %s, not %u", node->name, node->op->name, min,
                      what, n);
    return BROKEN("node '%s': %s has %u to %u %s, not %u", node->name, node->op->name, min, max,
                  what, n);
}

/* Only inputs past the required ones can be absent, and none of a list of any length. */
static neap_error *check_inputs(const neap_graph *g, const struct node *node) {
    const struct op_def *op = node->op;
    TRY(check_count(node, "inputs", node->n_inputs, op->min_inputs, op->max_inputs));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        bool optional = i >= op->min_inputs && op->max_inputs != UINT32_MAX;
        if (node->inputs[i] == ID_NONE && !optional)
            return BROKEN("node '%s': input %u of %s is absent", node->name, i, op->name);
        if (node->inputs[i] != ID_NONE && node->inputs[i] >= g->n_values)
            return BROKEN("node '%s' reads value %u, and there are %u", node->name, node->inputs[i],
                          g->n_values);
    }
    return NULL;
}

static neap_error *check_outputs(const neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    TRY(check_count(node, "outputs", node->n_outputs, node->op->min_outputs,
                    node->op->max_outputs));
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        value_id output = node->outputs[i];
        if (output >= g->n_values)
            return BROKEN("node '%s' makes value %u, and there are %u", node->name, output,
                          g->n_values);
        if (graph_value(g, output)->producer != id)
            return BROKEN("node '%s' makes '%s', which has another producer", node->name,
                          graph_value(g, output)->name);
        for (uint32_t j = 0; j < i; j++)
            if (node->outputs[j] == output)
                return BROKEN("node '%s' makes '%s' twice", node->name,
                              graph_value(g, output)->name);
    }
    return NULL;
}

static neap_error *check_updates(const neap_graph *g, const struct node *node) {
    bool may = (node->op->flags & (OP_EFFECT | OP_ACCUMULATES)) || node->phase == PHASE_UPDATE;
    if (node->n_updates && !may)
        return BROKEN("node '%s' updates values, which %s does not", node->name, node->op->name);
    for (uint32_t i = 0; i < node->n_updates; i++) {
        value_id update = node->updates[i];
        if (update >= g->n_values)
            return BROKEN("node '%s' updates value %u, and there are %u", node->name, update,
                          g->n_values);
        if (!graph_value(g, update)->persistent)
            return BROKEN("node '%s' updates '%s', which does not outlive the step", node->name,
                          graph_value(g, update)->name);
        for (uint32_t j = 0; j < i; j++)
            if (node->updates[j] == update)
                return BROKEN("node '%s' updates '%s' twice", node->name,
                              graph_value(g, update)->name);
    }
    return NULL;
}

static neap_error *check_node(const neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    if ((unsigned)node->phase >= N_PHASES)
        return BROKEN("node '%s' is in phase %d", node->name, (int)node->phase);
    TRY(check_inputs(g, node));
    TRY(check_outputs(g, id));
    return check_updates(g, node);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* `updated`: by value, changed by an update node before this one. What forward and backward read is
 * the state before the update, whatever the order in which updates are done. */
static neap_error *check_use(const neap_graph *g, node_id id, value_id used, const bool *updated) {
    const struct node *node = graph_node(g, id);
    const struct value *value = graph_value(g, used);
    if (value->producer == ID_NONE && value->kind != VALUE_INPUT && !value->persistent)
        return BROKEN("node '%s' reads '%s', which nothing makes", node->name, value->name);
    if (value->producer != ID_NONE && value->producer >= id)
        return BROKEN("node '%s' reads '%s' before node '%s' makes it", node->name, value->name,
                      graph_node(g, value->producer)->name);
    if (node->phase != PHASE_UPDATE && updated[used])
        return BROKEN("%s node '%s' reads '%s' after its update", phase_name(node->phase),
                      node->name, value->name);
    return NULL;
}

static neap_error *check_order(const neap_graph *g) {
    bool *updated;
    TRY(memory_alloc(g->n_values, sizeof *updated, &updated));
    neap_error *error = NULL;
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(g, n);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] != ID_NONE)
                TRY_GOTO(check_use(g, n, node->inputs[i], updated));
        for (uint32_t i = 0; i < node->n_updates; i++)
            TRY_GOTO(check_use(g, n, node->updates[i], updated));
        for (uint32_t i = 0; i < node->n_updates; i++)
            updated[node->updates[i]] = node->phase == PHASE_UPDATE;
    }
done:
    free(updated);
    return error;
}

/* ---- types ---------------------------------------------------------------------------------- */

static neap_error *compare_outputs(const neap_graph *g, const neap_graph *again,
                                   const struct node *node) {
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct value *is = graph_value(g, node->outputs[i]);
        const struct value *should = graph_value(again, node->outputs[i]);
        char a[64], b[64];
        if (should->dtype == N_DTYPES)
            return BROKEN("node '%s': %s gives its output '%s' no type", node->name, node->op->name,
                          is->name);
        if (is->dtype != should->dtype || !shape_equal(is->shape, should->shape))
            return BROKEN("node '%s' makes '%s' as %s %s, but its %s makes %s %s", node->name,
                          is->name, dtype_name(is->dtype), shape_text(is->shape, a), node->op->name,
                          dtype_name(should->dtype), shape_text(should->shape, b));
    }
    return NULL;
}

/* What a node makes is forgotten before it is inferred, so that what infer leaves alone shows. */
static neap_error *check_types(const neap_graph *g) {
    neap_graph *again;
    TRY(graph_clone(g, &again));
    neap_error *error = NULL;
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(again, n);
        for (uint32_t i = 0; i < node->n_outputs; i++)
            node_set_output(again, n, i, N_DTYPES, (struct shape){0});
    }
    for (node_id n = 0; n < g->n_nodes; n++) {
        TRY_GOTO(graph_node(again, n)->op->infer(again, n));
        TRY_GOTO(compare_outputs(g, again, graph_node(g, n)));
    }
done:
    graph_free(again);
    return error;
}

/* ---- all of it ------------------------------------------------------------------------------ */

neap_error *graph_check(const neap_graph *g) {
    if (g->segment)
        return BROKEN("segment '%s' is not ended", g->segment);
    for (value_id v = 0; v < g->n_values; v++)
        TRY(check_value(g, graph_value(g, v)));
    TRY(check_roles(g));
    TRY(check_names(g));
    for (node_id n = 0; n < g->n_nodes; n++)
        TRY(check_node(g, n));
    for (value_id v = 0; v < g->n_values; v++)
        TRY(check_producer(g, v));
    TRY(check_order(g));
    return check_types(g);
}

neap_error *graph_verify(const neap_graph *g, const char *after) {
    neap_error *broken = graph_check(g);
    if (neap_error_code(broken) != NEAP_ERROR_MODEL)
        return broken;
    neap_error *error =
        error_make(NEAP_ERROR_INTERNAL, "after '%s': %s", after, neap_error_message(broken));
    neap_error_free(broken);
    return error;
}
