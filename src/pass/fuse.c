/* fuse: two nodes into one where a kernel does both.
 *
 *   before autodiff   relu(batch_norm_apply(x))         → batch_norm_apply relu=1, whose backward
 *                                                         needs neither y nor a mask
 *   after autodiff    add(batch_norm_apply(x), r)       → batch_norm_apply with residual r
 *                     relu(batch_norm_apply(x, r))      → the same with relu=1 (and the mask)
 *                     relu(conv2d(x)), relu(linear(x))  → relu=1, unless backward wanted the mask
 *
 * Needs: the first node's only reader is the second. The fused node stands where the second stood.
 * Each pattern is one walk over the graph; order in the tables matters. */
#include <stdlib.h>
#include <string.h>

#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/linear.h"
#include "ops/ops.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct pattern {
    const struct op_def *first, *second;
    bool *(*relu)(void *attrs); /* the attribute to set, if any */
    bool (*fits)(const struct node *first, const struct node *second); /* NULL: always */
    bool residual; /* the second's other input becomes the first's last */
};

static bool *batch_norm_relu(void *attrs) {
    return &((struct batch_norm_attrs *)attrs)->relu;
}
static bool *conv2d_relu(void *attrs) {
    return &((struct conv2d_attrs *)attrs)->relu;
}
static bool *linear_relu(void *attrs) {
    return &((struct linear_attrs *)attrs)->relu;
}

static bool no_mask(const struct node *first, const struct node *second) {
    (void)first;
    return second->n_outputs == 1;
}
static bool no_residual_yet(const struct node *first, const struct node *second) {
    return first->n_inputs == 5 && !((const struct batch_norm_attrs *)first->attrs)->relu &&
           second->inputs[0] != second->inputs[1];
}
static bool has_residual(const struct node *first, const struct node *second) {
    (void)second;
    return first->n_inputs == 6;
}
/* A mask from the fused form would be one that nobody wants before autodiff. */
static bool plain(const struct node *first, const struct node *second) {
    return first->n_inputs == 5 && no_mask(first, second);
}

static const struct pattern before[] = {
    {&op_batch_norm_apply, &op_relu, batch_norm_relu, plain, false},
};
static const struct pattern after[] = {
    {&op_batch_norm_apply, &op_add, NULL, no_residual_yet, true},
    {&op_batch_norm_apply, &op_relu, batch_norm_relu, has_residual, false},
    {&op_conv2d, &op_relu, conv2d_relu, no_mask, false},
    {&op_linear, &op_relu, linear_relu, no_mask, false},
};

/* The node that makes input i of `second`, if the pattern folds it in. */
static node_id match(const neap_graph *g, const struct pattern *p, const struct node *second,
                     const uint32_t *readers, uint32_t i) {
    value_id between = second->inputs[i];
    node_id first = graph_value(g, between)->producer;
    if (first == ID_NONE || graph_node(g, first)->op != p->first || readers[between] != 1)
        return ID_NONE;
    const struct node *node = graph_node(g, first);
    if (node->phase != second->phase || node->outputs[0] != between || node->n_outputs != 1)
        return ID_NONE;
    return !p->fits || p->fits(node, second) ? first : ID_NONE;
}

/* partner[second] = first and partner[first] = second for every pair to fold. */
static size_t find_pairs(const neap_graph *g, const struct pattern *p, const uint32_t *readers,
                         node_id *partner) {
    size_t n_pairs = 0;
    for (node_id n = 0; n < g->n_nodes; n++)
        partner[n] = ID_NONE;
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *second = graph_node(g, n);
        if (second->op != p->second || second->phase != PHASE_FORWARD)
            continue;
        for (uint32_t i = 0; i < second->n_inputs && partner[n] == ID_NONE; i++) {
            node_id first = match(g, p, second, readers, i);
            if (first == ID_NONE || partner[first] != ID_NONE)
                continue;
            partner[n] = first;
            partner[first] = n;
            n_pairs++;
        }
    }
    return n_pairs;
}

static neap_error *emit_pair(struct rewrite *rw, const struct pattern *p, node_id first_id,
                             node_id second_id) {
    const struct node *first = graph_node(rw->from, first_id);
    const struct node *second = graph_node(rw->from, second_id);
    value_id inputs[8];
    uint32_t n_inputs = first->n_inputs;
    for (uint32_t i = 0; i < n_inputs; i++)
        inputs[i] = rewrite_value(rw, first->inputs[i]);
    if (p->residual) {
        bool left = second->inputs[0] == first->outputs[0];
        inputs[n_inputs++] = rewrite_value(rw, second->inputs[left ? 1 : 0]);
    }
    node_id fused;
    TRY(rewrite_replace(rw,
                        &(struct node_spec){.op = first->op,
                                            .name = first->name,
                                            .phase = first->phase,
                                            .attrs = first->attrs,
                                            .inputs = inputs,
                                            .n_inputs = n_inputs,
                                            .n_outputs = second->n_outputs},
                        second->outputs, &fused));
    if (p->relu)
        *p->relu(graph_node(rw->to, fused)->attrs) = true;
    return NULL;
}

/* NULL in *out where the pattern occurs nowhere. */
static neap_error *fuse(const neap_graph *g, const struct pattern *p, neap_graph **out) {
    uint32_t *readers = NULL;
    node_id *partner = NULL;
    struct rewrite rw = {0};
    neap_error *error = NULL;
    *out = NULL;
    TRY_GOTO(graph_count_readers(g, &readers));
    TRY_GOTO(memory_alloc(g->n_nodes, sizeof *partner, &partner));
    if (!find_pairs(g, p, readers, partner))
        goto done;
    error = rewrite_start(&rw, g);
    for (node_id n = 0; n < g->n_nodes && !error; n++) {
        if (partner[n] == ID_NONE)
            error = rewrite_node(&rw, n, NULL);
        else if (partner[n] < n) /* the first of a pair is emitted with the second */
            error = emit_pair(&rw, p, partner[n], n);
    }
    error = rewrite_finish(&rw, error, out);
done:
    free(readers);
    free(partner);
    return error;
}

static neap_error *fuse_all(const neap_graph *g, const struct pattern *patterns, size_t n,
                            neap_graph **out) {
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        neap_graph *fused;
        neap_error *error = fuse(*out ? *out : g, &patterns[i], &fused);
        if (error || fused) {
            graph_free(*out);
            *out = fused;
        }
        if (error) {
            *out = NULL;
            return error;
        }
    }
    return NULL;
}

neap_error *pass_fuse_before_autodiff(const neap_graph *g, neap_graph **out) {
    return fuse_all(g, before, sizeof before / sizeof *before, out);
}

neap_error *pass_fuse_after_autodiff(const neap_graph *g, neap_graph **out) {
    return fuse_all(g, after, sizeof after / sizeof *after, out);
}
