/* The step's graph with what the plan does to each op. */
#include <stdlib.h>

#include "report/graph_dot.h"
#include "train/emit.h"
#include "train/layers.h"

/* Nodes: the ops, and behind them the inputs. */
struct emission {
    const struct neap_plan *plan;
    const struct plan_problem *problem;
    struct graph_dot_node *nodes;
    struct graph_dot_edge *edges;
    uint32_t *node_of_value; /* who makes it; PLAN_NONE: it is persistent */
    bool *kept;              /* by value: some life of it crosses into backward */
    size_t n_nodes, n_edges;
};

static neap_error *allocate(struct emission *e) {
    const struct plan_problem *p = e->problem;
    size_t most = (size_t)p->n_ops + p->n_alternatives + p->n_values;
    TRY(memory_alloc(most, sizeof *e->nodes, &e->nodes));
    TRY(memory_alloc(p->n_ids, sizeof *e->edges, &e->edges));
    TRY(memory_alloc(p->n_values, sizeof *e->node_of_value, &e->node_of_value));
    return memory_alloc(p->n_values, sizeof *e->kept, &e->kept);
}

static void find_kept(struct emission *e) {
    const struct plan_lives *lives = &e->plan->plan.lives;
    uint32_t border = layers_border_step(e->plan);
    for (size_t l = 0; l < lives->n; l++)
        if (lives->at[l].first_step < border && lives->at[l].last_step >= border)
            e->kept[lives->at[l].value] = true;
}

static enum graph_dot_kind kind_of(const struct emission *e, uint32_t o, uint32_t runs) {
    const struct plan_op *op = &e->problem->ops[o];
    if (op->phase != PLAN_FORWARD)
        return op->phase == PLAN_BACKWARD ? GRAPH_DOT_BACKWARD : GRAPH_DOT_UPDATE;
    if (runs > 1)
        return GRAPH_DOT_RECOMPUTED;
    for (uint32_t i = 0; i < op->outputs.n; i++)
        if (e->kept[e->problem->ids[op->outputs.first + i]])
            return GRAPH_DOT_KEPT;
    return GRAPH_DOT_DROPPED;
}

static void fill_nodes(struct emission *e) {
    const struct compiled *c = e->plan->step;
    const struct plan_schedule *schedule = &e->plan->plan.schedule;
    for (uint32_t o = 0; o < e->problem->n_ops; o++) {
        const struct node *node = graph_node(c->g, c->node_of_op[o]);
        e->nodes[o] = (struct graph_dot_node){
            .name = node->name, .op = node->op->name, .seconds = e->problem->ops[o].seconds};
    }
    for (uint32_t v = 0; v < e->problem->n_values; v++)
        if (e->problem->values[v].producer != PLAN_NONE)
            e->nodes[e->problem->values[v].producer].bytes += e->problem->values[v].bytes;
    for (size_t i = 0; i < schedule->n; i++)
        e->nodes[plan_primary(e->problem, schedule->ops[i])].runs++;
    for (uint32_t o = 0; o < e->problem->n_ops; o++)
        e->nodes[o].kind = kind_of(e, o, e->nodes[o].runs);
    e->n_nodes = e->problem->n_ops;
    for (uint32_t v = 0; v < e->problem->n_values; v++) {
        const struct plan_value *value = &e->problem->values[v];
        e->node_of_value[v] = value->producer;
        if (!value->input)
            continue;
        e->node_of_value[v] = (uint32_t)e->n_nodes;
        e->nodes[e->n_nodes++] =
            (struct graph_dot_node){.name = graph_value(c->g, c->value_of_plan[v])->name,
                                    .kind = GRAPH_DOT_INPUT,
                                    .bytes = value->bytes};
    }
}

static void fill_edges(struct emission *e) {
    for (uint32_t o = 0; o < e->problem->n_ops; o++) {
        struct plan_span inputs = e->problem->ops[o].inputs;
        for (uint32_t i = 0; i < inputs.n; i++) {
            uint32_t v = e->problem->ids[inputs.first + i];
            if (e->node_of_value[v] != PLAN_NONE && !e->problem->values[v].persistent)
                e->edges[e->n_edges++] =
                    (struct graph_dot_edge){e->node_of_value[v], o, e->problem->values[v].bytes};
        }
    }
}

neap_error *emit_dot(const struct neap_plan *plan, const char *path) {
    struct emission e = {.plan = plan, .problem = &plan->step->problem};
    char title[EMIT_TITLE_BYTES];
    neap_error *error = allocate(&e);
    if (!error) {
        emit_title(plan, title);
        find_kept(&e);
        fill_nodes(&e);
        fill_edges(&e);
        error = graph_dot_write(&(struct graph_dot){.title = title,
                                                    .nodes = e.nodes,
                                                    .edges = e.edges,
                                                    .n_nodes = e.n_nodes,
                                                    .n_edges = e.n_edges},
                                path);
    }
    free(e.nodes);
    free(e.edges);
    free(e.node_of_value);
    free(e.kept);
    return error;
}
