/* How passes go from graph to graph: a new graph, and where each old value went. */
#ifndef NEAP_PASS_REWRITE_H
#define NEAP_PASS_REWRITE_H

#include "ir/op.h"

struct rewrite {
    const neap_graph *from;
    neap_graph *to;
    value_id *map; /* old value → new value, ID_NONE where not there (yet) */
};

/* An empty graph that holds the inputs and the persistent values of `from`. */
MUST_USE neap_error *rewrite_start(struct rewrite *rw, const neap_graph *from);
/* Copies a node, its inputs being mapped already; maps its outputs. *out may be NULL. */
MUST_USE neap_error *rewrite_node(struct rewrite *rw, node_id node, node_id *out);
/* Appends a new node in the place of old ones: ids in `spec` are the new graph's; its output i
 * stands for the old value `stands_for[i]` (ID_NONE: for none), whose name and kind it takes. */
MUST_USE neap_error *rewrite_replace(struct rewrite *rw, const struct node_spec *spec,
                                     const value_id *stands_for, node_id *out);
/* Takes the roles over; gives the new graph and frees the map; on error frees both. */
MUST_USE neap_error *rewrite_finish(struct rewrite *rw, neap_error *error, neap_graph **out);

static inline value_id rewrite_value(const struct rewrite *rw, value_id old) {
    return old == ID_NONE ? ID_NONE : rw->map[old];
}

#endif
