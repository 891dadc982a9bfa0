/* Networks made ready to run, step by step: see network.h. */
#include "support/network.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/reference.h"
#include "ops/sgd.h"
#include "support/files.h"
#include "support/oracle.h"

/* ---- devices ----------------------------------------------------------------------------------
 */

static neap_error *open_nothing(struct device *device) {
    (void)device;
    return NULL;
}

static void close_nothing(struct device *device) {
    (void)device;
}

static neap_error *alloc(struct device *device, size_t bytes, void **out) {
    (void)device;
    *out = aligned_alloc(4096, (size_t)round_up((int64_t)bytes + 1, 4096));
    if (!*out)
        return error_make(NEAP_ERROR_MEMORY, "no %zu bytes", bytes);
    memset(*out, 0, bytes);
    return NULL;
}

static void free_memory(struct device *device, void *memory, size_t bytes) {
    (void)device;
    (void)bytes;
    free(memory);
}

static const struct kernel *const reference_only[] = {&kernel_reference, NULL};

const struct backend backend_reference_only = {
    .name = "reference",
    .summary = "definitions alone",
    .kernels = reference_only,
    .open = open_nothing,
    .close = close_nothing,
    .alloc = alloc,
    .free = free_memory,
    .runs = true,
};

struct device *network_device(const struct backend *backend, int threads) {
    struct device *device;
    assert_no_error(memory_alloc(1, sizeof *device, &device));
    device->backend = backend;
    device->threads = threads;
    assert_no_error(backend->open(device));
    return device;
}

/* ---- graphs -----------------------------------------------------------------------------------
 */

neap_graph *network_model(const char *name, int64_t batch, int64_t image_size) {
    neap_graph *g;
    const struct neap_model_options options = {
        .batch = batch, .image_size = image_size, .num_classes = 10};
    assert_no_error(neap_graph_model(name, &options, &g));
    return g;
}

value_id value_named(const neap_graph *g, const char *name) {
    for (value_id v = 0; v < g->n_values; v++)
        if (!strcmp(graph_value(g, v)->name, name))
            return v;
    fail_msg("no value '%s'", name);
    return ID_NONE;
}

node_id node_named(const neap_graph *g, const char *name) {
    for (node_id n = 0; n < g->n_nodes; n++)
        if (!strcmp(graph_node(g, n)->name, name))
            return n;
    fail_msg("no node '%s'", name);
    return ID_NONE;
}

int count_op(const neap_graph *g, const struct op_def *op) {
    int count = 0;
    for (node_id n = 0; n < g->n_nodes; n++)
        count += graph_node(g, n)->op == op;
    return count;
}

/* ---- from model to program ----------------------------------------------------------------------
 */

struct compile_options network_compile_options(const struct network_request *r,
                                               struct update_options *update) {
    static const char *const states[] = {"momentum_buffer"};
    static struct sgd_attrs attrs;
    attrs = (struct sgd_attrs){.momentum = r->momentum};
    *update = (struct update_options){.op = &op_sgd,
                                      .attrs = &attrs,
                                      .n_states = r->momentum != 0,
                                      .state_names = states,
                                      .gradients = r->gradients};
    return (struct compile_options){.model = r->model,
                                    .batch = r->batch,
                                    .training = !r->evaluation,
                                    .update = *update,
                                    .input_gradient = r->input_gradient,
                                    .seed = 1 / (double)r->batch,
                                    .device = r->device,
                                    .fixed = r->fixed};
}

static void link_program(struct network *n) {
    const struct compiled *c = n->compiled;
    assert_no_error(arena_create(n->device, n->plan.arena_bytes, &n->arena));
    const struct program_source source = {.g = c->g,
                                          .kernels = c->kernels,
                                          .states = c->states,
                                          .problem = &c->problem,
                                          .node_of_op = c->node_of_op,
                                          .plan_of_value = c->plan_of_value,
                                          .scratch_of_node = c->scratch_of_node,
                                          .schedule = &n->plan.schedule,
                                          .lives = &n->plan.lives};
    assert_no_error(program_create(&source, &n->arena, n->store, &n->program));
}

void network_open(const struct network_request *r, struct network *n) {
    struct update_options update;
    *n = (struct network){.device = r->device};
    const struct compile_options options = network_compile_options(r, &update);
    assert_no_error(compile(&options, &n->compiled));
    struct compiled *c = n->compiled;
    const struct plan_request request = {.strategy = r->strategy ? r->strategy : "none",
                                         .budget_bytes =
                                             r->arena_bytes ? r->arena_bytes : INT64_MAX,
                                         .alignment_bytes = ALIGNMENT_BYTES};
    assert_no_error(plan_solve(&c->problem, &request, &n->plan));
    assert_no_error(store_create(r->device, c->g, ALIGNMENT_BYTES, &n->store));
    link_program(n);
    oracle_fill_store(n->store);
}

void network_relink(struct network *n) {
    program_free(n->program);
    arena_free(&n->arena);
    link_program(n);
}

void network_close(struct network *n) {
    program_free(n->program);
    arena_free(&n->arena);
    store_free(n->store);
    plan_result_free(&n->plan);
    compiled_free(n->compiled);
}

static void put_inputs(const struct program *program) {
    const neap_graph *g = program->g;
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        if (value->kind == VALUE_INPUT && value->dtype == DTYPE_I32)
            oracle_labels(shape_elements(value->shape), program->inputs[v]);
        else if (value->kind == VALUE_INPUT)
            oracle_fill_images(&(struct tensor){program->inputs[v], value->dtype, value->shape});
    }
}

void network_update(struct network *n, uint64_t update) {
    n->program->params =
        (struct run_params){.lr = 0.01, .gradient_scale = 1, .seed = 1, .update = update};
    put_inputs(n->program);
    assert_no_error(program_run_micro(n->program, NULL));
    assert_no_error(program_run_update(n->program, NULL));
}
