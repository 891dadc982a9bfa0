/* Adaptive mean pooling: avg_pool2d's loops over windows of uneven sizes. */
#include "ops/adaptive_avg_pool2d.h"

#include "ops/avg_pool2d_cpu.h"

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct value *first = node_input(site->g, node, 0), *out = node_output(site->g, node, 0);
    bool backward = node->op == &op_adaptive_avg_pool2d_backward;
    const struct value *image = backward ? out : first, *pooled = backward ? first : out;
    struct windows *w;
    (void)scratch_bytes;
    TRY(windows_create(image, pooled, &w));
    for (int axis = 0, at = 0; axis < 2; axis++) {
        int64_t n_in = image->shape.dim[2 + axis], n_out = pooled->shape.dim[2 + axis];
        for (int64_t o = 0; o < n_out; o++) {
            int32_t begin = (int32_t)adaptive_begin(o, n_in, n_out);
            int32_t end = (int32_t)adaptive_end(o, n_in, n_out);
            w->spans[at++] = (struct window_span){begin, begin, end, 1 / (float)(end - begin)};
        }
    }
    *state = w;
    return NULL;
}

const struct kernel kernel_adaptive_avg_pool2d_cpu = {
    .name = "adaptive_avg_pool2d:cpu",
    .op = &op_adaptive_avg_pool2d,
    .negotiate = window_mean_negotiate,
    .create = create,
    .run = window_mean_run,
};

const struct kernel kernel_adaptive_avg_pool2d_backward_cpu = {
    .name = "adaptive_avg_pool2d_backward:cpu",
    .op = &op_adaptive_avg_pool2d_backward,
    .negotiate = window_mean_backward_negotiate,
    .create = create,
    .run = window_mean_backward_run,
};
