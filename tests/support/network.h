/* A network compiled, planned and ready to run, with no session around it. */
#ifndef NEAP_TESTS_SUPPORT_NETWORK_H
#define NEAP_TESTS_SUPPORT_NETWORK_H

#include "compile/compile.h"
#include "exec/program.h"

/* A backend like the CPU's that has the reference kernel alone: right by definition. */
extern const struct backend backend_reference_only;

struct network_request {
    const neap_graph *model;
    struct device *device;
    int64_t batch;
    bool evaluation, input_gradient;
    int gradients;        /* GRADIENTS_… */
    double momentum;      /* of sgd */
    const char *strategy; /* NULL: none */
    int64_t arena_bytes;  /* 0: no limit */
    const neap_graph *fixed;
};

struct network {
    struct device *device;
    struct compiled *compiled;
    struct plan_result plan;
    struct store *store;
    struct arena arena;
    struct program *program;
};

/* Every step asserts; the store holds the formulas of support/oracle.h. */
void network_open(const struct network_request *request, struct network *out);
/* The program anew, after a change of the plan. */
void network_relink(struct network *network);
void network_close(struct network *network);
/* One micro-batch of the formulas' images and labels, and an update. */
void network_update(struct network *network, uint64_t update);

struct compile_options network_compile_options(const struct network_request *request,
                                               struct update_options *update);

/* A zoo model with `image_size` and `batch` (0: its own). */
neap_graph *network_model(const char *name, int64_t batch, int64_t image_size);
struct device *network_device(const struct backend *backend, int threads);

/* Values and nodes by name; assert that they are there. */
value_id value_named(const neap_graph *g, const char *name);
node_id node_named(const neap_graph *g, const char *name);
/* Nodes of this op. */
int count_op(const neap_graph *g, const struct op_def *op);

#endif
