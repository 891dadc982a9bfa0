/* Layers and segments of the model, found again among the ops of the compiled step: see pieces.h.
 *
 * Passes name what they make after the layer that it comes from: "bn1.stats", "conv1@aBcd16b". So
 * an op belongs to the layer whose name is what is left when parts are taken off its own. */
#include "train/pieces.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/names.h"
#include "ir/op.h"

enum { NAME = 160, PARTS = 32 }; /* the compiler refuses names of more than 128 bytes */

struct finder {
    const neap_graph *model;
    const struct compiled *c;
    struct names names; /* of the model's values */
};

static neap_error *open_finder(const neap_graph *model, const struct compiled *c,
                               struct finder *f) {
    value_id twin;
    neap_error *error = NULL;
    *f = (struct finder){.model = model, .c = c};
    for (value_id v = 0; v < model->n_values && !error; v++)
        error = names_add(&f->names, model, v, &twin);
    return error;
}

/* The model's node that made what `name` comes from; ID_NONE where it comes from none. */
static node_id node_of_name(const struct finder *f, const char *name) {
    char left[NAME];
    snprintf(left, sizeof left, "%s", name);
    for (;;) {
        value_id v = names_find(&f->names, f->model, left);
        if (v != ID_NONE && graph_value(f->model, v)->producer != ID_NONE)
            return graph_value(f->model, v)->producer;
        char *end = left + strlen(left);
        while (end > left && *end != '.' && *end != '@')
            end--;
        if (end == left)
            return ID_NONE;
        *end = 0;
    }
}

static const struct node *step_node(const struct finder *f, uint32_t op) {
    return graph_node(f->c->g, f->c->node_of_op[op]);
}

/* The layers that an op does the work of: its own, and, of a fused one, those of its outputs. */
static node_id layer_at(const struct finder *f, uint32_t op, uint32_t i) {
    const struct node *node = step_node(f, op);
    return node_of_name(f, i ? graph_value(f->c->g, node->outputs[i - 1])->name : node->name);
}

/* ---- patterns ------------------------------------------------------------------------------- */

/* Cuts a name at its dots; the number of parts. */
static int split(char *name, char *parts[PARTS]) {
    int n = 0;
    for (char *save, *part = strtok_r(name, ".", &save); part && n < PARTS;
         part = strtok_r(NULL, ".", &save))
        parts[n++] = part;
    return n;
}

/* The module whose layers are one piece: the first parts of the layer's name. False: no match. */
static bool match(const char *pattern, const char *layer, char module[NAME]) {
    char pattern_copy[NAME], layer_copy[NAME], *wanted[PARTS], *parts[PARTS];
    snprintf(pattern_copy, sizeof pattern_copy, "%s", pattern);
    snprintf(layer_copy, sizeof layer_copy, "%s", layer);
    int n_wanted = split(pattern_copy, wanted), n = split(layer_copy, parts);
    int same = 0, shared = n - 1, length = 0;
    while (same < n_wanted && same < n && !fnmatch(wanted[same], parts[same], 0))
        same++;
    if (n_wanted && same == n_wanted)
        shared = n > same && strcmp(wanted[same - 1], "*") ? same : same - 1;
    else if (fnmatch(pattern, layer, 0))
        return false;
    module[0] = 0;
    for (int i = 0; i < shared; i++)
        length += snprintf(module + length, NAME - (size_t)length, "%s.", parts[i]);
    return true;
}

/* The module that an op's layers are wrapped with by the pattern. */
static bool match_op(const struct finder *f, const char *pattern, uint32_t op, char module[NAME]) {
    for (uint32_t i = 0; i <= step_node(f, op)->n_outputs; i++) {
        node_id layer = layer_at(f, op, i);
        if (layer != ID_NONE && match(pattern, graph_node(f->model, layer)->name, module))
            return true;
    }
    return false;
}

struct wrapping {
    char (*modules)[NAME]; /* by op */
    bool *wrapped;         /* by op */
};

