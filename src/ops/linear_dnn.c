/* The linear family by oneDNN's matmul on plain matrices, transposed by strides. The weight
 * gradient adds to its accumulator with a sum post-op; the bias's gradient is a column sum of our
 * own. */
#include <stdlib.h>

#include "backend/cpu/dnn.h"
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
    bool bias, add;
};

static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        want->in[i] = (struct layout){0};
    for (uint32_t i = 0; i < node->n_outputs; i++)
        want->out[i] = (struct layout){0};
    for (uint32_t i = 0; i < node->n_updates; i++)
        if (!layout_is_plain(graph_value(site->g, node->updates[i])->layout))
            return "its accumulator is not plain";
    return node_input(site->g, node, 0)->dtype == DTYPE_F32 ? NULL : "it computes in fp32";
}

static dnnl_memory_desc_t matrix_desc(const struct kernel_site *site, struct matrix m) {
    const int64_t *dim = node_input(site->g, site->node, (uint32_t)m.input)->shape.dim;
    return m.transposed ? dnn_desc_matrix(dim[1], dim[0], 1, dim[1])
                        : dnn_desc_matrix(dim[0], dim[1], dim[1], 1);
}

static neap_error *create(const struct kernel_site *site, void **out, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct linear_attrs *attrs = node->attrs;
    const struct product *p = products;
    while (p->op != node->op)
        p++;
    bool weight = node->op == &op_linear_backward_weight, add = weight && !node->n_outputs;
    bool bias_in = node->op == &op_linear && node_has_input(node, 2);
    dnnl_memory_desc_t a = matrix_desc(site, p->a), b = matrix_desc(site, p->b);
    dnnl_memory_desc_t c = dnn_desc_matrix(a.dims[0], b.dims[1], b.dims[1], 1);
    dnnl_memory_desc_t bias = dnn_desc_matrix(1, b.dims[1], b.dims[1], 1);
    dnnl_matmul_desc_t operation;
    dnnl_primitive_desc_t described;
    TRY(dnn_error(dnnl_matmul_desc_init(&operation, &a, &b, bias_in ? &bias : NULL, &c),
                  "a matmul"));
    TRY(dnn_describe(site->device, &operation, (struct dnn_post){.relu = attrs->relu, .sum = add},
                     NULL, &described));
    if (!described)
        return node_refuse(site->g, node, "oneDNN has no such matmul");
    const struct dnn_argument arguments[] = {
        {DNNL_ARG_SRC, DNN_IN, (uint32_t)p->a.input, a},
        {DNNL_ARG_WEIGHTS, DNN_IN, (uint32_t)p->b.input, b},
        {DNNL_ARG_DST, add ? DNN_UP : DNN_OUT, 0, c},
        {DNNL_ARG_BIAS, DNN_IN, 2, bias},
    };
    struct state *s;
    neap_error *error = memory_alloc(1, sizeof *s, &s);
    if (error) {
        dnn_describe_free(described);
        return error;
    }
    const int64_t *dy = node_input(site->g, node, weight)->shape.dim;
    *s = (struct state){.rows = dy[0], .columns = dy[1], .bias = weight && attrs->bias, .add = add};
    error =
        dnn_call_create(site->device, described, arguments, 3 + bias_in, &s->call, scratch_bytes);
    if (error)
        free(s);
    else
        *out = s;
    return error;
}

SIMD static void add_row(float *restrict sum, const float *restrict row, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += row[i];
}

/* db[o] = Σ dy[n,o], rows in order whatever the threads. */
static void sum_columns(const struct state *s, float *db, const float *dy) {
    for (int64_t o = 0; o < s->columns && !s->add; o++)
        db[o] = 0;
    for (int64_t n = 0; n < s->rows; n++)
        add_row(db, dy + n * s->columns, s->columns);
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
