/* The three convolutions by oneDNN's direct algorithm, in the layouts that it prefers.
 *
 * Each is described with the tensors as they lie; where that would be a slow fallback, with layouts
 * for the library to choose, and the layout pass puts reorders in. Weights are always the library's
 * choice: forward and backward data want different ones, so the latter reads a weight_copy. In bf16
 * weight gradients are fp32 nonetheless; where the library has only a slow way, it refuses. */
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/dnn.h"
#include "backend/cpu/view.h"
#include "ops/conv2d.h"
#include "ops/grouped_weight_dnn.h"

enum { X, W, Y, B, N_TENSORS };

/* The operation, and what is known of its tensors' layouts (NULL: the library chooses). */
struct problem {
    struct conv2d_geometry geometry;
    enum dtype dtype[N_TENSORS];
    bool bias, relu;
    const struct layout *layout[N_TENSORS];
};

static struct shape shape_of_tensor(const struct conv2d_geometry *c, int tensor) {
    const int64_t dims[N_TENSORS][4] = {
        [X] = {c->batch, c->in_channels, c->input[0], c->input[1]},
        [W] = {c->out_channels, c->in_channels / c->groups, c->kernel[0], c->kernel[1]},
        [Y] = {c->batch, c->out_channels, c->output[0], c->output[1]},
        [B] = {c->out_channels},
    };
    return shape_of(tensor == B ? 1 : 4, dims[tensor]);
}

static dnnl_memory_desc_t desc(const struct problem *p, int tensor) {
    if (tensor == W && p->geometry.groups > 1)
        return grouped_weight_desc(&p->geometry, p->dtype[W], p->layout[W]);
    struct shape shape = shape_of_tensor(&p->geometry, tensor);
    if (tensor == B)
        return dnn_desc(shape, p->dtype[B], (struct layout){0});
    return p->layout[tensor] ? dnn_desc(shape, p->dtype[tensor], *p->layout[tensor])
                             : dnn_desc_any(shape, p->dtype[tensor]);
}

static neap_error *describe_forward(struct device *device, const struct problem *p,
                                    dnnl_primitive_desc_t *out) {
    const struct conv2d_geometry *c = &p->geometry;
    dnnl_memory_desc_t x = desc(p, X), w = desc(p, W), y = desc(p, Y), b = desc(p, B);
    const dnnl_dims_t stride = {c->stride[0], c->stride[1]};
    const dnnl_dims_t padding = {c->padding[0], c->padding[1]};
    const dnnl_dims_t dilation = {c->dilation[0] - 1, c->dilation[1] - 1};
    dnnl_convolution_desc_t operation;
    *out = NULL;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &operation, dnnl_forward_training, dnnl_convolution_direct, &x, &w, p->bias ? &b : NULL, &y,
        stride, dilation, padding, padding);
    if (status)
        return NULL;
    return dnn_describe(device, &operation, (struct dnn_post){.relu = p->relu}, NULL, out);
}

typedef neap_error *describe_fn(struct device *device, const struct problem *p,
                                dnnl_primitive_desc_t *out);

static neap_error *describe_backward(struct device *device, const struct problem *p, bool weight,
                                     dnnl_primitive_desc_t *out) {
    const struct conv2d_geometry *c = &p->geometry;
    struct problem hint_problem = *p;
    dnnl_memory_desc_t x = desc(p, X), w = desc(p, W), y = desc(p, Y), b = desc(p, B);
    const dnnl_dims_t stride = {c->stride[0], c->stride[1]};
    const dnnl_dims_t padding = {c->padding[0], c->padding[1]};
    const dnnl_dims_t dilation = {c->dilation[0] - 1, c->dilation[1] - 1};
    dnnl_convolution_desc_t operation;
    dnnl_primitive_desc_t hint;
    hint_problem.relu = hint_problem.bias = false;
    hint_problem.layout[W] = NULL;
    hint_problem.dtype[W] = p->dtype[Y];
    *out = NULL;
    TRY(describe_forward(device, &hint_problem, &hint));
    if (!hint)
        return NULL;
    dnnl_status_t status = weight ? dnnl_dilated_convolution_backward_weights_desc_init(
                                        &operation, dnnl_convolution_direct, &x, &w,
                                        p->bias ? &b : NULL, &y, stride, dilation, padding, padding)
                                  : dnnl_dilated_convolution_backward_data_desc_init(
                                        &operation, dnnl_convolution_direct, &x, &w, &y, stride,
                                        dilation, padding, padding);
    neap_error *error =
        status ? NULL : dnn_describe(device, &operation, (struct dnn_post){0}, hint, out);
    dnn_describe_free(hint);
    return error;
}

static neap_error *describe_backward_data(struct device *device, const struct problem *p,
                                          dnnl_primitive_desc_t *out) {
    return describe_backward(device, p, false, out);
}