static neap_error *wrap(const struct finder *f, const char *pattern, uint32_t border,
                        const struct wrapping *w) {
    bool any = false;
    for (uint32_t o = 0; o < border; o++) {
        char module[NAME];
        if (!match_op(f, pattern, o, module))
            continue;
        any = true;
        if (!w->wrapped[o])
            memcpy(w->modules[o], module, NAME);
        w->wrapped[o] = true;
    }
    if (any)
        return NULL;
    return error_make(NEAP_ERROR_USAGE, "no layer's name matches '%s'", pattern);
}

static neap_error *wrap_all(const struct finder *f, const char *patterns, uint32_t border,
                            const struct wrapping *w) {
    char *copy, *save;
    int n = 0;
    TRY(memory_string(patterns, &copy));
    neap_error *error = NULL;
    for (char *p = strtok_r(copy, ",", &save); p && !error; p = strtok_r(NULL, ",", &save), n++)
        error = strlen(p) < NAME ? wrap(f, p, border, w)
                                 : error_make(NEAP_ERROR_USAGE,
                                              "no layer's name is as long as "
                                              "'%s'",
                                              p);
    free(copy);
    if (!error && !n)
        error = error_make(NEAP_ERROR_USAGE, "no layer's name matches '%s'", patterns);
    return error;
}

/* A piece goes on as long as the next op is wrapped with the same module. */
static void number_runs(const struct wrapping *w, uint32_t border, uint32_t *piece) {
    for (uint32_t o = 0; o < border; o++) {
        bool goes_on =
            o && w->wrapped[o] && w->wrapped[o - 1] && !strcmp(w->modules[o], w->modules[o - 1]);
        if (w->wrapped[o])
            piece[o] = goes_on ? piece[o - 1] : o;
    }
}

static neap_error *alloc_pieces(const struct compiled *c, uint32_t **out) {
    TRY(memory_alloc(c->problem.n_ops, sizeof **out, out));
    for (uint32_t o = 0; o < c->problem.n_ops; o++)
        (*out)[o] = PLAN_NONE;
    return NULL;
}

neap_error *pieces_of_layers(const neap_graph *model, const struct compiled *c,
                             const char *patterns, uint32_t **out) {
    struct finder f;
    struct wrapping w = {0};
    uint32_t border = plan_border(&c->problem);
    *out = NULL;
    neap_error *error = open_finder(model, c, &f);
    if (!error)
        error = memory_alloc(border, sizeof *w.modules, &w.modules);
    if (!error)
        error = memory_alloc(border, sizeof *w.wrapped, &w.wrapped);
    if (!error)
        error = wrap_all(&f, patterns, border, &w);
    if (!error)
        error = alloc_pieces(c, out);
    if (!error)
        number_runs(&w, border, *out);
    free(w.modules);
    free(w.wrapped);
    names_free(&f.names);
    return error;
}

/* ---- segments ------------------------------------------------------------------------------- */

bool pieces_marked(const neap_graph *model) {
    for (node_id n = 0; n < model->n_nodes; n++)
        if (graph_node(model, n)->segment)
            return true;
    return false;
}

/* The first node of a node's segment. */
static node_id segment_of(const neap_graph *model, node_id n) {
    const char *segment = n == ID_NONE ? NULL : graph_node(model, n)->segment;
    for (node_id first = 0; segment && first < n; first++) {
        const char *other = graph_node(model, first)->segment;
        if (other && !strcmp(other, segment))
            return first;
    }
    return segment ? n : ID_NONE;
}

neap_error *pieces_of_segments(const neap_graph *model, const struct compiled *c, uint32_t **out) {
    struct finder f;
    *out = NULL;
    neap_error *error = open_finder(model, c, &f);
    if (!error && !pieces_marked(model))
        error = error_make(NEAP_ERROR_USAGE, "'%s' marks no segments to recompute", model->name);
    if (!error)
        error = alloc_pieces(c, out);
    for (uint32_t o = 0; !error && o < plan_border(&c->problem); o++)
        (*out)[o] = segment_of(model, layer_at(&f, o, 0));
    names_free(&f.names);
    return error;
}
