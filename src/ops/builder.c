/* The public builder: neap_conv2d and its like, in terms of graph_add_node. The first error stays
 * in the graph; from then on every call returns NEAP_NONE. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/linear.h"
#include "ops/ops.h"

static neap_value fail(neap_graph *g, neap_error *error) {
    g->error = error_first(g->error, error);
    return NEAP_NONE;
}

neap_error *neap_graph_create(const char *name, neap_graph **out) {
    return graph_create(name, out);
}

void neap_graph_free(neap_graph *graph) {
    graph_free(graph);
}

neap_error *neap_graph_check(neap_graph *graph) {
    neap_error *error = graph->error;
    graph->error = NULL;
    return error;
}

neap_error *neap_graph_write(const neap_graph *graph, FILE *file) {
    return graph_write_text(graph, file);
}

/* ---- values --------------------------------------------------------------------------------- */

static neap_value add_value(neap_graph *g, enum value_kind kind, const char *name, enum dtype dtype,
                            int rank, const int64_t *dims, struct neap_init init) {
    value_id id;
    if (g->error)
        return NEAP_NONE;
    if (rank < 0 || rank > MAX_RANK)
        return fail(g, error_make(NEAP_ERROR_MODEL, "'%s' has rank %d: 0 to %d are supported", name,
                                  rank, MAX_RANK));
    for (int d = 0; d < rank; d++)
        if (dims[d] < 1)
            return fail(g, error_make(NEAP_ERROR_MODEL, "'%s': dimension %d is %lld", name, d,
                                      (long long)dims[d]));
    struct value_spec spec = {.name = name,
                              .kind = kind,
                              .dtype = dtype,
                              .shape = shape_of(rank, dims),
                              .of = ID_NONE,
                              .init = init};
    neap_error *error = graph_add_value(g, &spec, &id);
    return error ? fail(g, error) : id;
}

neap_value neap_input(neap_graph *graph, const char *name, enum neap_dtype dtype, int rank,
                      const int64_t *dims) {
    return add_value(graph, VALUE_INPUT, name, (enum dtype)dtype, rank, dims,
                     (struct neap_init){0});
}

neap_value neap_parameter(neap_graph *graph, const char *name, int rank, const int64_t *dims,
                          struct neap_init init) {
    return add_value(graph, VALUE_PARAMETER, name, DTYPE_F32, rank, dims, init);
}

neap_value neap_buffer(neap_graph *graph, const char *name, int rank, const int64_t *dims,
                       struct neap_init init) {
    return add_value(graph, VALUE_BUFFER, name, DTYPE_F32, rank, dims, init);
}

