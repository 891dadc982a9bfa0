/* expand: ops that users write into the ops that the compiler works with.
 *
 *   y = batch_norm(x, γ, β, rm, rv)   →   mean, var = batch_norm_stats(x)
 *                                         batch_norm_running(mean, var) updates rm, rv
 *                                         y = batch_norm_apply(x, mean, var, γ, β)
 *   in evaluation                     →   y = batch_norm_apply(x, rm, rv, γ, β)
 *   y = dropout(x) in evaluation      →   x
 *   label smoothing in evaluation     →   none: losses compare whatever was trained with
 *
 * Needs: a forward graph at its final batch. Linear. Everything else is copied. */
#include <stdio.h>
#include <string.h>

#include "ops/batch_norm.h"
#include "ops/ops.h"
#include "ops/softmax_cross_entropy.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

static int64_t elements_per_channel(struct shape shape) {
    return shape_elements(shape) / shape.dim[1];
}

static neap_error *add_statistics(struct rewrite *rw, const struct node *node, value_id stats[2]) {
    char name[256];
    struct batch_norm_attrs a = *(const struct batch_norm_attrs *)node->attrs;
    value_id x = rewrite_value(rw, node->inputs[0]);
    node_id added;
    snprintf(name, sizeof name, "%s.stats", node->name);
    TRY(graph_add_node(rw->to,
                       &(struct node_spec){.op = &op_batch_norm_stats,
                                           .name = name,
                                           .inputs = &x,
                                           .n_inputs = 1,
                                           .n_outputs = 2,
                                           .output_kind = VALUE_SAVED},
                       &added));
    memcpy(stats, graph_node(rw->to, added)->outputs, 2 * sizeof *stats);
    snprintf(name, sizeof name, "%s.running", node->name);
    a.count = elements_per_channel(graph_value(rw->to, x)->shape);
    return graph_add_node(
        rw->to,
        &(struct node_spec){.op = &op_batch_norm_running,
                            .name = name,
                            .attrs = &a,
                            .inputs = stats,
                            .n_inputs = 2,
                            .updates = (value_id[]){rewrite_value(rw, node->inputs[3]),
                                                    rewrite_value(rw, node->inputs[4])},
                            .n_updates = 2},
        &added);
}

static neap_error *expand_batch_norm(struct rewrite *rw, node_id n, bool training) {
    const struct node *node = graph_node(rw->from, n);
    value_id stats[2] = {rewrite_value(rw, node->inputs[3]), rewrite_value(rw, node->inputs[4])};
    if (training)
        TRY(add_statistics(rw, node, stats));
    const value_id inputs[] = {rewrite_value(rw, node->inputs[0]), stats[0], stats[1],
                               rewrite_value(rw, node->inputs[1]),
                               rewrite_value(rw, node->inputs[2])};
    node_id added;
    return rewrite_replace(rw,
                           &(struct node_spec){.op = &op_batch_norm_apply,
                                               .name = node->name,
                                               .attrs = node->attrs,
                                               .inputs = inputs,
                                               .n_inputs = 5,
                                               .n_outputs = 1},
                           node->outputs, &added);
}

static neap_error *expand_dropout(struct rewrite *rw, node_id n, bool training) {
    if (training)
        return rewrite_node(rw, n, NULL);
    const struct node *node = graph_node(rw->from, n);
    rw->map[node->outputs[0]] = rewrite_value(rw, node->inputs[0]);
    return NULL;
}

static neap_error *expand_loss(struct rewrite *rw, node_id n, bool training) {
    node_id added;
    TRY(rewrite_node(rw, n, &added));
    if (!training)
        ((struct cross_entropy_attrs *)graph_node(rw->to, added)->attrs)->label_smoothing = 0;
    return NULL;
}

static const struct {
    const struct op_def *op;
    neap_error *(*expand)(struct rewrite *rw, node_id node, bool training);
} expansions[] = {
    {&op_batch_norm, expand_batch_norm},
    {&op_dropout, expand_dropout},
    {&op_softmax_cross_entropy, expand_loss},
};

static neap_error *expand_node(struct rewrite *rw, node_id n, bool training) {
    for (size_t i = 0; i < sizeof expansions / sizeof *expansions; i++)
        if (graph_node(rw->from, n)->op == expansions[i].op)
            return expansions[i].expand(rw, n, training);
    return rewrite_node(rw, n, NULL);
}

neap_error *pass_expand(const neap_graph *g, bool training, neap_graph **out) {
    struct rewrite rw;
    neap_error *error = rewrite_start(&rw, g);
    for (node_id n = 0; n < g->n_nodes && !error; n++)
        error = expand_node(&rw, n, training);
    return rewrite_finish(&rw, error, out);
}
