/* The rules of a graph, for whoever makes one from what a user wrote. */
#ifndef NEAP_IR_VERIFY_H
#define NEAP_IR_VERIFY_H

#include "ir/graph.h"

/* What graph_verify checks, as NEAP_ERROR_MODEL: the fault is the author's, not a pass's. */
MUST_USE neap_error *graph_check(const neap_graph *g);

#endif
