/* layout: gives every value the layout that the kernels want, with reorders where they disagree.
 *
 *   y = conv2d(x, w)   →   x' = reorder(x)  (x plain, the kernel wants nChw16c)
 *                          y = conv2d(x', w)  y: aBcd16b, w: ABcd16b16a
 *
 * Nodes are asked in order; a value keeps the layout that its producer gives it; a parameter takes
 * the one that its first reader wants, moments and gradients follow their parameter. A parameter
 * wanted otherwise later is copied: a `weight_copy`, recomputable like any forward value. A cast of
 * what is stored takes its first reader's layout too, and is made again from there for another; a
 * parameter that only casts read takes the layout of its gradient. Views want plain. Needs: all
 * other passes done. Breaks: names of new values end in '@<layout>'. Linear.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/layout_query.h"
#include "ops/ops.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

enum { MAX_INPUTS = 256, MAX_OUTPUTS = 8 };

/* A reorder made before: the same value in the same layout is not made twice. */
struct made {
    value_id from, to;
};

struct pass {
    struct rewrite rw;
    const struct layout_query *query;
    bool
        *open; /* by new value: a parameter, or a cast of what is stored, that nobody has claimed */
    size_t open_capacity;
    struct made *made;
    size_t n_made, made_capacity;
    const void **choices;
    size_t choices_capacity;
};

static neap_error *record_choice(struct pass *pass, node_id node, const void *choice) {
    TRY(memory_grow(&pass->choices, &pass->choices_capacity, (size_t)node + 1,
                    sizeof *pass->choices));
    pass->choices[node] = choice;
    return NULL;
}

static bool is_open(const struct pass *pass, value_id v) {
    return v < pass->open_capacity && pass->open[v];
}

static neap_error *mark_open(struct pass *pass, value_id v) {
    size_t before = pass->open_capacity;
    TRY(memory_grow(&pass->open, &pass->open_capacity, (size_t)v + 1, sizeof *pass->open));
    for (size_t i = before; i < pass->open_capacity; i++)
        pass->open[i] = false;
    pass->open[v] = true;
    return NULL;
}

/* From fp32 in storage to 16 bits in the arena: by a kernel that reorders on the way. */
static bool casts_storage(const neap_graph *g, const struct node *node) {
    if (node->op != &op_cast)
        return false;
    const struct value *from = node_input(g, node, 0);
    return from->producer == ID_NONE && from->dtype == DTYPE_F32 &&
           dtype_is_half(node_output(g, node, 0)->dtype);
}

static value_id find_made(const struct pass *pass, value_id from, struct layout layout) {
    for (size_t i = 0; i < pass->n_made; i++)
        if (pass->made[i].from == from &&
            layout_equal(graph_value(pass->rw.to, pass->made[i].to)->layout, layout))
            return pass->made[i].to;
    return ID_NONE;
}

/* The phase of a reorder: recomputable where it depends on forward values alone. */
static enum phase reorder_phase(const neap_graph *g, const struct value *from, enum phase reader) {
    if (reader == PHASE_UPDATE)
        return PHASE_UPDATE;
    if (from->producer == ID_NONE)
        return PHASE_FORWARD;
    return graph_node(g, from->producer)->phase;
}

static neap_error *reorder(struct pass *pass, value_id from, struct layout layout,
                           enum phase reader, value_id *out) {
    neap_graph *g = pass->rw.to;
    *out = find_made(pass, from, layout);
    if (*out != ID_NONE)
        return NULL;
    const struct value *value = graph_value(g, from);
    char name[256], text[40];
    snprintf(name, sizeof name, "%s@%s", value->name, layout_text(layout, value->shape.rank, text));
    bool weight = value->kind == VALUE_PARAMETER;
    const struct node *producer =
        value->producer == ID_NONE ? NULL : graph_node(g, value->producer);
    bool cast = producer && casts_storage(g, producer);
    value_id source = cast ? producer->inputs[0] : from;
    struct node_spec spec = {.op = cast ? &op_cast : &op_reorder,
                             .name = name,
                             .phase = reorder_phase(g, value, reader),
                             .attrs = cast ? producer->attrs : NULL,
                             .inputs = &source,
                             .n_inputs = 1,
                             .n_outputs = 1,
                             .output_kind = weight                       ? VALUE_WEIGHT_COPY
                                            : value->kind == VALUE_INPUT ? VALUE_ACTIVATION
                                                                         : value->kind};
    node_id node;
    const void *choice;
    TRY(graph_add_node(g, &spec, &node));
    *out = graph_node(g, node)->outputs[0];
    struct layout now = graph_value(g, source)->layout, target = layout;
    TRY(pass->query->choose(pass->query->backend, g, graph_node(g, node), 0, &now, &target,
                            &choice));
    graph_value(g, *out)->layout = layout;
    graph_value(g, *out)->of = weight ? from : graph_value(g, from)->of;
    TRY(record_choice(pass, node, choice));
    TRY(memory_grow(&pass->made, &pass->made_capacity, pass->n_made + 1, sizeof *pass->made));
    pass->made[pass->n_made++] = (struct made){from, *out};
    return NULL;
}

