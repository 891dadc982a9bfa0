/* prune: drops nodes whose results nobody reads.
 *
 * Kept are effects, what updates or writes persistent values, gradients of inputs (which only exist
 * where they were asked for), and what those read, transitively.
 * Linear: one walk backwards. */
#include <stdlib.h>

#include "pass/pass.h"
#include "pass/rewrite.h"

static bool is_input_gradient(const neap_graph *g, value_id v) {
    const struct value *value = graph_value(g, v);
    return value->kind == VALUE_GRADIENT && value->of != ID_NONE &&
           graph_value(g, value->of)->kind == VALUE_INPUT;
}

static bool is_kept(const neap_graph *g, const struct node *node, const bool *read) {
    bool kept = node->n_updates || node->op->flags & OP_EFFECT;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        kept = kept || read[node->outputs[i]] || is_input_gradient(g, node->outputs[i]) ||
               graph_value(g, node->outputs[i])->persistent;
    return kept;
}

neap_error *pass_prune(const neap_graph *g, neap_graph **out) {
    struct rewrite rw = {0};
    bool *read = NULL, *kept = NULL;
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(g->n_values, sizeof *read, &read));
    TRY_GOTO(memory_alloc(g->n_nodes, sizeof *kept, &kept));
    for (node_id n = g->n_nodes; n-- > 0;) {
        const struct node *node = graph_node(g, n);
        kept[n] = is_kept(g, node, read);
        for (uint32_t i = 0; kept[n] && i < node->n_inputs; i++)
            if (node->inputs[i] != ID_NONE)
                read[node->inputs[i]] = true;
    }
    TRY_GOTO(rewrite_start(&rw, g));
    for (node_id n = 0; n < g->n_nodes; n++)
        if (kept[n])
            TRY_GOTO(rewrite_node(&rw, n, NULL));
done:
    free(read);
    free(kept);
    return rewrite_finish(&rw, error, out);
}
