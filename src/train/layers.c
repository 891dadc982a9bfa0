/* The layer table: the forward nodes of the step that the user wrote, in their order, with what the
 * plan does to their outputs. O(nodes × operands + steps + lives). */
#include "train/layers.h"

#include <stdlib.h>

#include "ir/op.h"
#include "ops/ops.h"

/* What the compiler added, and counts for the host. */
static const struct op_def *const hidden[] = {
    &op_fill,          &op_reorder,    &op_batch_norm_stats, &op_batch_norm_running,
    &op_top_k_correct, &op_metric_add, &op_accumulate};

static bool is_layer(const struct node *node) {
    if (node->phase != PHASE_FORWARD || !node->n_outputs)
        return false;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (node->op == hidden[i])
            return false;
    return true;
}

static const char *written_as(const struct op_def *op) {
    return op == &op_batch_norm_apply ? op_batch_norm.name : op->name;
}

/* What an input is a reordered copy of. */
static const struct value *original(const neap_graph *g, value_id v) {
    while (graph_value(g, v)->kind == VALUE_WEIGHT_COPY && graph_value(g, v)->producer != ID_NONE)
        v = graph_node(g, graph_value(g, v)->producer)->inputs[0];
    return graph_value(g, v);
}

static struct neap_layer describe(const neap_graph *g, const struct node *node) {
    struct neap_layer layer = {.name = node->name, .op = written_as(node->op)};
    const struct value *result = node_output(g, node, 0);
    layer.rank = result->shape.rank;
    for (int d = 0; d < layer.rank; d++)
        layer.dims[d] = result->shape.dim[d];
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node_has_input(node, i) && original(g, node->inputs[i])->kind == VALUE_PARAMETER)
            layer.parameters += shape_elements(original(g, node->inputs[i])->shape);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (graph_root(g, node->outputs[i]) == node->outputs[i])
            layer.bytes += round_up(value_bytes(node_output(g, node, i)), ALIGNMENT_BYTES);
    if (node->op->cost) {
        struct op_cost cost = {0};
        node->op->cost(g, node, &cost);
        layer.flops = cost.flops;
    }
    return layer;
}

uint32_t layers_border_step(const struct neap_plan *s) {
    uint32_t border = plan_border(&s->step->problem), step = 0;
    while (step < s->plan.schedule.n && s->plan.schedule.ops[step] < border)
        step++;
    return step;
}

/* layer_of[node]: its row, or ID_NONE. */
static void follow_plan(struct neap_plan *s, const uint32_t *layer_of) {
    const struct compiled *c = s->step;
    const uint32_t border = layers_border_step(s);
    for (size_t i = 0; i < s->n_layers; i++)
        s->layers[i].recomputed = -1;
    for (size_t step = 0; step < s->plan.schedule.n; step++) {
        uint32_t row = layer_of[c->node_of_op[s->plan.schedule.ops[step]]];
        if (row != ID_NONE)
            s->layers[row].recomputed++;
    }
    for (size_t i = 0; i < s->n_layers; i++)
        if (s->layers[i].recomputed < 0) /* views are no ops */
            s->layers[i].recomputed = 0;
    for (size_t l = 0; l < s->plan.lives.n; l++) {
        const struct plan_life *life = &s->plan.lives.at[l];
        uint32_t op = c->problem.values[life->value].producer;
        bool spans = life->first_step < border && life->last_step >= border;
        if (spans && op != PLAN_NONE && layer_of[c->node_of_op[op]] != ID_NONE)
            s->layers[layer_of[c->node_of_op[op]]].kept = true;
    }
}

neap_error *layers_list(struct neap_plan *s) {
    const neap_graph *g = s->step->g;
    uint32_t *layer_of;
    TRY(memory_alloc(g->n_nodes, sizeof *layer_of, &layer_of));
    neap_error *error = memory_alloc(g->n_nodes, sizeof *s->layers, &s->layers);
    for (node_id n = 0; !error && n < g->n_nodes; n++) {
        layer_of[n] = is_layer(graph_node(g, n)) ? (uint32_t)s->n_layers : ID_NONE;
        if (layer_of[n] != ID_NONE)
            s->layers[s->n_layers++] = describe(g, graph_node(g, n));
    }
    if (!error)
        follow_plan(s, layer_of);
    free(layer_of);
    return error;
}