static void claim(struct pass *pass, value_id parameter, struct layout layout) {
    neap_graph *g = pass->rw.to;
    graph_value(g, parameter)->layout = layout;
    pass->open[parameter] = false;
    for (value_id v = 0; v < g->n_values; v++) /* moments and accumulators */
        if (graph_value(g, v)->of == parameter && graph_value(g, v)->persistent &&
            graph_value(g, v)->producer == ID_NONE)
            graph_value(g, v)->layout = layout;
}

/* Asks for the node's layouts, then makes its inputs the values that have them. */
static neap_error *settle_inputs(struct pass *pass, const struct node *draft,
                                 struct layout *out_layouts, const void **choice) {
    neap_graph *g = pass->rw.to;
    value_id *in = draft->inputs;
    struct layout wanted[MAX_INPUTS] = {{0}};
    uint64_t open = 0;
    for (uint32_t i = 0; i < draft->n_inputs; i++) {
        if (in[i] == ID_NONE)
            continue;
        wanted[i] = graph_value(g, in[i])->layout;
        if (i < 64 && is_open(pass, in[i]))
            open |= (uint64_t)1 << i;
    }
    *choice = NULL;
    if (draft->op->flags & OP_VIEW)
        wanted[0] = (struct layout){0};
    else
        TRY(pass->query->choose(pass->query->backend, g, draft, open, wanted, out_layouts, choice));
    for (uint32_t i = 0; i < draft->n_inputs; i++) {
        if (in[i] == ID_NONE)
            continue;
        if (is_open(pass, in[i]))
            claim(pass, in[i], wanted[i]);
        if (!layout_equal(graph_value(g, in[i])->layout, wanted[i]))
            TRY(reorder(pass, in[i], wanted[i], draft->phase, &in[i]));
    }
    return NULL;
}

/* Moves the node at `first` behind those that were appended after it: its reorders. */
static void move_last(struct pass *pass, node_id first) {
    neap_graph *g = pass->rw.to;
    node_id last = g->n_nodes - 1;
    struct node node = g->nodes[first];
    const void *choice = pass->choices[first];
    memmove(&g->nodes[first], &g->nodes[first + 1], (last - first) * sizeof node);
    memmove(&pass->choices[first], &pass->choices[first + 1], (last - first) * sizeof choice);
    g->nodes[last] = node;
    pass->choices[last] = choice;
    for (node_id n = first; n <= last; n++)
        for (uint32_t i = 0; i < g->nodes[n].n_outputs; i++)
            graph_value(g, g->nodes[n].outputs[i])->producer = n;
}

/* A stored gradient lies as its parameter in every program: where the kernel writes it otherwise,
 * it writes a temporary that a reorder puts there. */
static neap_error *store_output(struct pass *pass, node_id id, uint32_t i, struct layout made) {
    neap_graph *g = pass->rw.to;
    value_id stored = graph_node(g, id)->outputs[i], written;
    struct value value = *graph_value(g, stored);
    char name[256], text[40];
    snprintf(name, sizeof name, "%s@%s", value.name, layout_text(made, value.shape.rank, text));
    TRY(graph_add_value(g,
                        &(struct value_spec){.name = name,
                                             .kind = value.kind,
                                             .dtype = value.dtype,
                                             .shape = value.shape,
                                             .layout = made,
                                             .of = value.of},
                        &written));
    graph_value(g, written)->producer = id;
    graph_node(g, id)->outputs[i] = written;
    snprintf(name, sizeof name, "%s.store", value.name);
    node_id node;
    const void *choice;
    TRY(graph_add_node(g,
                       &(struct node_spec){.op = &op_reorder,
                                           .name = name,
                                           .phase = graph_node(g, id)->phase,
                                           .inputs = &written,
                                           .n_inputs = 1,
                                           .n_outputs = 1,
                                           .into = &stored},
                       &node));
    struct layout target = graph_value(g, stored)->layout;
    TRY(pass->query->choose(pass->query->backend, g, graph_node(g, node), 0, &made, &target,
                            &choice));
    return record_choice(pass, node, choice);
}

