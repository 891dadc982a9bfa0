/* Reverse-mode differentiation of a graph: see autodiff.c. */
#ifndef NEAP_PASS_AUTODIFF_H
#define NEAP_PASS_AUTODIFF_H

#include "ir/graph.h"

/* Appends the backward nodes of `loss` (a scalar). gradients[v], for the values there were on
 * entry, becomes the gradient of v or ID_NONE; gradients[loss] is the seed, the output of a `fill`
 * of 1. A parameter without a path to the loss is NEAP_ERROR_MODEL. */
MUST_USE neap_error *autodiff_run(neap_graph *g, value_id loss, bool input_gradient,
                                  value_id *gradients);

#endif
