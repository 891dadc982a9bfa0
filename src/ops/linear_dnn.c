/* The linear family by oneDNN's matmul on plain matrices, transposed by strides. The weight
 * gradient adds to its accumulator with a sum post-op; the bias's gradient is a column sum of our
 * own. */
#include <stdlib.h>

#include "backend/cpu/dnn.h"
#include "backend/cpu/real.h"
#include "base/simd.h"
#include "ops/linear.h"

/* One of the three products C = A B: which tensors, with rows, columns and transposition. */
struct product {
    const struct op_def *op;
    struct matrix {
        int input; /* -1: the output, or the update */
        bool transposed;
    } a, b;
};

static const struct product products[] = {
    {&op_linear, {0, false}, {1, true}},
    {&op_linear_backward_data, {0, false}, {1, false}},
    {&op_linear_backward_weight, {1, true}, {0, false}},
};

struct state {
    struct dnn_call *call;
    int64_t rows, columns; /* of dy, for the bias's gradient */
    enum dtype dtype;
    bool bias, add;
};

/* A product as the library sees it. */
struct matmul {
    dnnl_memory_desc_t a, b, c, bias;
    bool has_bias, add;
};

static const struct product *product_of(const struct node *node) {
    const struct product *p = products;
    while (p->op != node->op)
        p++;
    return p;
}

static dnnl_memory_desc_t matrix_desc(const struct kernel_site *site, struct matrix m) {
    const struct value *value = node_input(site->g, site->node, (uint32_t)m.input);
    const int64_t *dim = value->shape.dim;
    return m.transposed ? dnn_desc_matrix(value->dtype, dim[1], dim[0], 1, dim[1])
                        : dnn_desc_matrix(value->dtype, dim[0], dim[1], dim[1], 1);
}

/* NULL in *described where the library has no such product. */
static neap_error *describe(const struct kernel_site *site, struct matmul *m,
                            dnnl_primitive_desc_t *described) {
    const struct node *node = site->node;
    const struct linear_attrs *attrs = node->attrs;
    const struct product *p = product_of(node);
    dnnl_memory_desc_t a = matrix_desc(site, p->a), b = matrix_desc(site, p->b);
    int64_t rows = a.dims[0], columns = b.dims[1];
    dnnl_matmul_desc_t operation;
    m->a = a;
    m->b = b;
    m->add = !node->n_outputs;
    m->has_bias = node->op == &op_linear && node_has_input(node, 2);
    enum dtype dtype = m->add ? DTYPE_F32 : node_output(site->g, node, 0)->dtype;
    m->c = dnn_desc_matrix(dtype, rows, columns, columns, 1);
    m->bias = dnn_desc_matrix(DTYPE_F32, 1, columns, columns, 1);
    *described = NULL;
    TRY(dnn_error(
        dnnl_matmul_desc_init(&operation, &m->a, &m->b, m->has_bias ? &m->bias : NULL, &m->c),
        "a matmul"));
    return dnn_describe(site->device, &operation,
                        (struct dnn_post){.relu = attrs->relu, .sum = m->add}, NULL, described);
}

/* Has the library this product in bf16, and not only a slow one? */
static const char *negotiate_bf16(const struct kernel_site *site) {
    struct matmul m;
    dnnl_primitive_desc_t described;
    neap_error *error = describe(site, &m, &described);
    bool good = !error && described && !dnn_is_slow(described);
    if (described)
        dnn_describe_free(described);
    neap_error_free(error);
    return good ? NULL : "the library would be slow in bf16";
}

static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    enum dtype dtype = node_input(site->g, node, 0)->dtype;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        want->in[i] = (struct layout){0};
    for (uint32_t i = 0; i < node->n_outputs; i++)
        want->out[i] = (struct layout){0};
    for (uint32_t i = 0; i < node->n_updates; i++)
        if (!layout_is_plain(graph_value(site->g, node->updates[i])->layout))
            return "its accumulator is not plain";
    if (dtype == DTYPE_BF16)
        return negotiate_bf16(site);
    return dtype == DTYPE_F32 ? NULL : "it computes in fp32 and bf16";
}

static neap_error *create(const struct kernel_site *site, void **out, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct linear_attrs *attrs = node->attrs;
    const struct product *p = product_of(node);
    bool weight = node->op == &op_linear_backward_weight;
    struct matmul m;
    dnnl_primitive_desc_t described;
    TRY(describe(site, &m, &described));
    if (!described)
        return node_refuse(site->g, node, "oneDNN has no such matmul");
    const struct dnn_argument arguments[] = {
        {DNNL_ARG_SRC, DNN_IN, (uint32_t)p->a.input, m.a},
        {DNNL_ARG_WEIGHTS, DNN_IN, (uint32_t)p->b.input, m.b},
        {DNNL_ARG_DST, m.add ? DNN_UP : DNN_OUT, 0, m.c},
        {DNNL_ARG_BIAS, DNN_IN, 2, m.bias},
    };
    struct state *s;
    neap_error *error = memory_alloc(1, sizeof *s, &s);
    if (error) {
        dnn_describe_free(described);
        return error;
    }
    const struct value *dy = node_input(site->g, node, weight);
    *s = (struct state){.rows = dy->shape.dim[0],
                        .columns = dy->shape.dim[1],
                        .dtype = dy->dtype,
                        .bias = weight && attrs->bias,
                        .add = m.add};
    error = dnn_call_create(site->device, described, arguments, 3 + m.has_bias, &s->call,
                            scratch_bytes);
    if (error)
        free(s);
    else
        *out = s;
    return error;
}

REAL_INLINE void add_row_of(enum dtype type, float *restrict sum, const void *restrict row,
                            int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += real_load(type, row, i);
}

SIMD static void add_row(enum dtype type, float *sum, const void *row, int64_t n) {
    WITH_REAL(type, add_row_of, sum, row, n);
}

/* db[o] = Σ dy[n,o], rows in order whatever the threads. */
static void sum_columns(const struct state *s, float *db, const void *dy) {
    for (int64_t o = 0; o < s->columns && !s->add; o++)
        db[o] = 0;
    for (int64_t n = 0; n < s->rows; n++)
        add_row(s->dtype, db, real_at(s->dtype, dy, n * s->columns), s->columns);
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct state *s = state;
    TRY(dnn_call_run(s->call, launch));
    if (s->bias)
        sum_columns(s, (s->add ? launch->up : launch->out)[1], launch->in[1]);
    return NULL;
}

static void destroy(void *state) {
    dnn_call_destroy(((struct state *)state)->call);
    free(state);
}

static const char *implementation(const void *state) {
    return dnn_call_implementation(((const struct state *)state)->call);
}

#define LINEAR_KERNEL(stem)                                                                        \
    const struct kernel kernel_##stem##_dnn = {                                                    \
        .name = #stem ":dnn",                                                                      \
        .op = &op_##stem,                                                                          \
        .negotiate = negotiate,                                                                    \
        .create = create,                                                                          \
        .run = run,                                                                                \
        .destroy = destroy,                                                                        \
        .implementation = implementation,                                                          \
    }

LINEAR_KERNEL(linear);
LINEAR_KERNEL(linear_backward_data);
LINEAR_KERNEL(linear_backward_weight);
