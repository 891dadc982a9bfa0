/* Values by name: an open-addressing table over a graph's own strings, for checking and reading.
 *
 * Expected load: every value of a graph, about 30,000. The table keeps ids; names stay in the
 * graph, so it must not be used after the graph is gone or a value is renamed. */
#ifndef NEAP_IR_NAMES_H
#define NEAP_IR_NAMES_H

#include "ir/graph.h"

/* Zeroed: empty. */
struct names {
    value_id *slots; /* ID_NONE: free */
    size_t n_slots, n_used;
};

/* ID_NONE if there is no value of this name. */
value_id names_find(const struct names *names, const neap_graph *g, const char *name);
/* Adds a value; *twin becomes the one that has its name already, or ID_NONE. */
MUST_USE neap_error *names_add(struct names *names, const neap_graph *g, value_id id,
                               value_id *twin);
void names_free(struct names *names);

#endif
