/* Building graphs: see graph.h. */
#include "ir/graph.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op.h"

neap_error *graph_create(const char *name, neap_graph **out) {
    neap_graph *g;
    TRY(memory_alloc(1, sizeof *g, &g));
    neap_error *error = pool_string(&g->pool, name, &g->name);
    if (error) {
        graph_free(g);
        return error;
    }
    g->roles = (struct graph_roles){ID_NONE, ID_NONE, ID_NONE};
    *out = g;
    return NULL;
}

void graph_free(neap_graph *g) {
    if (!g)
        return;
    neap_error_free(g->error);
    pool_free(&g->pool);
    free(g->values);
    free(g->nodes);
    free(g);
}

static neap_error *copy_ids(neap_graph *g, const value_id *ids, uint32_t n, value_id **out) {
    TRY(pool_alloc(&g->pool, n, sizeof **out, out));
    if (n)
        memcpy(*out, ids, n * sizeof **out);
    return NULL;
}

static neap_error *copy_attrs(neap_graph *g, const struct op_def *op, const void *attrs,
                              void **out) {
    TRY(pool_alloc(&g->pool, op->attrs_bytes ? op->attrs_bytes : 1, 1, out));
    if (attrs)
        memcpy(*out, attrs, op->attrs_bytes);
    else
        op_attrs_default(op, *out);
    return NULL;
}

neap_error *graph_add_value(neap_graph *g, const struct value_spec *spec, value_id *out) {
    static const bool persistent[N_VALUE_KINDS] = {
#define X(constant, name, lasting) [VALUE_##constant] = lasting,
        VALUE_KINDS(X)
#undef X
    };
    TRY(memory_grow(&g->values, &g->values_capacity, g->n_values + 1, sizeof *g->values));
    struct value value = {
        .kind = spec->kind,
        .dtype = spec->dtype,
        .shape = spec->shape,
        .layout = spec->layout,
        .persistent = spec->persistent || persistent[spec->kind],
        .producer = ID_NONE,
        .of = spec->of,
        .init = spec->init,
    };
    TRY(pool_string(&g->pool, spec->name, &value.name));
    *out = g->n_values;
    g->values[g->n_values++] = value;
    return NULL;
}

/* "name", or "name.i" from the second output on. */
static neap_error *add_output(neap_graph *g, node_id node, const struct node_spec *spec,
                              uint32_t i) {
    const char *name;
    TRY(i ? pool_format(&g->pool, &name, "%s.%u", spec->name, i)
          : pool_string(&g->pool, spec->name, &name));
    struct value_spec value = {.name = name, .kind = spec->output_kind, .of = ID_NONE};
    value_id id;
    TRY(graph_add_value(g, &value, &id));
    graph_value(g, id)->producer = node;
    graph_node(g, node)->outputs[i] = id;
    return NULL;
}

neap_error *graph_add_node(neap_graph *g, const struct node_spec *spec, node_id *out) {
    const struct op_def *op = spec->op;
    if (spec->n_inputs < op->min_inputs || spec->n_inputs > op->max_inputs)
        return error_make(NEAP_ERROR_MODEL, "'%s': %s takes %u to %u inputs, not %u", spec->name,
                          op->name, op->min_inputs, op->max_inputs, spec->n_inputs);
    TRY(memory_grow(&g->nodes, &g->nodes_capacity, g->n_nodes + 1, sizeof *g->nodes));
    struct node node = {.op = op,
                        .phase = spec->phase,
                        .segment = g->segment,
                        .n_inputs = spec->n_inputs,
                        .n_outputs = spec->n_outputs,
                        .n_updates = spec->n_updates};
    TRY(pool_string(&g->pool, spec->name, &node.name));
    TRY(copy_attrs(g, op, spec->attrs, &node.attrs));
    TRY(copy_ids(g, spec->inputs, spec->n_inputs, &node.inputs));
    TRY(copy_ids(g, spec->updates, spec->n_updates, &node.updates));
    TRY(pool_alloc(&g->pool, spec->n_outputs, sizeof *node.outputs, &node.outputs));
    node_id id = g->n_nodes++;
    g->nodes[id] = node;
    for (uint32_t i = 0; i < spec->n_outputs; i++) {
        if (!spec->into) {
            TRY(add_output(g, id, spec, i));
        } else {
            g->nodes[id].outputs[i] = spec->into[i];
            graph_value(g, spec->into[i])->producer = id;
        }
    }
    TRY(op->infer(g, id));
    *out = id;
    return NULL;
}

