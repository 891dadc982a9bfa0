/* lower: from a graph with layouts to kernels and a planning problem.
 *
 * Every node but views becomes an op or an alternative of one, every storage a value; views are
 * read at their roots. Scratch is one more output. In-place rights are the ops' own, where input
 * and output are alike. */
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "ir/op.h"

static neap_error *create_kernels(struct compiled *c, size_t *scratch) {
    for (node_id n = 0; n < c->g->n_nodes; n++) {
        if (!c->kernels[n])
            continue;
        struct kernel_site site = {c->device, c->g, graph_node(c->g, n), 0};
        TRY(c->kernels[n]->create(&site, &c->states[n], &scratch[n]));
    }
    return NULL;
}

static neap_error *lower_values(struct compiled *c, const size_t *scratch) {
    struct plan_problem *p = &c->problem;
    size_t most = (size_t)c->g->n_values + c->g->n_nodes;
    TRY(pool_alloc(&p->pool, most, sizeof *p->values, &p->values));
    TRY(memory_alloc(most, sizeof *c->value_of_plan, &c->value_of_plan));
    for (value_id v = 0; v < c->g->n_values; v++) {
        const struct value *value = graph_value(c->g, v);
        bool used = value->producer != ID_NONE || value->persistent || value->kind == VALUE_INPUT;
        int64_t bytes = value_bytes(value);
        c->plan_of_value[v] = PLAN_NONE;
        if (!used || graph_root(c->g, v) != v)
            continue;
        if (bytes < 0 || bytes > INT64_MAX / 4)
            return error_make(NEAP_ERROR_MODEL, "'%s' is larger than any memory", value->name);
        c->value_of_plan[p->n_values] = v;
        c->plan_of_value[v] = p->n_values;
        p->values[p->n_values++] =
            (struct plan_value){.bytes = round_up(bytes, ALIGNMENT_BYTES),
                                .persistent = value->persistent,
                                .input = value->kind == VALUE_INPUT && !value->persistent,
                                .producer = PLAN_NONE};
    }
    for (value_id v = 0; v < c->g->n_values; v++)
        c->plan_of_value[v] = c->plan_of_value[graph_root(c->g, v)];
    for (node_id n = 0; n < c->g->n_nodes; n++) {
        c->scratch_of_node[n] = scratch[n] ? p->n_values : PLAN_NONE;
        if (!scratch[n])
            continue;
        c->value_of_plan[p->n_values] = ID_NONE;
        p->values[p->n_values++] = (struct plan_value){
            .bytes = round_up((int64_t)scratch[n], ALIGNMENT_BYTES), .producer = PLAN_NONE};
    }
    return NULL;
}

static bool in_span(const struct plan_problem *p, struct plan_span span, uint32_t id) {
    for (uint32_t i = 0; i < span.n; i++)
        if (p->ids[span.first + i] == id)
            return true;
    return false;
}

static struct plan_span lower_ids(struct compiled *c, const value_id *values, uint32_t n) {
    struct plan_problem *p = &c->problem;
    struct plan_span span = {.first = p->n_ids};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = values[i] == ID_NONE ? PLAN_NONE : c->plan_of_value[values[i]];
        if (id == PLAN_NONE || in_span(p, span, id))
            continue;
        p->ids[p->n_ids++] = id;
        span.n++;
    }
    return span;
}

static void lower_overwrites(struct compiled *c, const struct node *node, struct plan_op *op) {
    struct plan_problem *p = &c->problem;
    op->first_overwrite = p->n_overwrites;
    for (uint32_t i = 0; i < node->op->n_overwrites; i++) {
        struct op_overwrite o = node->op->overwrites[i];
        if (!node_has_input(node, (uint32_t)o.input) || (uint32_t)o.output >= node->n_outputs)
            continue;
        const struct value *from = graph_value(c->g, graph_root(c->g, node->inputs[o.input]));
        const struct value *to = graph_value(c->g, node->outputs[o.output]);
        if (from->persistent || to->persistent || from->dtype != to->dtype ||
            value_bytes(from) != value_bytes(to))
            continue;
        p->overwrites[p->n_overwrites++] = (struct plan_overwrite){
            c->plan_of_value[node->inputs[o.input]], c->plan_of_value[node->outputs[o.output]]};
        op->n_overwrites++;
    }
}

