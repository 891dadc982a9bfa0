/* Copying a graph while changing it: see rewrite.h. */
#include "pass/rewrite.h"

#include <stdlib.h>

neap_error *rewrite_start(struct rewrite *rw, const neap_graph *from) {
    *rw = (struct rewrite){.from = from};
    TRY(memory_alloc(from->n_values, sizeof *rw->map, &rw->map));
    TRY(graph_create(from->name, &rw->to));
    for (value_id v = 0; v < from->n_values; v++)
        rw->map[v] = ID_NONE;
    for (value_id v = 0; v < from->n_values; v++) {
        const struct value *value = graph_value(from, v);
        if (value->producer != ID_NONE || (value->kind != VALUE_INPUT && !value->persistent))
            continue;
        struct value_spec spec = {.name = value->name,
                                  .kind = value->kind,
                                  .dtype = value->dtype,
                                  .shape = value->shape,
                                  .layout = value->layout,
                                  .persistent = value->persistent,
                                  .of = rewrite_value(rw, value->of),
                                  .init = value->init};
        TRY(graph_add_value(rw->to, &spec, &rw->map[v]));
    }
    return NULL;
}

/* New node outputs take over what the old values were. */
static void take_over(struct rewrite *rw, value_id old, value_id fresh) {
    const struct value *from = graph_value(rw->from, old);
    struct value *to = graph_value(rw->to, fresh);
    rw->map[old] = fresh;
    to->kind = from->kind;
    to->persistent = from->persistent;
    to->layout = from->layout;
    to->of = rewrite_value(rw, from->of);
}

static neap_error *map_ids(struct rewrite *rw, const value_id *ids, uint32_t n, value_id **out) {
    TRY(memory_alloc(n, sizeof **out, out));
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = rewrite_value(rw, ids[i]);
    return NULL;
}

neap_error *rewrite_node(struct rewrite *rw, node_id id, node_id *out) {
    const struct node *node = graph_node(rw->from, id);
    value_id *inputs = NULL, *updates = NULL;
    neap_error *error = NULL;
    node_id fresh;
    TRY_GOTO(map_ids(rw, node->inputs, node->n_inputs, &inputs));
    TRY_GOTO(map_ids(rw, node->updates, node->n_updates, &updates));
    struct node_spec spec = {.op = node->op,
                             .name = node->name,
                             .phase = node->phase,
                             .attrs = node->attrs,
                             .inputs = inputs,
                             .n_inputs = node->n_inputs,
                             .n_outputs = node->n_outputs,
                             .updates = updates,
                             .n_updates = node->n_updates};
    TRY_GOTO(rewrite_replace(rw, &spec, node->outputs, &fresh));
    if (out)
        *out = fresh;
done:
    free(inputs);
    free(updates);
    return error;
}

neap_error *rewrite_replace(struct rewrite *rw, const struct node_spec *spec,
                            const value_id *stands_for, node_id *out) {
    TRY(graph_add_node(rw->to, spec, out));
    const struct node *fresh = graph_node(rw->to, *out);
    for (uint32_t i = 0; i < fresh->n_outputs; i++) {
        value_id old = stands_for[i];
        if (old == ID_NONE)
            continue;
        take_over(rw, old, fresh->outputs[i]);
        TRY(pool_string(&rw->to->pool, graph_value(rw->from, old)->name,
                        &graph_value(rw->to, fresh->outputs[i])->name));
    }
    return NULL;
}

neap_error *rewrite_finish(struct rewrite *rw, neap_error *error, neap_graph **out) {
    if (!error) {
        const struct graph_roles *from = &rw->from->roles;
        rw->to->roles =
            (struct graph_roles){rewrite_value(rw, from->logits), rewrite_value(rw, from->labels),
                                 rewrite_value(rw, from->loss)};
        *out = rw->to;
    } else {
        graph_free(rw->to);
    }
    free(rw->map);
    return error;
}
