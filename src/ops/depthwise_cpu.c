/* What the kernels of depthwise convolutions share: see depthwise_cpu.h. */
#include "ops/depthwise_cpu.h"

#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/view.h"

static bool is_odd_and_small(int64_t kernel) {
    return kernel % 2 && kernel > 1 && kernel <= MAX_KERNEL;
}

/* The strip of a weight gradient is the wider one. */
static bool fits(const struct conv2d_geometry *c) {
    int64_t rows = (c->kernel[0] - 1) * c->dilation[0] + 1;
    int64_t columns = (STRIP - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1;
    return is_odd_and_small(c->kernel[1]) && rows <= MAX_ROWS && columns <= MAX_COLUMNS;
}

static bool has_blocks_of(struct layout layout, int block) {
    return layout_equal(layout, layout_blocked_channels(block));
}

/* As the first activation lies, else as the library likes it. */
static int block_of(const struct layout *in) {
    for (int block = 8; block <= MAX_LANES; block *= 2)
        if (has_blocks_of(*in, block))
            return block;
    return cpu_channel_block();
}

const char *depthwise_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    struct conv2d_geometry c;
    conv2d_geometry_of(site->g, node, &c);
    if (node_input(site->g, node, 0)->dtype != DTYPE_F32)
        return "it computes in fp32";
    if (c.groups != c.in_channels || c.groups != c.out_channels)
        return "it is for depthwise convolutions";
    if (!fits(&c))
        return "it is for odd kernels up to 7 wide and 13 places high";
    int block = block_of(&want->in[0]);
    struct layout image = layout_blocked_channels(block);
    struct layout weight = {.n_blocks = 1, .block_dim = {0}, .block_size = {(uint8_t)block}};
    bool data = node->op == &op_conv2d_backward_data;
    want->in[0] = image;
    want->in[1] = data ? weight : image;
    want->out[0] = data ? image : weight;
    if (node->n_outputs > 1)
        want->out[1] = (struct layout){0};
    return NULL;
}

struct depthwise depthwise_of(const struct kernel_site *site, int64_t columns) {
    struct depthwise d = {.bias = site->node->n_outputs > 1,
                          .strips = (columns + STRIP - 1) / STRIP};
    struct channel_view view;
    conv2d_geometry_of(site->g, site->node, &d.c);
    channel_view_of(node_input(site->g, site->node, 0), &view);
    d.lanes = view.lanes;
    d.blocks = view.blocks;
    return d;
}

void strip_rows_fetch(struct strip_rows *s, int64_t last) {
    int64_t begin = s->first < 0 ? 0 : s->first, end = s->first + s->n;
    if (end > s->width)
        end = s->width;
    if (end < begin)
        end = begin; /* beside the plane altogether */
    size_t place = (size_t)s->lanes * sizeof(float);
    for (; s->next <= last; s->next++) {
        float *row = s->rows[s->next % MAX_ROWS];
        int64_t before = begin - s->first, n = end - begin;
        if (before > s->n)
            before = s->n;
        memset(row, 0, (size_t)before * place);
        memcpy(row + before * s->lanes, s->plane + (s->next * s->width + begin) * s->lanes,
               (size_t)n * place);
        memset(row + (before + n) * s->lanes, 0, (size_t)(s->n - before - n) * place);
    }
}