/* `op_of_node` gives the ops of the nodes before. */
static void lower_op(struct compiled *c, node_id n, double seconds, bool update_is_part,
                     uint32_t *op_of_node) {
    static const enum plan_phase phases[N_PHASES] = {PLAN_FORWARD, PLAN_BACKWARD, PLAN_UPDATE};
    struct plan_problem *p = &c->problem;
    const struct node *node = graph_node(c->g, n);
    bool alternative = c->primary[n] != n;
    uint32_t index = p->n_ops + p->n_alternatives;
    uint32_t primary = alternative ? op_of_node[c->primary[n]] : index;
    struct plan_op *op = &p->ops[index];
    *op = (struct plan_op){.seconds = seconds,
                           .phase = phases[node->phase],
                           .effect = node->n_updates > 0 || node->op->flags & OP_EFFECT,
                           .update_part = node->phase == PHASE_UPDATE && update_is_part,
                           .alternative_of = primary};
    op->inputs = lower_ids(c, node->inputs, node->n_inputs);
    op->outputs = lower_ids(c, node->outputs, node->n_outputs);
    if (c->scratch_of_node[n] != PLAN_NONE) {
        p->ids[p->n_ids++] = c->scratch_of_node[n];
        op->outputs.n++;
    }
    for (uint32_t i = 0; i < op->outputs.n; i++)
        p->values[p->ids[op->outputs.first + i]].producer = primary;
    op->updates = lower_ids(c, node->updates, node->n_updates);
    lower_overwrites(c, node, op);
    c->node_of_op[index] = n;
    op_of_node[n] = index;
    *(alternative ? &p->n_alternatives : &p->n_ops) += 1;
}

static neap_error *lower_ops(struct compiled *c, const double *seconds, bool update_is_part) {
    struct plan_problem *p = &c->problem;
    size_t n_ids = 0, n_overwrites = 0;
    uint32_t *op_of_node;
    for (node_id n = 0; n < c->g->n_nodes; n++) {
        const struct node *node = graph_node(c->g, n);
        n_ids += node->n_inputs + node->n_outputs + node->n_updates + 1;
        n_overwrites += node->op->n_overwrites;
    }
    TRY(pool_alloc(&p->pool, c->g->n_nodes, sizeof *p->ops, &p->ops));
    TRY(pool_alloc(&p->pool, n_ids, sizeof *p->ids, &p->ids));
    TRY(pool_alloc(&p->pool, n_overwrites, sizeof *p->overwrites, &p->overwrites));
    TRY(memory_alloc(c->g->n_nodes, sizeof *op_of_node, &op_of_node));
    for (node_id n = 0; n < c->g->n_nodes; n++)
        if (c->kernels[n])
            lower_op(c, n, seconds[n], update_is_part, op_of_node);
    free(op_of_node);
    return NULL;
}

/* The fastest implementation is the primary: seconds may have been measured. */
static void put_fastest_first(struct compiled *c) {
    struct plan_problem *p = &c->problem;
    for (uint32_t a = p->n_ops; a < p->n_ops + p->n_alternatives; a++) {
        uint32_t primary = p->ops[a].alternative_of;
        if (p->ops[a].seconds >= p->ops[primary].seconds)
            continue;
        struct plan_op faster = p->ops[a];
        node_id node = c->node_of_op[a];
        p->ops[a] = p->ops[primary];
        p->ops[primary] = faster;
        c->node_of_op[a] = c->node_of_op[primary];
        c->node_of_op[primary] = node;
    }
}

static void count_persistent(struct compiled *c) {
    int64_t *const totals[N_VALUE_KINDS] = {
        [VALUE_PARAMETER] = &c->persistent.weights,
        [VALUE_PARAMETER_GRADIENT] = &c->persistent.gradients,
        [VALUE_OPTIMIZER_STATE] = &c->persistent.optimizer,
        [VALUE_BUFFER] = &c->persistent.buffers,
        [VALUE_LOSS] = &c->persistent.buffers,
    };
    for (value_id v = 0; v < c->g->n_values; v++) {
        const struct value *value = graph_value(c->g, v);
        if (value->persistent && totals[value->kind])
            *totals[value->kind] += round_up(value_bytes(value), ALIGNMENT_BYTES);
    }
}

neap_error *compile_lower(struct compiled *c, struct measured *measured, bool update_is_part) {
    size_t *scratch = NULL;
    double *seconds = NULL;
    neap_error *error = NULL;
    uint32_t n_nodes = c->g->n_nodes;
    TRY_GOTO(memory_alloc(n_nodes, sizeof *scratch, &scratch));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *seconds, &seconds));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *c->states, &c->states));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *c->node_of_op, &c->node_of_op));
    TRY_GOTO(memory_alloc(n_nodes, sizeof *c->scratch_of_node, &c->scratch_of_node));
    TRY_GOTO(memory_alloc(c->g->n_values, sizeof *c->plan_of_value, &c->plan_of_value));
    TRY_GOTO(create_kernels(c, scratch));
    TRY_GOTO(lower_values(c, scratch));
    for (node_id n = 0; n < n_nodes; n++)
        seconds[n] = compile_model_seconds(c->g, graph_node(c->g, n));
    if (measured && c->device->backend->runs)
        TRY_GOTO(compile_measure_seconds(c, measured, seconds));
    TRY_GOTO(lower_ops(c, seconds, update_is_part));
    put_fastest_first(c);
    count_persistent(c);
done:
    free(scratch);
    free(seconds);
    return error;
}
