/* measure: seconds of each op on this device, the median of a few runs on zeroed memory, once per
 * distinct (kernel, attributes, types and layouts).
 *
 * Only one op's tensors are allocated at a time, which any plan's arena is larger than. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "compile/compile.h"
#include "ir/op.h"

enum { RUNS = 5, MAX_TENSORS = 512 };

static bool same_values(const neap_graph *g, const value_id *a, const value_id *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if ((a[i] == ID_NONE) != (b[i] == ID_NONE))
            return false;
        if (a[i] == ID_NONE)
            continue;
        const struct value *x = graph_value(g, a[i]), *y = graph_value(g, b[i]);
        if (x->dtype != y->dtype || !shape_equal(x->shape, y->shape) ||
            !layout_equal(x->layout, y->layout))
            return false;
    }
    return true;
}

static bool same_signature(const struct compiled *c, node_id a, node_id b) {
    const struct node *x = graph_node(c->g, a), *y = graph_node(c->g, b);
    return c->kernels[a] == c->kernels[b] && x->op == y->op && x->n_inputs == y->n_inputs &&
           x->n_outputs == y->n_outputs && x->n_updates == y->n_updates &&
           !memcmp(x->attrs, y->attrs, x->op->attrs_bytes) &&
           same_values(c->g, x->inputs, y->inputs, x->n_inputs) &&
           same_values(c->g, x->outputs, y->outputs, x->n_outputs) &&
           same_values(c->g, x->updates, y->updates, x->n_updates);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t bytes_of(const struct compiled *c, value_id v) {
    return v == ID_NONE ? 0 : round_up(value_bytes(graph_value(c->g, v)), ALIGNMENT_BYTES);
}

/* Lays the node's tensors out one behind the other from `base` (NULL: only counts the bytes). */
static int64_t place(const struct compiled *c, node_id n, char *base, void **pointers) {
    const struct node *node = graph_node(c->g, n);
    const value_id *const lists[] = {node->inputs, node->outputs, node->updates};
    const uint32_t counts[] = {node->n_inputs, node->n_outputs, node->n_updates};
    int64_t at = 0;
    size_t k = 0;
    for (int l = 0; l < 3; l++)
        for (uint32_t i = 0; i < counts[l]; i++) {
            if (base)
                pointers[k++] = lists[l][i] == ID_NONE ? NULL : base + at;
            at += bytes_of(c, lists[l][i]);
        }
    if (base)
        pointers[k] = base + at;
    uint32_t scratch = c->scratch_of_node[n];
    return at + (scratch == PLAN_NONE ? 0 : c->problem.values[scratch].bytes);
}

static neap_error *measure_node(const struct compiled *c, node_id n, double *seconds) {
    const struct node *node = graph_node(c->g, n);
    uint32_t n_tensors = node->n_inputs + node->n_outputs + node->n_updates;
    if (n_tensors >= MAX_TENSORS)
        return error_make(NEAP_ERROR_MODEL, "'%s' has %u tensors", node->name, n_tensors);
    void *memory, *pointers[MAX_TENSORS];
    int64_t bytes = place(c, n, NULL, NULL);
    TRY(c->device->backend->alloc(c->device, (size_t)bytes, &memory));
    place(c, n, memory, pointers);
    const struct run_params params = {.lr = 0, .gradient_scale = 1, .loss_scale = 1};
    const struct launch launch = {.in = pointers,
                                  .out = pointers + node->n_inputs,
                                  .up = pointers + node->n_inputs + node->n_outputs,
                                  .scratch = pointers[n_tensors],
                                  .params = &params};
    double runs[RUNS];
    neap_error *error = c->kernels[n]->run(c->states[n], &launch);
    for (int r = 0; r < RUNS && !error; r++) {
        double start = process_seconds();
        error = c->kernels[n]->run(c->states[n], &launch);
        runs[r] = process_seconds() - start;
    }
    c->device->backend->free(c->device, memory, (size_t)bytes);
    if (error)
        return error;
    qsort(runs, RUNS, sizeof *runs, by_value);
    *seconds = runs[RUNS / 2];
    return NULL;
}

neap_error *compile_measure_seconds(const struct compiled *c, double *seconds) {
    for (node_id n = 0; n < c->g->n_nodes; n++) {
        if (!c->kernels[n])
            continue;
        node_id twin = 0;
        while (twin < n && !(c->kernels[twin] && same_signature(c, twin, n)))
            twin++;
        if (twin < n)
            seconds[n] = seconds[twin];
        else
            TRY(measure_node(c, n, &seconds[n]));
    }
    return NULL;
}
