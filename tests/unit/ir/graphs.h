/* Graphs for the tests of ir: read from text, and back. */
#ifndef NEAP_TESTS_UNIT_IR_GRAPHS_H
#define NEAP_TESTS_UNIT_IR_GRAPHS_H

#include "support/files.h"

#include "ops/ops.h"

static inline neap_graph *graph_from(const char *text) {
    neap_graph *g;
    assert_no_error(graph_read_text(text, "test.neap", &all_ops, &g));
    return g;
}

/* free() it. */
static inline char *text_of(const neap_graph *g) {
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_no_error(graph_write_text(g, file));
    assert_int_equal(fclose(file), 0);
    return text;
}

static inline value_id value_named(const neap_graph *g, const char *name) {
    for (value_id v = 0; v < g->n_values; v++)
        if (!strcmp(graph_value(g, v)->name, name))
            return v;
    fail_msg("no value '%s'", name);
    return ID_NONE;
}

static inline node_id node_named(const neap_graph *g, const char *name) {
    for (node_id n = 0; n < g->n_nodes; n++)
        if (!strcmp(graph_node(g, n)->name, name))
            return n;
    fail_msg("no node '%s'", name);
    return ID_NONE;
}

#endif
