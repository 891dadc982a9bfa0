/* measure: seconds of each op on this device, once per distinct signature: kernel, attributes,
 * types and layouts. The least of a few runs on zeroed memory: what else the machine does only
 * adds.
 *
 * Only one op's tensors are allocated at a time, which any plan's arena is larger than. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/process.h"
#include "compile/compile.h"
#include "ir/op.h"

enum { MOST_RUNS = 5, LEAST_RUNS = 2, MAX_TENSORS = 512 };

/* Ops that take long vary little: once so much is spent, few runs will do. */
static const double enough_seconds = 0.3;

static void write_tensors(const struct compiled *c, const value_id *values, uint32_t n,
                          FILE *file) {
    char shape[64], layout[40];
    fputs(" |", file);
    for (uint32_t i = 0; i < n; i++) {
        const struct value *value = values[i] == ID_NONE ? NULL : graph_value(c->g, values[i]);
        if (value)
            fprintf(file, " %s %s %s", dtype_name(value->dtype), shape_text(value->shape, shape),
                    layout_text(value->layout, value->shape.rank, layout));
        else
            fputs(" _", file);
    }
}

/* Everything that its time depends on, in a line; free() it. */
static neap_error *signature_of(const struct compiled *c, node_id n, char **out) {
    const struct node *node = graph_node(c->g, n);
    const struct kernel *kernel = c->kernels[n];
    size_t length;
    *out = NULL;
    FILE *file = open_memstream(out, &length);
    if (!file)
        return error_memory(1);
    fprintf(file, "%s %s %s", kernel->name, node->op->name,
            kernel->implementation ? kernel->implementation(c->states[n]) : "-");
    op_attrs_print(node->op, node->attrs, file);
    write_tensors(c, node->inputs, node->n_inputs, file);
    write_tensors(c, node->outputs, node->n_outputs, file);
    write_tensors(c, node->updates, node->n_updates, file);
    return fclose(file) ? error_memory(length) : NULL;
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
    double spent = 0;
    neap_error *error = c->kernels[n]->run(c->states[n], &launch);
    *seconds = INFINITY;
    for (int r = 0; !error && r < MOST_RUNS && (r < LEAST_RUNS || spent < enough_seconds); r++) {
        double start = process_seconds();
        error = c->kernels[n]->run(c->states[n], &launch);
        double run = process_seconds() - start;
        spent += run;
        *seconds = fmin(*seconds, run);
    }
    c->device->backend->free(c->device, memory, (size_t)bytes);
    return error;
}

static neap_error *find_or_measure(const struct compiled *c, struct measured *measured, node_id n,
                                   double *seconds) {
    char *signature;
    neap_error *error = signature_of(c, n, &signature);
    if (!error && !measured_find(measured, signature, seconds)) {
        error = measure_node(c, n, seconds);
        if (!error)
            error = measured_add(measured, signature, *seconds);
    }
    free(signature);
    return error;
}

neap_error *compile_measure_seconds(const struct compiled *c, struct measured *measured,
                                    double *seconds) {
    for (node_id n = 0; n < c->g->n_nodes; n++)
        if (c->kernels[n])
            TRY(find_or_measure(c, measured, n, &seconds[n]));
    return NULL;
}
