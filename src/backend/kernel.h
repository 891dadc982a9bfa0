/* What a kernel is: one way to compute one op on one backend.
 *
 * A backend lists its kernels in one ordered array, best first, the reference last. For each node
 * the layout pass asks them in that order: `negotiate` either refuses with a reason or says in
 * which layouts it wants its tensors; reorders are inserted where they differ. `create` runs once
 * the layouts are settled and before planning, so that scratch is planned like any value. `run`
 * gets pointers only: it allocates nothing and reads nothing but its arguments. */
#ifndef NEAP_BACKEND_KERNEL_H
#define NEAP_BACKEND_KERNEL_H

#include "ir/op.h"

struct device; /* backend/device.h */

/* The node as it stands, its inputs' and updates' layouts being the current ones. */
struct kernel_site {
    struct device *device;
    const neap_graph *g;
    const struct node *node;
    /* Inputs whose layout is still open, as a mask over the first 64: parameters that no kernel has
     * claimed yet. Such a one takes the layout wanted, without a reorder. */
    uint64_t open_inputs;
};

/* What is wanted; arrives filled with the inputs' current layouts, outputs and updates plain. */
struct kernel_layouts {
    struct layout *in, *out;
};

struct launch {
    void *const *in, *const *out, *const *up; /* NULL for an absent optional input */
    void *scratch;
    const struct run_params *params;
};

struct kernel {
    const char *name;           /* "conv2d:dnn" */
    const struct op_def *op;    /* NULL: any op (the reference), or that of the inner one */
    const struct kernel *inner; /* that this one wraps; or NULL */
    /* NULL accepts; otherwise why not, in a few words. */
    const char *(*negotiate)(const struct kernel_site *site, struct kernel_layouts *want);
    /* *state is the kernel's own; *scratch_bytes (0 on entry) is planned and handed to run. */
    neap_error *(*create)(const struct kernel_site *site, void **state, size_t *scratch_bytes);
    neap_error *(*run)(void *state, const struct launch *launch);
    void (*destroy)(void *state); /* NULL: free() */
    /* The implementation chosen ("jit:avx512_core"); NULL: the kernel's name says it. */
    const char *(*implementation)(const void *state);
};

/* Is it worth asking about a node of this op? */
static inline bool kernel_is_for(const struct kernel *kernel, const struct op_def *op) {
    const struct op_def *own = kernel->inner ? kernel->inner->op : kernel->op;
    return !own || own == op;
}

#endif
