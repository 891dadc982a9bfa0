/* The compiler, top to bottom: each line of `compile` is one stage, whose result can be printed
 * (--dump-after), stopped at (--stop-after), and is verified before the next. */
#include "compile/compile.h"

#include <stdlib.h>
#include <string.h>

#include "ir/verify.h"
#include "ops/fill.h"
#include "ops/layout_query.h"
#include "pass/autodiff.h"

enum { MAX_NAME = 128 };

static const char *const stages[] = {"model",    "expand", "fuse-norm", "precision",
                                     "autodiff", "update", "fuse",      "mask",
                                     "sink",     "prune",  "layout",    NULL};

const char *compile_stage(size_t index) {
    return index < sizeof stages / sizeof *stages ? stages[index] : NULL;
}

/* A stage's result takes the place of the graph (NULL: it worked in place or changed nothing). */
static neap_error *stage(struct compiled *c, const struct compile_options *o, const char *name,
                         neap_graph *result) {
    if (result) {
        graph_free(c->g);
        c->g = result;
    }
    TRY(graph_verify(c->g, name));
    if (o->on_stage && !o->on_stage(o->user, name, c->g))
        c->stopped = true;
    return NULL;
}

static neap_error *differentiate(struct compiled *c, const struct compile_options *o,
                                 value_id **gradients) {
    value_id loss = c->g->roles.loss;
    if (loss == ID_NONE)
        return error_make(NEAP_ERROR_MODEL, "'%s' has no loss to train for", c->g->name);
    TRY(memory_alloc(c->g->n_values, sizeof **gradients, gradients));
    TRY(autodiff_run(c->g, loss, o->input_gradient, *gradients));
    const struct value *seed = graph_value(c->g, (*gradients)[loss]);
    struct fill_attrs *attrs = graph_node(c->g, seed->producer)->attrs;
    attrs->value = o->seed;
    attrs->scaled = o->scaled_loss;
    return NULL;
}

static neap_error *choose(void *backend, const neap_graph *g, const struct node *node,
                          uint64_t open, struct layout *in, struct layout *out,
                          const void **choice) {
    const struct kernel *kernel;
    TRY(device_choose(backend, g, node, open, in, out, &kernel));
    *choice = kernel;
    return NULL;
}

static neap_error *choose_layouts(struct compiled *c, const struct compile_options *o,
                                  neap_graph **out) {
    const struct layout_query query = {.backend = o->device, .choose = choose};
    const void **choices;
    TRY(pass_layout(c->g, &query, o->fixed, out, &choices));
    c->kernels = (const struct kernel **)choices;
    return NULL;
}

/* Passes append to names in buffers of 256. */
static neap_error *check_name_lengths(const neap_graph *g) {
    for (value_id v = 0; v < g->n_values; v++)
        if (strlen(graph_value(g, v)->name) > MAX_NAME)
            return error_make(NEAP_ERROR_MODEL, "the name '%.40s…' is longer than %d bytes",
                              graph_value(g, v)->name, MAX_NAME);
    for (node_id n = 0; n < g->n_nodes; n++)
        if (strlen(graph_node(g, n)->name) > MAX_NAME)
            return error_make(NEAP_ERROR_MODEL, "the name '%.40s…' is longer than %d bytes",
                              graph_node(g, n)->name, MAX_NAME);
    return NULL;
}

static bool is_fused(const struct compile_options *o) {
    return o->update.gradients == GRADIENTS_FUSED;
}

#define STAGE(name, call)                                                                          \
    do {                                                                                           \
        neap_graph *result = NULL;                                                                 \
        TRY_GOTO(call);                                                                            \
        TRY_GOTO(stage(c, o, name, result));                                                       \
        if (c->stopped)                                                                            \
            goto done;                                                                             \
    } while (0)

neap_error *compile(const struct compile_options *o, struct compiled **out) {
    struct compiled *c;
    value_id *gradients = NULL;
    neap_error *error = NULL;
    TRY(memory_alloc(1, sizeof *c, &c));
    c->device = o->device;
    TRY_GOTO(graph_clone(o->model, &c->g));
    uint32_t n_values;

    TRY_GOTO(graph_check(o->model)); /* what a user wrote is a user's error */
    TRY_GOTO(check_name_lengths(o->model));
    STAGE("model", graph_rebatch(c->g, o->batch));
    STAGE("expand", pass_expand(c->g, o->training, &result));
    STAGE("fuse-norm", pass_fuse_before_autodiff(c->g, &result));
    STAGE("precision", pass_precision(c->g, o->precision, &result));
    n_values = c->g->n_values;
    if (o->training) {
        STAGE("autodiff", differentiate(c, o, &gradients));
        STAGE("update", pass_update(c->g, &o->update, gradients, n_values));
    }
    STAGE("fuse", pass_fuse_after_autodiff(c->g, &result));
    if (o->training) {
        STAGE("mask", pass_mask(c->g));
        STAGE("sink", is_fused(o) ? pass_sink_updates(c->g) : NULL);
    }
    STAGE("prune", pass_prune(c->g, &result));
    STAGE("layout", choose_layouts(c, o, &result));
    TRY_GOTO(compile_alternatives(c));
    TRY_GOTO(compile_lower(c, o->measured, !is_fused(o)));
done:
    free(gradients);
    if (error)
        compiled_free(c);
    else
        *out = c;
    return error;
}

void compiled_free(struct compiled *c) {
    if (!c)
        return;
    for (node_id n = 0; c->states && n < c->g->n_nodes; n++) {
        if (!c->states[n])
            continue;
        if (c->kernels[n]->destroy)
            c->kernels[n]->destroy(c->states[n]);
        else
            free(c->states[n]);
    }
    free(c->states);
    free(c->kernels);
    free(c->primary);
    free(c->node_of_op);
    free(c->value_of_plan);
    free(c->plan_of_value);
    free(c->scratch_of_node);
    pool_free(&c->problem.pool);
    graph_free(c->g);
    free(c);
}

void compiled_seconds(const struct compiled *c, const struct plan_schedule *schedule,
                      double *micro_seconds, double *update_seconds) {
    *micro_seconds = *update_seconds = 0;
    for (size_t s = 0; s < schedule->n; s++) {
        const struct plan_op *op = &c->problem.ops[schedule->ops[s]];
        *(op->update_part ? update_seconds : micro_seconds) += op->seconds;
    }
}
