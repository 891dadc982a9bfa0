/* Runs a graph node by node with the ops' reference functions, on plain tensors of its dtypes. */
#ifndef NEAP_TESTS_SUPPORT_INTERPRET_H
#define NEAP_TESTS_SUPPORT_INTERPRET_H

#include "ir/op.h"

struct interpreter {
    const neap_graph *g;
    struct tensor *tensors; /* one per value, zeroed; fill inputs and parameters in */
    struct run_params params;
};

MUST_USE neap_error *interpreter_create(const neap_graph *g, struct interpreter *out);
void interpreter_destroy(struct interpreter *it);
void interpreter_run_node(struct interpreter *it, node_id node);
/* Nodes begin ≤ n < end, in order. */
void interpreter_run(struct interpreter *it, node_id begin, node_id end);

/* Zeroed plain storage; free(tensor->data). */
MUST_USE neap_error *tensor_alloc(enum dtype dtype, struct shape shape, struct tensor *out);
size_t tensor_bytes(const struct tensor *t);

#endif
