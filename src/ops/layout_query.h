/* What the layout pass asks of a backend, so that passes need not know any. */
#ifndef NEAP_OPS_LAYOUT_QUERY_H
#define NEAP_OPS_LAYOUT_QUERY_H

#include "ir/op.h"

struct layout_query {
    void *backend;
    /* Chooses a kernel for the node, whose inputs' and updates' layouts are set: wanted layouts go
     * to `in` (which arrives with the current ones) and `out` (which arrives plain; for a reorder,
     * with the target). Inputs in the mask `open` are parameters that take whatever is wanted. */
    neap_error *(*choose)(void *backend, const neap_graph *g, const struct node *node,
                          uint64_t open, struct layout *in, struct layout *out,
                          const void **choice);
};

#endif
