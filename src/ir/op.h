/* What an op is: one const descriptor per op, the last thing in its file (src/ops/<op>.c).
 *
 * To add an op: write src/ops/<op>.c with its `const struct op_def op_<op>` and add one line to
 * src/ops/ops.def. See docs/add-an-op.md. */
#ifndef NEAP_IR_OP_H
#define NEAP_IR_OP_H

#include "ir/graph.h"

/* Attributes: a struct per op and a table of its fields, which drives text, parsing and docs. */
enum attr_type { ATTR_INT, ATTR_FLOAT, ATTR_BOOL, ATTR_INTS };
/* ATTR_INT: int64_t. ATTR_FLOAT: double. ATTR_BOOL: bool. ATTR_INTS: struct int_list. */
struct int_list {
    int n;
    int64_t at[MAX_RANK];
};
struct attr_def {
    const char *name; /* NULL ends the table */
    enum attr_type type;
    size_t offset;
    double initial, least, most; /* ignored for ATTR_INTS, which starts empty */
};
#define ATTR_END                                                                                   \
    { NULL, ATTR_INT, 0, 0, 0, 0 }

struct op_cost {
    double flops;
    double bytes_read, bytes_written; /* memory traffic */
};

/* One tensor handed to a reference kernel: plain layout, dtype F32 or F64 (ids I32, masks BIT/U8).
 */
struct tensor {
    void *data;
    enum dtype dtype;
    struct shape shape;
};
double tensor_get_any(const struct tensor *t, int64_t index);
void tensor_set_any(const struct tensor *t, int64_t index, double value);

/* Inline for the types that most elements have: tests run whole networks by naive loops. */
static inline double tensor_get(const struct tensor *t, int64_t index) {
    return t->dtype == DTYPE_F64   ? ((const double *)t->data)[index]
           : t->dtype == DTYPE_F32 ? (double)((const float *)t->data)[index]
                                   : tensor_get_any(t, index);
}
static inline void tensor_set(const struct tensor *t, int64_t index, double value) {
    if (t->dtype == DTYPE_F64)
        ((double *)t->data)[index] = value;
    else
        tensor_set_any(t, index, value);
}

/* Values that change between runs of one program; kernels read them at run time. */
struct run_params {
    double lr;
    double gradient_scale; /* nominal ÷ true count of the window, and unscaling: multiplies every
                              parameter gradient once, in the update */
    double loss_scale;     /* of the loss's own gradient; 1 where nothing is scaled */
    uint64_t seed;
    uint64_t update;       /* optimizer updates so far */
    uint64_t skipped;      /* of them, those that were left out and changed nothing */
    uint64_t first_sample; /* position of the batch's first sample in the window */
};

/* A call of a reference kernel. Absent optional inputs have data NULL. */
struct op_call {
    const void *attrs;
    const char *name; /* of the node: names its random numbers */
    const struct tensor *in, *out, *up;
    uint32_t n_in, n_out, n_up;
    const struct run_params *params;
};

struct autodiff; /* src/ops/autodiff.h */

enum {
    OP_EFFECT = 1 << 0,        /* changes persistent state: runs exactly once per micro-batch */
    OP_VIEW = 1 << 1,          /* the output is the input's storage under another shape */
    OP_MIXES_SAMPLES = 1 << 2, /* a sample's result depends on the others of the batch */
    OP_ELEMENTWISE = 1 << 3,   /* same-shaped in- and outputs in one layout, padding zero to zero */
    OP_FORWARD_ONLY = 1 << 4,  /* reports to the host; no gradient wanted */
    OP_ACCUMULATES = 1 << 5,   /* can add its outputs to updates of the same types instead */
};

/* may_overwrite entries: this output may take the storage of this input when that dies here. */
struct op_overwrite {
    int8_t input, output;
};
enum { MAX_OVERWRITES = 4 };
enum { MAX_ALTERNATIVE_INPUTS = 4, MAX_ALTERNATIVE_OUTPUTS = 2 }; /* of an op that has one */

struct op_def {
    const char *name;
    const char *summary; /* formula in a line */
    unsigned flags;
    const struct attr_def *attrs; /* NULL: none */
    size_t attrs_bytes;
    uint32_t min_inputs, max_inputs; /* max 0 with min 0: none; UINT32_MAX: any number */
    uint32_t min_outputs, max_outputs;
    struct op_overwrite overwrites[MAX_OVERWRITES];
    uint32_t n_overwrites;
    /* Sets dtype and shape of the node's outputs; refuses impossible inputs (NEAP_ERROR_MODEL). */
    neap_error *(*infer)(neap_graph *g, node_id node);
    /* Appends the nodes that compute the gradients wanted; NULL: the op has none. */
    neap_error *(*gradient)(struct autodiff *ad, node_id node);
    /* Other inputs, as many, from which the node computes the same outputs to the last bit; false:
     * there are none. NULL: never. */
    bool (*alternative)(const neap_graph *g, const struct node *node, value_id *inputs);
    void (*cost)(const neap_graph *g, const struct node *node, struct op_cost *cost);
    /* The definition, naive, accumulating in double; plain layouts. */
    void (*reference)(const struct op_call *call);
};

/* A set of ops to look names up in. */
struct op_set {
    const struct op_def *const *ops;
    size_t n_ops;
};
const struct op_def *op_find(const struct op_set *set, const char *name);

/* Default attributes into `attrs`; then "key=value key=value" over them. */
void op_attrs_default(const struct op_def *op, void *attrs);
MUST_USE neap_error *op_attrs_parse(const struct op_def *op, const char *text, void *attrs);
/* Writes attributes that differ from their defaults: " key=value…". */
void op_attrs_print(const struct op_def *op, const void *attrs, FILE *file);

/* For infer functions: input i's value; refusal with the node's name before the text. */
static inline const struct value *node_input(const neap_graph *g, const struct node *node,
                                             uint32_t i) {
    return i < node->n_inputs && node->inputs[i] != ID_NONE ? graph_value(g, node->inputs[i])
                                                            : NULL;
}
static inline struct value *node_output(const neap_graph *g, const struct node *node, uint32_t i) {
    return graph_value(g, node->outputs[i]);
}
static inline bool node_has_input(const struct node *node, uint32_t i) {
    return i < node->n_inputs && node->inputs[i] != ID_NONE;
}
neap_error *node_refuse(const neap_graph *g, const struct node *node, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Sets output i's type. */
void node_set_output(neap_graph *g, node_id node, uint32_t i, enum dtype dtype, struct shape shape);
/* Infer of elementwise ops: every output is like input 0, every input has its shape. */
neap_error *infer_like_first(neap_graph *g, node_id node);
/* Cost of elementwise ops: each tensor touched once, one flop an element. */
void cost_elementwise(const neap_graph *g, const struct node *node, struct op_cost *cost);

#endif