neap_error *graph_add_output(neap_graph *g, node_id node, const char *suffix, enum value_kind kind,
                             enum dtype dtype, struct shape shape, value_id *out) {
    const char *name;
    TRY(pool_format(&g->pool, &name, "%s.%s", graph_node(g, node)->name, suffix));
    struct value_spec spec = {
        .name = name, .kind = kind, .dtype = dtype, .shape = shape, .of = ID_NONE};
    TRY(graph_add_value(g, &spec, out));
    graph_value(g, *out)->producer = node;
    struct node *n = graph_node(g, node);
    value_id *outputs;
    TRY(pool_alloc(&g->pool, n->n_outputs + 1, sizeof *outputs, &outputs));
    if (n->n_outputs)
        memcpy(outputs, n->outputs, n->n_outputs * sizeof *outputs);
    outputs[n->n_outputs++] = *out;
    n->outputs = outputs;
    return NULL;
}

neap_error *graph_clone(const neap_graph *source, neap_graph **out) {
    neap_graph *g;
    neap_error *error = NULL;
    TRY(graph_create(source->name, &g));
    TRY_GOTO(memory_grow(&g->values, &g->values_capacity, source->n_values, sizeof *g->values));
    TRY_GOTO(memory_grow(&g->nodes, &g->nodes_capacity, source->n_nodes, sizeof *g->nodes));
    g->roles = source->roles;
    if (source->segment)
        TRY_GOTO(pool_string(&g->pool, source->segment, &g->segment));
    for (; g->n_values < source->n_values; g->n_values++) {
        struct value *value = &g->values[g->n_values];
        *value = source->values[g->n_values];
        TRY_GOTO(pool_string(&g->pool, value->name, &value->name));
    }
    for (; g->n_nodes < source->n_nodes; g->n_nodes++) {
        struct node *node = &g->nodes[g->n_nodes];
        *node = source->nodes[g->n_nodes];
        TRY_GOTO(pool_string(&g->pool, node->name, &node->name));
        if (node->segment)
            TRY_GOTO(pool_string(&g->pool, node->segment, &node->segment));
        TRY_GOTO(copy_attrs(g, node->op, node->attrs, &node->attrs));
        TRY_GOTO(copy_ids(g, node->inputs, node->n_inputs, &node->inputs));
        TRY_GOTO(copy_ids(g, node->outputs, node->n_outputs, &node->outputs));
        TRY_GOTO(copy_ids(g, node->updates, node->n_updates, &node->updates));
    }
done:
    if (error)
        graph_free(g);
    else
        *out = g;
    return error;
}

value_id graph_root(const neap_graph *g, value_id id) {
    for (;;) {
        node_id producer = graph_value(g, id)->producer;
        if (producer == ID_NONE || !(graph_node(g, producer)->op->flags & OP_VIEW))
            return id;
        id = graph_node(g, producer)->inputs[0];
    }
}

neap_error *graph_count_readers(const neap_graph *g, uint32_t **counts) {
    TRY(memory_alloc(g->n_values, sizeof **counts, counts));
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(g, n);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] != ID_NONE)
                (*counts)[node->inputs[i]]++;
        for (uint32_t i = 0; i < node->n_updates; i++)
            (*counts)[node->updates[i]]++;
    }
    return NULL;
}

int64_t graph_batch(const neap_graph *g) {
    for (value_id v = 0; v < g->n_values; v++)
        if (g->values[v].kind == VALUE_INPUT && g->values[v].shape.rank)
            return g->values[v].shape.dim[0];
    return 0;
}

neap_error *graph_rebatch(neap_graph *g, int64_t batch) {
    for (value_id v = 0; v < g->n_values; v++)
        if (g->values[v].kind == VALUE_INPUT && g->values[v].shape.rank)
            g->values[v].shape.dim[0] = batch;
    for (node_id n = 0; n < g->n_nodes; n++)
        TRY(graph_node(g, n)->op->infer(g, n));
    return NULL;
}
