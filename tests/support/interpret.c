/* Running a graph by its reference functions: see interpret.h. */
#include "support/interpret.h"

#include <stdlib.h>

size_t tensor_bytes(const struct tensor *t) {
    return ((size_t)shape_elements(t->shape) * (size_t)dtype_bits(t->dtype) + 7) / 8;
}

neap_error *tensor_alloc(enum dtype dtype, struct shape shape, struct tensor *out) {
    *out = (struct tensor){NULL, dtype, shape};
    return memory_alloc(tensor_bytes(out), 1, &out->data);
}

neap_error *interpreter_create(const neap_graph *g, struct interpreter *out) {
    *out = (struct interpreter){
        .g = g, .params = {.lr = 0.125, .gradient_scale = 0.5, .loss_scale = 4, .seed = 7}};
    TRY(memory_alloc(g->n_values, sizeof *out->tensors, &out->tensors));
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        neap_error *error = tensor_alloc(value->dtype, value->shape, &out->tensors[v]);
        if (error) {
            interpreter_destroy(out);
            return error;
        }
    }
    return NULL;
}

void interpreter_destroy(struct interpreter *it) {
    for (value_id v = 0; it->tensors && v < it->g->n_values; v++)
        free(it->tensors[v].data);
    free(it->tensors);
    it->tensors = NULL;
}

static void gather(const struct interpreter *it, const value_id *ids, uint32_t n,
                   struct tensor *out) {
    for (uint32_t i = 0; i < n; i++)
        out[i] = ids[i] == ID_NONE ? (struct tensor){0} : it->tensors[ids[i]];
}

void interpreter_run_node(struct interpreter *it, node_id id) {
    const struct node *node = graph_node(it->g, id);
    struct tensor tensors[3][16];
    gather(it, node->inputs, node->n_inputs, tensors[0]);
    gather(it, node->outputs, node->n_outputs, tensors[1]);
    gather(it, node->updates, node->n_updates, tensors[2]);
    node->op->reference(&(struct op_call){.attrs = node->attrs,
                                          .name = node->name,
                                          .in = tensors[0],
                                          .out = tensors[1],
                                          .up = tensors[2],
                                          .n_in = node->n_inputs,
                                          .n_out = node->n_outputs,
                                          .n_up = node->n_updates,
                                          .params = &it->params});
}

void interpreter_run(struct interpreter *it, node_id begin, node_id end) {
    for (node_id n = begin; n < end; n++)
        interpreter_run_node(it, n);
}
