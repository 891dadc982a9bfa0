/* alternatives: other implementations of nodes, for the planner to choose from.
 *
 * Each is a node more, behind those of the step, with other inputs and the same outputs, whose
 * producer stays what it was; its kernel is the primary's. The op says what else it can read; it is
 * left out where the kernel would want another layout. O(nodes). */
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "ir/op.h"

/* Does the kernel take the node with its tensors as they lie? */
static bool takes(const struct compiled *c, const struct kernel *kernel, const struct node *node) {
    struct layout in[MAX_ALTERNATIVE_INPUTS], out[MAX_ALTERNATIVE_OUTPUTS] = {0};
    struct kernel_site site = {c->device, c->g, node, 0};
    for (uint32_t i = 0; i < node->n_inputs; i++)
        in[i] = graph_value(c->g, node->inputs[i])->layout;
    if (kernel->negotiate(&site, &(struct kernel_layouts){in, out}))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!layout_equal(in[i], graph_value(c->g, node->inputs[i])->layout))
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (!layout_equal(out[i], graph_value(c->g, node->outputs[i])->layout))
            return false;
    return true;
}

static neap_error *add(struct compiled *c, node_id primary) {
    struct node node = *graph_node(c->g, primary);
    value_id inputs[MAX_ALTERNATIVE_INPUTS];
    if (!c->kernels[primary] || !node.op->alternative || !node.op->alternative(c->g, &node, inputs))
        return NULL;
    value_id *copy;
    TRY(pool_alloc(&c->g->pool, node.n_inputs, sizeof *copy, &copy));
    memcpy(copy, inputs, node.n_inputs * sizeof *copy);
    node.inputs = copy;
    if (!takes(c, c->kernels[primary], &node))
        return NULL;
    TRY(memory_grow(&c->g->nodes, &c->g->nodes_capacity, (size_t)c->g->n_nodes + 1,
                    sizeof *c->g->nodes));
    c->kernels[c->g->n_nodes] = c->kernels[primary];
    c->primary[c->g->n_nodes] = primary;
    c->g->nodes[c->g->n_nodes++] = node;
    return NULL;
}

neap_error *compile_alternatives(struct compiled *c) {
    uint32_t n_nodes = c->g->n_nodes;
    const struct kernel **kernels;
    TRY(memory_alloc((size_t)n_nodes * 2, sizeof *kernels, &kernels)); /* one for each at most */
    memcpy(kernels, c->kernels, n_nodes * sizeof *kernels);
    free(c->kernels);
    c->kernels = kernels;
    TRY(memory_alloc((size_t)n_nodes * 2, sizeof *c->primary, &c->primary));
    for (node_id n = 0; n < n_nodes; n++)
        c->primary[n] = n;
    for (node_id n = 0; n < n_nodes; n++)
        TRY(add(c, n));
    return NULL;
}
