/* The program: a flat array of steps (kernel, state, pointers) over one arena, and the loop that
 * runs it. Everything is allocated when it is made; running allocates nothing. */
#ifndef NEAP_EXEC_PROGRAM_H
#define NEAP_EXEC_PROGRAM_H

#include "backend/device.h"
#include "exec/arena.h"
#include "exec/store.h"
#include "plan/problem.h"

/* What a program is made from: the compiler's result and a plan. All is borrowed. */
struct program_source {
    const neap_graph *g;
    const struct kernel *const *kernels; /* by node */
    void *const *states;                 /* by node */
    const struct plan_problem *problem;
    const node_id *node_of_op;
    const uint32_t *plan_of_value, *scratch_of_node;
    const struct plan_schedule *schedule;
    const struct plan_lives *lives;
};

struct program_step {
    neap_error *(*run)(void *state, const struct launch *launch);
    void *state;
    struct launch launch;
    node_id node;
    bool update_part;
};

struct program {
    struct pool pool;
    const neap_graph *g;
    struct program_step *steps;
    size_t n_steps, n_micro; /* the first n_micro run once per micro-batch */
    struct run_params params;
    void **inputs; /* by value id: where an input batch goes; NULL for others */
};

/* The arena may be larger than the plan's. */
MUST_USE neap_error *program_create(const struct program_source *source, const struct arena *arena,
                                    const struct store *store, struct program **out);
void program_free(struct program *program);

/* Called around steps: proofs and traces hang here. Either may be NULL. */
struct program_probe {
    neap_error *(*before)(void *user, size_t step);
    neap_error *(*after)(void *user, size_t step);
    void *user;
};

/* One micro-batch, its inputs being in place; and the update that ends a window. */
MUST_USE neap_error *program_run_micro(struct program *program, const struct program_probe *probe);
MUST_USE neap_error *program_run_update(struct program *program, const struct program_probe *probe);

#endif
