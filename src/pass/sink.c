/* sink: moves each update node up to right behind the last node that reads its gradient, its
 * parameter or a copy of it (which may be made again where it is read), so that a gradient dies as
 * soon as it is final.
 *
 * Needs: gradients in the arena (fused updates), which is legal where accumulation, micro-batches
 * and workers are all 1 and nothing clips or scales. Breaks nothing. O(nodes × degree). */
#include <stdlib.h>

#include "ir/op.h"
#include "pass/pass.h"

struct order {
    node_id *after; /* update node → the node it follows */
    node_id *nodes; /* the new order */
};

static bool is_copy_of(const neap_graph *g, value_id v, value_id parameter) {
    return v != ID_NONE && graph_value(g, v)->kind == VALUE_WEIGHT_COPY &&
           graph_value(g, v)->of == parameter;
}

/* The last node other than `update` that makes or reads its gradient or reads its parameter. */
static node_id last_before(const neap_graph *g, node_id update) {
    const struct node *node = graph_node(g, update);
    for (node_id n = update; n-- > 0;) {
        const struct node *other = graph_node(g, n);
        if (other->phase == PHASE_UPDATE)
            continue;
        for (uint32_t i = 0; i < other->n_inputs; i++)
            if (other->inputs[i] == node->updates[0] || other->inputs[i] == node->inputs[0] ||
                is_copy_of(g, other->inputs[i], node->updates[0]))
                return n;
        for (uint32_t i = 0; i < other->n_outputs; i++)
            if (other->outputs[i] == node->inputs[0])
                return n;
    }
    return 0;
}

static neap_error *apply_order(neap_graph *g, const node_id *nodes) {
    struct node *moved;
    TRY(memory_alloc(g->n_nodes, sizeof *moved, &moved));
    for (node_id n = 0; n < g->n_nodes; n++) {
        moved[n] = g->nodes[nodes[n]];
        for (uint32_t i = 0; i < moved[n].n_outputs; i++)
            graph_value(g, moved[n].outputs[i])->producer = n;
    }
    free(g->nodes);
    g->nodes = moved;
    g->nodes_capacity = g->n_nodes;
    return NULL;
}

neap_error *pass_sink_updates(neap_graph *g) {
    struct order order = {0};
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(g->n_nodes, sizeof *order.after, &order.after));
    TRY_GOTO(memory_alloc(g->n_nodes, sizeof *order.nodes, &order.nodes));
    for (node_id n = 0; n < g->n_nodes; n++)
        order.after[n] = graph_node(g, n)->phase == PHASE_UPDATE ? last_before(g, n) : ID_NONE;
    uint32_t at = 0;
    for (node_id n = 0; n < g->n_nodes; n++) {
        if (order.after[n] != ID_NONE)
            continue;
        order.nodes[at++] = n;
        for (node_id u = n + 1; u < g->n_nodes; u++)
            if (order.after[u] == n)
                order.nodes[at++] = u;
    }
    error = apply_order(g, order.nodes);
done:
    free(order.after);
    free(order.nodes);
    return error;
}
