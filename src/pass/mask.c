/* mask: every ReLU's backward reads a bit mask of its own, made by the forward node beside y.
 *
 *   y = relu(x)          relu_backward(dy, y)      →   y, mask = relu(x)   relu_backward(dy, mask)
 *
 * Autodiff saves y alone where something else reads it in backward too. The mask is 1/32 of its
 * bytes and less to read; what reads y can still be planned: it is the alternative of
 * relu_backward. Fused convolutions and linear layers make no mask and keep y.
 *
 * Needs: fusion is done. Breaks nothing. In place, linear. */
#include "ops/batch_norm.h"
#include "ops/ops.h"
#include "pass/pass.h"

static bool makes_masks(const struct node *node) {
    if (node->op == &op_relu)
        return node->n_outputs == 1;
    return node->op == &op_batch_norm_apply && node->n_outputs == 1 &&
           ((const struct batch_norm_attrs *)node->attrs)->relu;
}

neap_error *pass_mask(neap_graph *g) {
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(g, n);
        if (node->op != &op_relu_backward)
            continue;
        value_id y = node->inputs[1], mask;
        node_id producer = graph_value(g, y)->producer;
        if (producer == ID_NONE || !makes_masks(graph_node(g, producer)))
            continue;
        TRY(graph_add_output(g, producer, "mask", VALUE_SAVED, DTYPE_BIT, graph_value(g, y)->shape,
                             &mask));
        graph_node(g, n)->inputs[1] = mask;
    }
    return NULL;
}
