/* What gradient rules are written with: see docs/add-an-op.md.
 *
 * A rule appends ordinary nodes that read the forward values they need, the smallest that serve,
 * and hands each gradient over with autodiff_give. Rules run in reverse node order, so when one
 * runs, every reader of its outputs has already appended its backward. */
#ifndef NEAP_OPS_AUTODIFF_H
#define NEAP_OPS_AUTODIFF_H

#include "ir/op.h"

struct autodiff;

neap_graph *autodiff_graph(struct autodiff *ad);
/* The gradient of output i of the node being differentiated; ID_NONE if nothing flows there. */
value_id autodiff_output_gradient(struct autodiff *ad, node_id node, uint32_t i);
/* Is the gradient of this input wanted? */
bool autodiff_wants(struct autodiff *ad, node_id node, uint32_t input);
bool autodiff_wants_value(struct autodiff *ad, value_id value);
/* Is `value` read by a backward node appended so far (so that reading it again costs nothing)? */
bool autodiff_is_read_backward(struct autodiff *ad, value_id value);

/* Appends a backward node named after the forward one. Outputs are gradients. */
struct backward_spec {
    const struct op_def *op;
    const void *attrs;
    const value_id *inputs;
    uint32_t n_inputs, n_outputs;
};
MUST_USE neap_error *autodiff_append(struct autodiff *ad, node_id forward,
                                     const struct backward_spec *spec, node_id *out);

/* `gradient` is a contribution to the gradient of the node's input i. Contributions are added in
 * the order in which they are given. */
MUST_USE neap_error *autodiff_give(struct autodiff *ad, node_id node, uint32_t input,
                                   value_id gradient);
/* The same for a forward value that an earlier node than this one computes. */
MUST_USE neap_error *autodiff_give_value(struct autodiff *ad, node_id node, value_id target,
                                         value_id gradient);

#endif