static neap_value add_layer_value(neap_graph *g, enum value_kind kind, const char *layer,
                                  const char *suffix, int rank, const int64_t *dims,
                                  struct neap_init init) {
    char name[256];
    snprintf(name, sizeof name, "%s.%s", layer, suffix);
    return add_value(g, kind, name, DTYPE_F32, rank, dims, init);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static neap_value add_node(neap_graph *g, const struct op_def *op, const char *name,
                           const neap_value *in, size_t n_in, const void *attrs,
                           const neap_value *updates, size_t n_updates, neap_value *out,
                           size_t n_out) {
    node_id node;
    if (g->error)
        return NEAP_NONE;
    struct node_spec spec = {.op = op,
                             .name = name,
                             .attrs = attrs,
                             .inputs = in,
                             .n_inputs = (uint32_t)n_in,
                             .n_outputs = (uint32_t)n_out,
                             .updates = updates,
                             .n_updates = (uint32_t)n_updates,
                             .output_kind = VALUE_ACTIVATION};
    neap_error *error = graph_add_node(g, &spec, &node);
    if (error)
        return fail(g, error);
    if (n_out)
        memcpy(out, graph_node(g, node)->outputs, n_out * sizeof *out);
    return n_out ? out[0] : NEAP_NONE;
}

static neap_value one_output(neap_graph *g, const struct op_def *op, const char *name,
                             const neap_value *in, size_t n_in, const void *attrs) {
    neap_value out;
    return add_node(g, op, name, in, n_in, attrs, NULL, 0, &out, 1);
}

static struct shape shape_in(const neap_graph *g, neap_value v) {
    return g->error || v == NEAP_NONE ? (struct shape){0} : graph_value(g, v)->shape;
}

neap_value neap_op(neap_graph *graph, const char *op, const char *name, const neap_value *in,
                   size_t n_in, const char *attributes, neap_value *out, size_t n_out) {
    _Alignas(16) char attrs[512];
    if (graph->error)
        return NEAP_NONE;
    const struct op_def *def = op_find(&all_ops, op);
    if (!def)
        return fail(graph, error_make(NEAP_ERROR_MODEL, "there is no op '%s'", op));
    op_attrs_default(def, attrs);
    neap_error *error = op_attrs_parse(def, attributes, attrs);
    if (error)
        return fail(graph, error_prefix(error, "'%s'", name));
    return add_node(graph, def, name, in, n_in, attrs, NULL, 0, out, n_out);
}

/* PyTorch's default for weights and biases: kaiming_uniform(a = √5), U(±1/√fan_in). */
static struct neap_init default_init(double fan_in) {
    return (struct neap_init){NEAP_INIT_UNIFORM, 1 / sqrt(fan_in)};
}

static struct neap_init normal(double deviation) {
    return (struct neap_init){NEAP_INIT_NORMAL, deviation};
}

static struct int_list both(const int64_t sides[2], int64_t missing) {
    int64_t first = sides[0] ? sides[0] : missing;
    return (struct int_list){2, {first, sides[1] ? sides[1] : first}};
}

neap_value neap_conv2d(neap_graph *graph, neap_value x, const char *name,
                       const struct neap_conv2d *conv) {
    struct shape shape = shape_in(graph, x);
    if (graph->error)
        return NEAP_NONE;
    if (shape.rank != 4)
        return fail(graph,
                    error_make(NEAP_ERROR_MODEL, "conv2d '%s' wants an input of rank 4", name));
    int64_t groups = conv->groups ? conv->groups : 1;
    struct int_list kernel = both(conv->kernel, 1);
    const int64_t dims[] = {conv->out_channels, shape.dim[1] / groups, kernel.at[0], kernel.at[1]};
    double area = (double)(kernel.at[0] * kernel.at[1]);
    double fan_in = (double)dims[1] * area, fan_out = (double)conv->out_channels * area;
    struct neap_init init = default_init(fan_in), zero = {NEAP_INIT_CONSTANT, 0};
    if (conv->init_fan_out || conv->init_fan_in)
        init = normal(sqrt(2 / (conv->init_fan_out ? fan_out : fan_in)));
    if (conv->init_normal > 0)
        init = normal(conv->init_normal);
    neap_value in[3] = {x};
    in[1] = add_layer_value(graph, VALUE_PARAMETER, name, "weight", 4, dims, init);
    if (conv->bias)
        in[2] = add_layer_value(graph, VALUE_PARAMETER, name, "bias", 1, dims,
                                conv->init_fan_out ? zero : default_init(fan_in));
    struct int_list padding = {2, {conv->padding[0], conv->padding[1]}};
    struct conv2d_attrs attrs = {.stride = both(conv->stride, 1),
                                 .padding = conv->kernel[1] ? padding : both(conv->padding, 0),
                                 .dilation = both(conv->dilation, 1),
                                 .groups = groups};
    if (conv->kernel[1]) /* 7×1 with padding 3×0 */
        attrs.padding.at[1] = conv->padding[1];
    return one_output(graph, &op_conv2d, name, in, 2u + conv->bias, &attrs);
}

neap_value neap_linear(neap_graph *graph, neap_value x, const char *name,
                       const struct neap_linear *linear) {
    struct shape shape = shape_in(graph, x);
    if (graph->error)
        return NEAP_NONE;
    if (shape.rank != 2)
        return fail(graph,
                    error_make(NEAP_ERROR_MODEL, "linear '%s' wants an input of rank 2", name));
    const int64_t dims[] = {linear->out_features, shape.dim[1]};
    struct neap_init init = default_init((double)dims[1]), bias = init;
    if (linear->zero_bias)
        bias = (struct neap_init){NEAP_INIT_CONSTANT, 0};
    if (linear->init_fan_in)
        init = normal(sqrt(2 / (double)dims[1]));
    if (linear->init_normal > 0)
        init = normal(linear->init_normal);
    neap_value in[3] = {x};
    in[1] = add_layer_value(graph, VALUE_PARAMETER, name, "weight", 2, dims, init);
    if (!linear->no_bias)
        in[2] = add_layer_value(graph, VALUE_PARAMETER, name, "bias", 1, dims, bias);
    return one_output(graph, &op_linear, name, in, linear->no_bias ? 2 : 3, NULL);
}

neap_value neap_batch_norm(neap_graph *graph, neap_value x, const char *name, double eps,
                           double momentum) {
    struct shape shape = shape_in(graph, x);
    if (graph->error)
        return NEAP_NONE;
    static const struct {
        const char *suffix;
        enum value_kind kind;
        double start;
    } vectors[] = {{"weight", VALUE_PARAMETER, 1},
                   {"bias", VALUE_PARAMETER, 0},
                   {"running_mean", VALUE_BUFFER, 0},
                   {"running_var", VALUE_BUFFER, 1}};
    neap_value in[5] = {x};
    for (int i = 0; i < 4; i++)
        in[1 + i] =
            add_layer_value(graph, vectors[i].kind, name, vectors[i].suffix, 1, &shape.dim[1],
                            (struct neap_init){NEAP_INIT_CONSTANT, vectors[i].start});
    struct batch_norm_attrs attrs = {.eps = eps > 0 ? eps : 1e-5,
                                     .momentum = momentum > 0 ? momentum : 0.1};
    return one_output(graph, &op_batch_norm, name, in, 5, &attrs);
}

neap_value neap_relu(neap_graph *graph, neap_value x, const char *name) {
    return one_output(graph, &op_relu, name, &x, 1, NULL);
}

neap_value neap_add(neap_graph *graph, neap_value a, neap_value b, const char *name) {
    return one_output(graph, &op_add, name, (neap_value[]){a, b}, 2, NULL);
}

neap_value neap_flatten(neap_graph *graph, neap_value x, const char *name) {
    return one_output(graph, &op_flatten, name, &x, 1, NULL);
}

neap_value neap_dropout(neap_graph *graph, neap_value x, const char *name, double p) {
    char text[96];
    neap_value out;
    snprintf(text, sizeof text, "p=%.17g layer=%lld", p,
             (long long)(philox_hash(name) & 0xffffffffu));
    return neap_op(graph, "dropout", name, &x, 1, text, &out, 1);
}

static neap_value pool(neap_graph *graph, const char *op, neap_value x, const char *name,
                       const struct neap_pool2d *p, const char *more) {
    char text[160];
    neap_value out;
    long long stride = (long long)(p->stride ? p->stride : p->kernel);
    snprintf(text, sizeof text, "kernel=%lld stride=%lld padding=%lld ceil_mode=%d%s",
             (long long)p->kernel, stride, (long long)p->padding, p->ceil_mode, more);
    return neap_op(graph, op, name, &x, 1, text, &out, 1);
}

neap_value neap_max_pool2d(neap_graph *graph, neap_value x, const char *name,
                           const struct neap_pool2d *p) {
    return pool(graph, "max_pool2d", x, name, p, "");
}

neap_value neap_avg_pool2d(neap_graph *graph, neap_value x, const char *name,
                           const struct neap_pool2d *p) {
    return pool(graph, "avg_pool2d", x, name, p,
                p->count_include_pad ? " count_include_pad=1" : " count_include_pad=0");
}

neap_value neap_adaptive_avg_pool2d(neap_graph *graph, neap_value x, const char *name,
                                    int64_t size) {
    char text[64];
    neap_value out;
    snprintf(text, sizeof text, "output=%lld,%lld", (long long)size, (long long)size);
    return neap_op(graph, "adaptive_avg_pool2d", name, &x, 1, text, &out, 1);
}

neap_value neap_concat(neap_graph *graph, const neap_value *x, size_t n, int axis,
                       const char *name) {
    char text[32];
    neap_value out;
    snprintf(text, sizeof text, "axis=%d", axis);
    return neap_op(graph, "concat", name, x, n, text, &out, 1);
}

/* ---- segments ------------------------------------------------------------------------------- */

static bool has_segment(const neap_graph *g, const char *name) {
    for (node_id n = 0; n < g->n_nodes; n++)
        if (graph_node(g, n)->segment && !strcmp(graph_node(g, n)->segment, name))
            return true;
    return false;
}

void neap_graph_segment_begin(neap_graph *graph, const char *name) {
    if (graph->error)
        return;
    neap_error *error;
    if (graph->segment)
        error = error_make(NEAP_ERROR_MODEL, "segment '%s' begins inside segment '%s'", name,
                           graph->segment);
    else if (has_segment(graph, name))
        error = error_make(NEAP_ERROR_MODEL, "there is a segment '%s' already", name);
    else
        error = pool_string(&graph->pool, name, &graph->segment);
    graph->error = error;
}

void neap_graph_segment_end(neap_graph *graph) {
    if (graph->error)
        return;
    if (!graph->segment)
        fail(graph, error_make(NEAP_ERROR_MODEL, "no segment has begun that could end"));
    else if (!has_segment(graph, graph->segment))
        fail(graph, error_make(NEAP_ERROR_MODEL, "segment '%s' is empty", graph->segment));
    graph->segment = NULL;
}

/* ---- the head of a classifier --------------------------------------------------------------- */

/* total += value, once per micro-batch, read and cleared by the host. */
static void add_metric(neap_graph *g, const char *name, neap_value value) {
    char total_name[64];
    snprintf(total_name, sizeof total_name, "%s.total", name);
    value_id total;
    if (g->error)
        return;
    struct value_spec spec = {.name = total_name,
                              .kind = VALUE_LOSS,
                              .dtype = DTYPE_F64,
                              .persistent = true,
                              .of = ID_NONE};
    neap_error *error = graph_add_value(g, &spec, &total);
    if (error) {
        fail(g, error);
        return;
    }
    snprintf(total_name, sizeof total_name, "%s.add", name);
    add_node(g, &op_metric_add, total_name, &value, 1, NULL, &total, 1, NULL, 0);
}

void neap_classifier(neap_graph *graph, neap_value logits) {
    struct shape shape = shape_in(graph, logits);
    if (graph->error)
        return;
    if (shape.rank != 2) {
        fail(graph, error_make(NEAP_ERROR_MODEL, "a classifier's logits are (samples, classes)"));
        return;
    }
    neap_value labels = neap_input(graph, "labels", NEAP_I32, 1, shape.dim);
    const neap_value in[] = {logits, labels};
    neap_value out;
    neap_value loss = one_output(graph, &op_softmax_cross_entropy, "loss", in, 2, NULL);
    add_metric(graph, "loss", loss);
    for (int k = 1; k <= 5; k += 4) {
        char name[16], attrs[16];
        snprintf(name, sizeof name, "top%d", k);
        snprintf(attrs, sizeof attrs, "k=%d", k);
        add_metric(graph, name, neap_op(graph, "top_k_correct", name, in, 2, attrs, &out, 1));
    }
    graph->roles.logits = logits;
    graph->roles.labels = labels;
    graph->roles.loss = loss;
}