/* Outputs get the layouts that the kernel gives them. */
static neap_error *settle_outputs(struct pass *pass, node_id id, const struct layout *made) {
    neap_graph *g = pass->rw.to;
    for (uint32_t i = 0; i < graph_node(g, id)->n_outputs; i++) {
        struct value *value = graph_value(g, graph_node(g, id)->outputs[i]);
        if (value->kind == VALUE_PARAMETER_GRADIENT && is_open(pass, value->of))
            claim(pass, value->of, made[i]);
        bool stored = value->persistent && value->of != ID_NONE;
        value->layout = stored ? graph_value(g, value->of)->layout : made[i];
        if (!layout_equal(value->layout, made[i]))
            TRY(store_output(pass, id, i, made[i]));
    }
    return NULL;
}

static neap_error *place_storage_cast(struct pass *pass, node_id id) {
    neap_graph *g = pass->rw.to;
    const struct node *node = graph_node(g, id);
    struct layout from = node_input(g, node, 0)->layout, to = {0};
    TRY(pass->query->choose(pass->query->backend, g, node, 0, &from, &to, &pass->choices[id]));
    return mark_open(pass, node->outputs[0]);
}

/* The node is appended first, so that the backend can be asked about it as it will stand. */
static neap_error *place_node(struct pass *pass, node_id n) {
    neap_graph *g = pass->rw.to;
    struct layout out_layouts[MAX_OUTPUTS] = {{0}};
    const void *choice;
    node_id id;
    TRY(rewrite_node(&pass->rw, n, &id));
    struct node node = *graph_node(g, id);
    if (node.n_inputs > MAX_INPUTS || node.n_outputs > MAX_OUTPUTS)
        return error_make(NEAP_ERROR_MODEL, "'%s' has %u inputs: at most %d are supported",
                          node.name, node.n_inputs, MAX_INPUTS);
    TRY(record_choice(pass, id, NULL));
    if (casts_storage(g, &node))
        return place_storage_cast(pass, id);
    TRY(settle_inputs(pass, &node, out_layouts, &choice));
    pass->choices[id] = choice;
    move_last(pass, id);
    return settle_outputs(pass, g->n_nodes - 1, out_layouts);
}

static neap_error *copy_fixed_layouts(struct pass *pass, const neap_graph *fixed) {
    neap_graph *g = pass->rw.to;
    TRY(memory_alloc(g->n_values, sizeof *pass->open, &pass->open));
    pass->open_capacity = g->n_values;
    for (value_id v = 0; v < g->n_values; v++)
        pass->open[v] = graph_value(g, v)->kind == VALUE_PARAMETER;
    for (value_id f = 0; fixed && f < fixed->n_values; f++) {
        if (!graph_value(fixed, f)->persistent)
            continue;
        for (value_id v = 0; v < g->n_values; v++)
            if (graph_value(g, v)->persistent &&
                !strcmp(graph_value(g, v)->name, graph_value(fixed, f)->name)) {
                graph_value(g, v)->layout = graph_value(fixed, f)->layout;
                pass->open[v] = false;
            }
    }
    return NULL;
}

neap_error *pass_layout(const neap_graph *g, const struct layout_query *query,
                        const neap_graph *fixed, neap_graph **out, const void ***choices) {
    struct pass pass = {.query = query};
    neap_error *error = NULL;
    TRY_GOTO(rewrite_start(&pass.rw, g));
    TRY_GOTO(copy_fixed_layouts(&pass, fixed));
    for (node_id n = 0; n < g->n_nodes; n++)
        TRY_GOTO(place_node(&pass, n));
done:
    free(pass.open);
    free(pass.made);
    if (error)
        free(pass.choices);
    else
        *choices = pass.choices;
    return rewrite_finish(&pass.rw, error, out);
}
