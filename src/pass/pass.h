/* The passes of the compiler, graph → graph. Each file opens with its contract. A pass takes a
 * graph and gives a new one, or NULL in *out where nothing changed. The caller frees both. */
#ifndef NEAP_PASS_PASS_H
#define NEAP_PASS_PASS_H

#include "ir/graph.h"

/* expand.c: batch norm into statistics, running statistics and apply; dropout away in evaluation.
 */
MUST_USE neap_error *pass_expand(const neap_graph *g, bool training, neap_graph **out);

/* fuse.c: pairs of nodes into one. Before autodiff those whose backward gets leaner by it, after
 * autodiff those that only save a pass over memory. */
MUST_USE neap_error *pass_fuse_before_autodiff(const neap_graph *g, neap_graph **out);
MUST_USE neap_error *pass_fuse_after_autodiff(const neap_graph *g, neap_graph **out);

/* precision.c: activations in 16 bits (DTYPE_BF16, DTYPE_F16) where ops gain; DTYPE_F32: nothing.
 */
MUST_USE neap_error *pass_precision(const neap_graph *g, enum dtype dtype, neap_graph **out);

/* mask.c: a ReLU's backward reads a bit mask wherever the forward can make one. In place. */
MUST_USE neap_error *pass_mask(neap_graph *g);

/* update.c: the optimizer's nodes, and where parameter gradients live. */
struct update_options {
    const struct op_def *op; /* sgd, adam; NULL: gradients alone, not fused */
    const void *attrs;
    const void *attrs_of_vectors;   /* of parameters of rank 1, norms and biases; NULL: the same */
    uint32_t n_states;              /* values of optimizer state per parameter */
    const char *const *state_names; /* "momentum" makes "conv1.weight.momentum" */
    enum {
        GRADIENTS_STORED,      /* written whole into persistent storage */
        GRADIENTS_ACCUMULATED, /* added to persistent storage that the update clears */
        GRADIENTS_FUSED,       /* lives in the arena, each consumed as soon as it is final */
    } gradients;
};
/* In place; `gradients` as autodiff_run left them. */
MUST_USE neap_error *pass_update(neap_graph *g, const struct update_options *options,
                                 const value_id *gradients, uint32_t n_gradients);
/* sink.c: every update as early as its gradient and its parameter's readers allow. In place. */
MUST_USE neap_error *pass_sink_updates(neap_graph *g);

/* layout.c: every value's layout, with reorders where kernels disagree. choices[node] is the
 * backend's own answer for each node of *out (free() the array). Persistent values that `fixed`
 * (may be NULL) also has, by name, keep the layouts they have there. */
struct layout_query; /* ops/layout_query.h */
MUST_USE neap_error *pass_layout(const neap_graph *g, const struct layout_query *query,
                                 const neap_graph *fixed, neap_graph **out, const void ***choices);

/* prune.c: nodes whose results nobody reads. */
MUST_USE neap_error *pass_prune(const neap_graph *g, neap_graph **out);

#endif
