/* The graph: nodes that read and write values, both named by 32-bit ids.
 *
 * Every value carries dtype, shape, layout and kind; every node its op, attributes and phase. Nodes
 * stand in their base order, which is a topological order. Passes go from graph to graph, or
 * append. Ids index arrays that grow: keep ids, not pointers, across calls that add.
 *
 * Expected load: up to about 10,000 nodes. A graph is freed as a whole (its pool). */
#ifndef NEAP_IR_GRAPH_H
#define NEAP_IR_GRAPH_H

#include "base/memory.h"
#include "base/status.h"

typedef uint32_t value_id;
typedef uint32_t node_id;
#define ID_NONE UINT32_MAX

enum { MAX_RANK = 6, MAX_BLOCKS = 4 };

/* X(constant, name in text, bits per element) */
#define DTYPES(X)                                                                                  \
    X(F32, "f32", 32)                                                                              \
    X(F64, "f64", 64)                                                                              \
    X(BF16, "bf16", 16)                                                                            \
    X(F16, "f16", 16)                                                                              \
    X(I64, "i64", 64)                                                                              \
    X(I32, "i32", 32)                                                                              \
    X(U8, "u8", 8)                                                                                 \
    X(BIT, "bit", 1)
enum dtype {
#define X(constant, name, bits) DTYPE_##constant,
    DTYPES(X)
#undef X
        N_DTYPES
};

struct shape {
    int rank; /* 0: a scalar */
    int64_t dim[MAX_RANK];
};

/* Where element (i0, i1, …) lies: dimensions ordered outermost first, some of them split into inner
 * blocks that lie innermost (oneDNN's blocked formats). All zero is the plain row-major layout. A
 * blocked dimension is padded to a multiple of its block; padding always holds zeros. */
struct layout {
    uint8_t permuted;        /* 0: outer dimensions in logical order, order[] unused */
    uint8_t order[MAX_RANK]; /* order[0] is the outermost dimension */
    uint8_t n_blocks;        /* inner blocks, outermost first */
    uint8_t block_dim[MAX_BLOCKS];
    uint8_t block_size[MAX_BLOCKS];
};

/* X(constant, name in text and in plan.json, persistent) */
#define VALUE_KINDS(X)                                                                             \
    X(INPUT, "input", false)                                                                       \
    X(PARAMETER, "parameter", true)                                                                \
    X(WEIGHT_COPY, "weight_copy", false)                                                           \
    X(ACTIVATION, "activation", false)                                                             \
    X(SAVED, "saved", false)                                                                       \
    X(GRADIENT, "gradient", false)                                                                 \
    X(PARAMETER_GRADIENT, "parameter_gradient", false) /* persistent by flag */                    \
    X(OPTIMIZER_STATE, "optimizer_state", true)                                                    \
    X(BUFFER, "buffer", true)                                                                      \
    X(SCRATCH, "scratch", false)                                                                   \
    X(LOSS, "loss", false) /* persistent by flag */
enum value_kind {
#define X(constant, name, persistent) VALUE_##constant,
    VALUE_KINDS(X)
#undef X
        N_VALUE_KINDS
};

enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, N_PHASES };

struct value {
    const char *name;
    enum value_kind kind;
    enum dtype dtype;
    struct shape shape;
    struct layout layout;
    bool persistent;  /* outlives the step: has storage of its own outside the arena */
    node_id producer; /* ID_NONE for inputs and for persistent values that nodes only update */
    value_id of; /* gradient → what it is the gradient of; moments, copies → their parameter */
    struct neap_init init; /* parameters, buffers and optimizer state */
};

struct node {
    const struct op_def *op;
    const char *name; /* the layer's name: "layer1.0.conv1" */
    enum phase phase;
    void *attrs;                          /* op->attrs_bytes, described by op->attrs */
    value_id *inputs, *outputs, *updates; /* an optional input that is absent is ID_NONE */
    uint32_t n_inputs, n_outputs, n_updates;
    /* updates: persistent values that are read, modified and written */
    const char *segment; /* of a model: what it is recomputed as one piece with; NULL: none */
};

/* What the network is for: set by the builder, read by the passes. */
struct graph_roles {
    value_id logits; /* (N, classes) */
    value_id labels; /* (N) i32 */
    value_id loss;   /* scalar: the sum over the samples */
};

struct neap_graph {
    struct pool pool;
    const char *name;
    struct value *values;
    struct node *nodes;
    uint32_t n_values, n_nodes;
    size_t values_capacity, nodes_capacity;
    struct graph_roles roles;
    const char *segment; /* of the nodes added from now on */
    neap_error *error;   /* the builder's first error */
};