static neap_error *describe_backward_weight(struct device *device, const struct problem *p,
                                            dnnl_primitive_desc_t *out) {
    return describe_backward(device, p, true, out);
}

/* ---- which node is which convolution -------------------------------------------------------- */

/* Where each tensor of the convolution is in the node, -1 where it is not. */
struct role {
    const struct op_def *op;
    describe_fn *describe;
    int in[N_TENSORS], out[N_TENSORS];
    dnnl_query_t query[N_TENSORS];
    int argument[N_TENSORS];
};

static const struct role roles[] = {
    {&op_conv2d,
     describe_forward,
     {[X] = 0, [W] = 1, [Y] = -1, [B] = 2},
     {[X] = -1, [W] = -1, [Y] = 0, [B] = -1},
     {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
     {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS}},
    {&op_conv2d_backward_data,
     describe_backward_data,
     {[X] = -1, [W] = 1, [Y] = 0, [B] = -1},
     {[X] = 0, [W] = -1, [Y] = -1, [B] = -1},
     {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
     {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_BIAS}},
    {&op_conv2d_backward_weight,
     describe_backward_weight,
     {[X] = 0, [W] = -1, [Y] = 1, [B] = -1},
     {[X] = -1, [W] = 0, [Y] = -1, [B] = 1},
     {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
     {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS}},
};

static const struct role *role_of(const struct node *node) {
    const struct role *role = roles;
    while (role->op != node->op)
        role++;
    return role;
}

static value_id tensor_value(const struct node *node, const struct role *role, int tensor) {
    if (role->in[tensor] >= 0)
        return node_has_input(node, (uint32_t)role->in[tensor]) ? node->inputs[role->in[tensor]]
                                                                : ID_NONE;
    bool there = role->out[tensor] >= 0 && (uint32_t)role->out[tensor] < node->n_outputs;
    return there ? node->outputs[role->out[tensor]] : ID_NONE;
}

static struct problem problem_of(const struct kernel_site *site, const struct role *role) {
    const struct conv2d_attrs *a = site->node->attrs;
    struct problem p = {.relu = a->relu, .bias = tensor_value(site->node, role, B) != ID_NONE};
    for (int t = 0; t < N_TENSORS; t++) {
        value_id value = tensor_value(site->node, role, t);
        p.dtype[t] = value == ID_NONE ? DTYPE_F32 : graph_value(site->g, value)->dtype;
    }
    conv2d_geometry_of(site->g, site->node, &p.geometry);
    return p;
}

/* ---- negotiation ---------------------------------------------------------------------------- */

/* Layouts that our own kernels can walk. */
static bool is_walkable(const dnnl_memory_desc_t *desc) {
    struct value value = {.shape = {.rank = 4}};
    struct channel_view view;
    for (int d = 0; d < 4; d++)
        value.shape.dim[d] = desc->dims[d];
    return dnn_layout_of(desc, &value.layout) && channel_view_of(&value, &view);
}

/* The layout that an output should get so that it meets its like: a gradient the layout of what it
 * is the gradient of. */
static const struct layout *meeting_layout(const struct kernel_site *site, value_id output) {
    value_id of = graph_value(site->g, output)->of;
    return of == ID_NONE ? NULL : &graph_value(site->g, of)->layout;
}

/* Takes the described layouts over; false where one is beyond struct layout or our kernels. */
static bool take_layouts(const struct kernel_site *site, const struct role *role,
                         const struct problem *p, dnnl_primitive_desc_t described,
                         struct kernel_layouts *want) {
    for (int t = X; t <= Y; t++) {
        const dnnl_memory_desc_t *desc_t = dnn_query(described, role->query[t]);
        struct layout layout = {0};
        bool grouped = t == W && p->geometry.groups > 1;
        if (t != W && !is_walkable(desc_t))
            return false;
        if (!(grouped ? grouped_weight_layout_of(&p->geometry, desc_t, &layout)
                      : dnn_layout_of(desc_t, &layout)))
            return false;
        if (role->in[t] >= 0)
            want->in[role->in[t]] = layout;
        else
            want->out[role->out[t]] = layout;
    }
    if (tensor_value(site->node, role, B) != ID_NONE) {
        if (role->in[B] >= 0)
            want->in[role->in[B]] = (struct layout){0};
        else
            want->out[role->out[B]] = (struct layout){0};
    }
    return true;
}

/* Which tensors are held to their layouts, tried in this order. */
struct attempt {
    bool hold[N_TENSORS];
    bool slow; /* the library's fallbacks too, and grouped weights in plain layout: a last resort */
};
static const struct attempt quick[] = {
    {{[X] = true, [W] = true, [Y] = true}, false},
    {{[X] = true, [Y] = true}, false},
    {{[X] = true}, false},
    {{[Y] = true}, false},
    {{0}, false},
};
static const struct attempt slow[] = {
    {{[X] = true, [Y] = true}, true},
    {{0}, true},
};
enum { N_QUICK = sizeof quick / sizeof *quick, N_SLOW = sizeof slow / sizeof *slow };

/* The layouts to hold tensors to: inputs as they lie, outputs as they meet; a plain image is not
 * worth holding on to, since the library reads blocked ones faster; in bf16 not even one of few
 * channels, since all that follows takes its layout. */
static void held_layouts(const struct kernel_site *site, const struct role *role,
                         const struct attempt *attempt, struct problem *p) {
    for (int t = X; t <= Y; t++) {
        value_id value = tensor_value(site->node, role, t);
        static const struct layout plain;
        p->layout[t] = NULL;
        if (t == W && attempt->slow && p->geometry.groups > 1)
            p->layout[t] = &plain;
        if (!attempt->hold[t])
            continue;
        if (role->out[t] >= 0) {
            p->layout[t] = meeting_layout(site, value);
        } else if (t == W) {
            if (!(site->open_inputs >> role->in[W] & 1) && role->op == &op_conv2d)
                p->layout[W] = &graph_value(site->g, value)->layout;
        } else {
            const struct layout *now = &graph_value(site->g, value)->layout;
            bool image = p->geometry.in_channels < 8 && p->dtype[t] == DTYPE_F32;
            if (!layout_is_plain(*now) || image)
                p->layout[t] = now;
        }
    }
}

static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want,
                             const struct attempt *attempts, size_t n_attempts) {
    const struct role *role = role_of(site->node);
    struct problem p = problem_of(site, role);
    bool half = p.dtype[X] == DTYPE_BF16;
    if (p.dtype[X] != p.dtype[Y] || (p.dtype[X] != DTYPE_F32 && !half))
        return "it computes in fp32 and bf16";
    if (half && attempts == slow)
        return "fp32 is faster than the library's fallbacks in bf16";
    for (size_t a = 0; a < n_attempts; a++) {
        dnnl_primitive_desc_t described;
        held_layouts(site, role, &attempts[a], &p);
        neap_error *error = role->describe(site->device, &p, &described);
        if (error) {
            neap_error_free(error);
            return "the library failed";
        }
        bool good = described && (attempts[a].slow || !dnn_is_slow(described)) &&
                    take_layouts(site, role, &p, described, want);
        dnn_describe_free(described);
        if (good)
            return NULL;
    }
    return attempts == quick ? "the library is slow at it" : "the library has no such convolution";
}

static const char *negotiate_quick(const struct kernel_site *site, struct kernel_layouts *want) {
    return negotiate(site, want, quick, N_QUICK);
}

static const char *negotiate_slow(const struct kernel_site *site, struct kernel_layouts *want) {
    return negotiate(site, want, slow, N_SLOW);
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct role *role = role_of(site->node);
    struct problem p = problem_of(site, role);
    struct dnn_argument arguments[N_TENSORS];
    int n = 0;
    for (int t = X; t <= Y; t++)
        p.layout[t] = &graph_value(site->g, tensor_value(site->node, role, t))->layout;
    for (int t = 0; t < N_TENSORS; t++) {
        if (t == B && !p.bias)
            continue;
        bool input = role->in[t] >= 0;
        arguments[n++] =
            (struct dnn_argument){role->argument[t], input ? DNN_IN : DNN_OUT,
                                  (uint32_t)(input ? role->in[t] : role->out[t]), desc(&p, t)};
    }
    dnnl_primitive_desc_t described;
    struct dnn_call *call;
    TRY(role->describe(site->device, &p, &described));
    if (!described)
        return node_refuse(site->g, site->node, "oneDNN does not know the layouts it asked for");
    TRY(dnn_call_create(site->device, described, arguments, n, &call, scratch_bytes));
    *state = call;
    return NULL;
}

#define CONV2D_KERNEL(stem, how, suffix)                                                           \
    const struct kernel kernel_##stem##how##_dnn = {                                               \
        .name = #stem suffix,                                                                      \
        .op = &op_##stem,                                                                          \
        .negotiate = negotiate##how,                                                               \
        .create = create,                                                                          \
        .run = dnn_call_run,                                                                       \
        .destroy = dnn_call_destroy,                                                               \
        .implementation = dnn_call_implementation,                                                 \
    }

CONV2D_KERNEL(conv2d, _quick, ":dnn");
CONV2D_KERNEL(conv2d, _slow, ":dnn-slow");
CONV2D_KERNEL(conv2d_backward_data, _quick, ":dnn");
CONV2D_KERNEL(conv2d_backward_data, _slow, ":dnn-slow");
CONV2D_KERNEL(conv2d_backward_weight, _quick, ":dnn");
CONV2D_KERNEL(conv2d_backward_weight, _slow, ":dnn-slow");
