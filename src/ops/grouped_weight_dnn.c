/* Grouped weights between rank 4 and rank 5: see grouped_weight_dnn.h. In memory they are the same:
 *
 *   depthwise          Abcd16a (O,1,h,w)   ↔   Abcde16a (g,1,1,h,w)
 *   16 | O/g           ABcd16b16a          ↔   aBCde16c16b
 */
#include "ops/grouped_weight_dnn.h"

#include <string.h>

enum { GROUP, OUT, N_GROUPED = 5 };

/* The graph's layout with its dimension 0 in two, one behind the other. */
static struct layout split(const struct conv2d_geometry *c, struct layout layout) {
    struct layout grouped = layout;
    bool depthwise = c->out_channels == c->groups;
    for (int b = 0; b < layout.n_blocks; b++)
        grouped.block_dim[b] =
            layout.block_dim[b] || !depthwise ? (uint8_t)(layout.block_dim[b] + 1) : GROUP;
    for (int place = 0, at = 0; layout.permuted && place < N_GROUPED - 1; place++) {
        if (!layout.order[place])
            grouped.order[at++] = GROUP;
        grouped.order[at++] = (uint8_t)(layout.order[place] + 1);
    }
    return grouped;
}

static struct shape grouped_shape(const struct conv2d_geometry *c) {
    const int64_t dims[N_GROUPED] = {c->groups, c->out_channels / c->groups,
                                     c->in_channels / c->groups, c->kernel[0], c->kernel[1]};
    return shape_of(N_GROUPED, dims);
}

dnnl_memory_desc_t grouped_weight_desc(const struct conv2d_geometry *c, enum dtype dtype,
                                       const struct layout *layout) {
    return layout ? dnn_desc(grouped_shape(c), dtype, split(c, *layout))
                  : dnn_desc_any(grouped_shape(c), dtype);
}

/* Blocks of the groups, and blocks that a group does not fill, have no place in rank 4. */
static bool mergeable(const struct conv2d_geometry *c, const struct layout *grouped) {
    int64_t filters = c->out_channels / c->groups, block = 1;
    for (int b = 0; b < grouped->n_blocks; b++) {
        if (grouped->block_dim[b] == GROUP && filters > 1)
            return false;
        if (grouped->block_dim[b] == OUT)
            block *= grouped->block_size[b];
    }
    return filters % block == 0;
}

bool grouped_weight_layout_of(const struct conv2d_geometry *c, const dnnl_memory_desc_t *desc,
                              struct layout *out) {
    struct layout grouped;
    if (!dnn_layout_of(desc, &grouped) || !mergeable(c, &grouped))
        return false;
    struct layout layout = grouped;
    for (int b = 0; b < grouped.n_blocks; b++)
        layout.block_dim[b] = grouped.block_dim[b] ? (uint8_t)(grouped.block_dim[b] - 1) : 0;
    layout.permuted = 0;
    for (int place = 0, at = 0; grouped.permuted && place < N_GROUPED; place++)
        if (grouped.order[place] != GROUP) {
            layout.permuted |= grouped.order[place] != at + 1;
            layout.order[at++] = (uint8_t)(grouped.order[place] - 1);
        }
    if (!layout.permuted)
        memset(layout.order, 0, sizeof layout.order);
    layout.order[N_GROUPED - 1] = 0;
    *out = layout;
    dnnl_memory_desc_t again = grouped_weight_desc(c, DTYPE_F32, &layout);
    again.data_type = desc->data_type;
    return dnnl_memory_desc_equal(&again, desc);
}
