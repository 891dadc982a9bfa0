/* From a network's graph to a program's parts: the whole line of docs/architecture.md. */
#ifndef NEAP_COMPILE_COMPILE_H
#define NEAP_COMPILE_COMPILE_H

#include "backend/device.h"
#include "compile/measured.h"
#include "ir/graph.h"
#include "pass/pass.h"
#include "plan/plan.h"

enum { ALIGNMENT_BYTES = 128 }; /* of every value's bytes and offset */

struct compile_options {
    const neap_graph *model; /* a forward graph, at any batch */
    int64_t batch;           /* samples in one run: the micro-batch */
    bool training;           /* false: evaluation, forward alone */
    enum dtype precision;    /* of activations: F32, BF16 or F16 */
    struct update_options update;
    bool input_gradient;
    bool scaled_loss; /* the run's loss scale multiplies the seed */
    double seed;      /* the loss's own gradient: 1 ÷ the window's nominal sample count */
    struct device *device;
    const neap_graph *fixed; /* a compiled graph whose persistent layouts are to be kept, or NULL */
    struct measured *measured; /* costs measured, here or before; NULL: modelled */
    /* For --dump-after and --stop-after: called with every stage's result; false stops. */
    bool (*on_stage)(void *user, const char *stage, const neap_graph *g);
    void *user;
};

/* Bytes of persistent values, as allocated. */
struct persistent_bytes {
    int64_t weights, gradients, optimizer, buffers;
};

struct compiled {
    neap_graph *g; /* behind the step's nodes stand their alternatives */
    struct device *device;
    const struct kernel **kernels; /* by node; NULL for views */
    node_id *primary;              /* by node: itself, or whose alternative it is */
    void **states;                 /* by node: the kernels' own */
    struct plan_problem problem;
    node_id *node_of_op;       /* by op and alternative of the problem */
    value_id *value_of_plan;   /* by the problem's value; ID_NONE for scratch */
    uint32_t *plan_of_value;   /* by value: its storage in the problem; PLAN_NONE for none */
    uint32_t *scratch_of_node; /* by node: the problem's value, PLAN_NONE for none */
    struct persistent_bytes persistent;
    bool stopped; /* on_stage said so: only g is there */
};

/* The names of the stages in order; NULL past the last. */
const char *compile_stage(size_t index);

/* Graph → … → planning problem. The device must outlive the result. */
MUST_USE neap_error *compile(const struct compile_options *options, struct compiled **out);
void compiled_free(struct compiled *c);

/* Seconds of one run and of the update of a schedule. */
void compiled_seconds(const struct compiled *c, const struct plan_schedule *schedule,
                      double *micro_seconds, double *update_seconds);

/* ---- the steps that have files of their own ------------------------------------------------- */

/* alternatives.c: nodes that do the same work in another way, at the end of the graph. */
MUST_USE neap_error *compile_alternatives(struct compiled *c);
/* lower.c: kernels with their scratch, then the problem. */
MUST_USE neap_error *compile_lower(struct compiled *c, struct measured *measured,
                                   bool update_is_part);
/* costs.c: seconds of a node, modelled from FLOPs and bytes with the rates in that file. */
double compile_model_seconds(const neap_graph *g, const struct node *node);
/* measure.c: seconds of each node, measured on the device where `measured` has none. */
MUST_USE neap_error *compile_measure_seconds(const struct compiled *c, struct measured *measured,
                                             double *seconds);

#endif
