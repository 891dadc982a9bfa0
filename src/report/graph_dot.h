/* A training step's graph for Graphviz, coloured by what a plan does. */
#ifndef NEAP_REPORT_GRAPH_DOT_H
#define NEAP_REPORT_GRAPH_DOT_H

#include "base/status.h"

enum graph_dot_kind {
    GRAPH_DOT_INPUT,
    GRAPH_DOT_KEPT,       /* of forward: a result lives into backward */
    GRAPH_DOT_RECOMPUTED, /* runs more than once */
    GRAPH_DOT_DROPPED,    /* of forward: nothing of it is there in backward, nor made again */
    GRAPH_DOT_BACKWARD,
    GRAPH_DOT_UPDATE,
    N_GRAPH_DOT_KINDS
};

struct graph_dot_node {
    const char *name, *op; /* op NULL: none */
    enum graph_dot_kind kind;
    uint32_t runs;
    double seconds; /* of one run */
    int64_t bytes;  /* that it makes */
};

/* A value, from its producer to one reader. */
struct graph_dot_edge {
    uint32_t from, to; /* nodes */
    int64_t bytes;
};

struct graph_dot {
    const char *title;
    const struct graph_dot_node *nodes;
    const struct graph_dot_edge *edges;
    size_t n_nodes, n_edges;
};

MUST_USE neap_error *graph_dot_write(const struct graph_dot *graph, const char *path);

#endif