MUST_USE neap_error *graph_create(const char *name, neap_graph **out);
/* A deep copy: ids stay the same. */
MUST_USE neap_error *graph_clone(const neap_graph *source, neap_graph **out);
void graph_free(neap_graph *g);

struct value_spec {
    const char *name; /* copied; made unique by the caller */
    enum value_kind kind;
    enum dtype dtype;
    struct shape shape;
    struct layout layout;
    bool persistent;
    value_id of;
    struct neap_init init;
};
/* A value without a producer. `kind`'s persistence is taken over unless spec->persistent is set. */
MUST_USE neap_error *graph_add_value(neap_graph *g, const struct value_spec *spec, value_id *out);

struct node_spec {
    const struct op_def *op;
    const char *name;
    enum phase phase;
    const void *attrs; /* NULL: the table's defaults */
    const value_id *inputs, *updates;
    uint32_t n_inputs, n_outputs, n_updates;
    enum value_kind output_kind; /* of every output; a rule may change a single one afterwards */
    const value_id *into;        /* write into these existing values instead of making outputs */
};
/* Appends a node, makes its outputs (named after the node) and infers their dtype and shape. */
MUST_USE neap_error *graph_add_node(neap_graph *g, const struct node_spec *spec, node_id *out);

/* Appends one more output of the given type to an existing node. */
MUST_USE neap_error *graph_add_output(neap_graph *g, node_id node, const char *suffix,
                                      enum value_kind kind, enum dtype dtype, struct shape shape,
                                      value_id *out);

static inline struct value *graph_value(const neap_graph *g, value_id id) {
    return &g->values[id];
}
static inline struct node *graph_node(const neap_graph *g, node_id id) {
    return &g->nodes[id];
}

/* The storage a value lives in: itself, or the input of the view that makes it (repeatedly). */
value_id graph_root(const neap_graph *g, value_id id);

/* How many nodes read or update each value (counts, n_values long; free() it). */
MUST_USE neap_error *graph_count_readers(const neap_graph *g, uint32_t **counts);

/* Another batch: sets dimension 0 of every input and infers all shapes again. Forward graphs only.
 */
MUST_USE neap_error *graph_rebatch(neap_graph *g, int64_t batch);
/* Dimension 0 of the first input. */
int64_t graph_batch(const neap_graph *g);

/* ---- types ---------------------------------------------------------------------------------- */

const char *dtype_name(enum dtype dtype);
MUST_USE neap_error *dtype_of_name(const char *name, enum dtype *out);
int dtype_bits(enum dtype dtype);
/* A float of 16 bits? */
bool dtype_is_half(enum dtype dtype);
/* What sums over many values of this type are kept in: fp32 for the floats of 16 bits. */
enum dtype dtype_of_sums(enum dtype dtype);
const char *value_kind_name(enum value_kind kind);
const char *phase_name(enum phase phase);

struct shape shape_of(int rank, const int64_t *dims);
bool shape_equal(struct shape a, struct shape b);
int64_t shape_elements(struct shape shape); /* -1 on overflow */
/* "2x3x4" into buffer[64]; returns it. */
const char *shape_text(struct shape shape, char buffer[64]);

bool layout_is_plain(struct layout layout);
bool layout_equal(struct layout a, struct layout b);
struct layout layout_channels_last(void);         /* rank 4 only */
struct layout layout_blocked_channels(int block); /* nChw8c, nChw16c: rank 4 only */
/* Elements with padding, and bytes as allocated (no alignment); -1 on overflow. */
int64_t layout_elements(struct layout layout, struct shape shape);
int64_t value_bytes(const struct value *value);
/* Place (in elements) of a logical index; the slow, obvious way. */
int64_t layout_offset(struct layout layout, struct shape shape, const int64_t *index);
/* oneDNN's notation: "abcd", "acdb", "aBcd16b"; into buffer[40]; returns it. */
const char *layout_text(struct layout layout, int rank, char buffer[40]);
MUST_USE neap_error *layout_of_text(const char *text, int rank, struct layout *out);

/* ---- text and checking ---------------------------------------------------------------------- */

struct op_set; /* ops by name: see op.h */

/* The text form; see docs/graph-text.md. Writing then reading gives the same text. */
MUST_USE neap_error *graph_write_text(const neap_graph *g, FILE *file);
/* `where` names the text in errors, which carry line and column. */
MUST_USE neap_error *graph_read_text(const char *text, const char *where, const struct op_set *ops,
                                     neap_graph **out);

/* Refuses (NEAP_ERROR_INTERNAL) a graph that breaks a rule: ids in range, one producer per value,
 * reads after writes, inferred types equal to recorded ones, unique names, effects only where
 * declared. Run between passes in debug builds and tests. */
MUST_USE neap_error *graph_verify(const neap_graph *g, const char *after);

#endif
