/* What max_pool2d and avg_pool2d share: attributes, windows and shapes, PyTorch's rules. */
#include "ops/pool2d.h"

#include "ops/index.h"

const struct attr_def pool2d_attr_table[] = {
    {"kernel", ATTR_INTS, offsetof(struct pool2d_attrs, kernel), 0, 0, 0},
    {"stride", ATTR_INTS, offsetof(struct pool2d_attrs, stride), 0, 0, 0},
    {"padding", ATTR_INTS, offsetof(struct pool2d_attrs, padding), 0, 0, 0},
    {"input", ATTR_INTS, offsetof(struct pool2d_attrs, input), 0, 0, 0},
    {"ceil_mode", ATTR_BOOL, offsetof(struct pool2d_attrs, ceil_mode), 0, 0, 1},
    {"count_include_pad", ATTR_BOOL, offsetof(struct pool2d_attrs, count_include_pad), 1, 0, 1},
    ATTR_END,
};

/* Rounded up, a last window that would start in the far padding is left out. */
static int64_t output_size(const struct pool2d_geometry *p, int axis, bool ceil_mode) {
    int64_t stride = p->stride[axis], padding = p->padding[axis];
    int64_t room = p->input[axis] + 2 * padding - p->kernel[axis];
    if (room < 0 || stride < 1)
        return 0;
    int64_t n = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    return ceil_mode && (n - 1) * stride >= p->input[axis] + padding ? n - 1 : n;
}

struct pool2d_geometry pool2d_geometry_of(const struct pool2d_attrs *attrs, struct shape image,
                                          bool backward) {
    struct pool2d_geometry p = {
        .batch = image.dim[0], .channels = image.dim[1], .input = {image.dim[2], image.dim[3]}};
    int_list_sides(&attrs->kernel, 0, p.kernel);
    int_list_sides(&attrs->padding, 0, p.padding);
    for (int i = 0; i < 2; i++)
        p.stride[i] = p.kernel[i];
    if (attrs->stride.n)
        int_list_sides(&attrs->stride, 0, p.stride);
    if (backward)
        int_list_sides(&attrs->input, 0, p.input);
    for (int i = 0; i < 2; i++)
        p.output[i] = output_size(&p, i, attrs->ceil_mode);
    return p;
}

/* Refuses windows that cannot be, or that could lie in the padding alone. */
static neap_error *check(const neap_graph *g, const struct node *node,
                         const struct pool2d_geometry *p) {
    char text[64];
    struct shape shape = node_input(g, node, 0)->shape;
    if (p->kernel[0] < 1 || p->kernel[1] < 1 || p->stride[0] < 1 || p->stride[1] < 1)
        return node_refuse(g, node, "kernel and stride should be positive");
    for (int i = 0; i < 2; i++)
        if (p->padding[i] < 0 || 2 * p->padding[i] > p->kernel[i])
            return node_refuse(g, node, "padding %lld is more than half of kernel %lld",
                               (long long)p->padding[i], (long long)p->kernel[i]);
    if (p->output[0] < 1 || p->output[1] < 1)
        return node_refuse(g, node, "input %s is too small for kernel %lldx%lld",
                           shape_text(shape, text), (long long)p->kernel[0],
                           (long long)p->kernel[1]);
    return NULL;
}

neap_error *pool2d_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *x = node_input(g, node, 0);
    if (x->shape.rank != 4)
        return node_refuse(g, node, "the input should have rank 4, not %d", x->shape.rank);
    struct pool2d_geometry p = pool2d_geometry_of(node->attrs, x->shape, false);
    TRY(check(g, node, &p));
    node_set_output(g, id, 0, x->dtype,
                    shape_of(4, (int64_t[]){p.batch, p.channels, p.output[0], p.output[1]}));
    return NULL;
}

neap_error *pool2d_backward_infer(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *dy = node_input(g, node, 0);
    if (dy->shape.rank != 4)
        return node_refuse(g, node, "the gradient should have rank 4, not %d", dy->shape.rank);
    struct pool2d_geometry p = pool2d_geometry_of(node->attrs, dy->shape, true);
    TRY(check(g, node, &p));
    if (p.output[0] != dy->shape.dim[2] || p.output[1] != dy->shape.dim[3])
        return node_refuse(g, node, "the gradient's size is not that of the output");
    node_set_output(g, id, 0, dy->dtype,
                    shape_of(4, (int64_t[]){p.batch, p.channels, p.input[0], p.input[1]}));
    return NULL;
}

void pool2d_readers(const struct pool2d_geometry *p, int axis, int64_t at, int64_t *first,
                    int64_t *end) {
    int64_t shifted = at + p->padding[axis], reach = shifted - p->kernel[axis] + p->stride[axis];
    *first = reach > 0 ? reach / p->stride[axis] : 0;
    *end = shifted / p->stride[axis] + 1;
    if (*end > p->output[axis])
        *end = p->output[axis];
}
