/* Copies of boxes between activations: slice, pad and concat in plain, channels-last and blocked
 * layouts. Channels go in groups that no block's edge cuts, so that any channel can be first:
 *
 *   nChw16c, channels 0 … 15 to 8 … 23: two groups of 8, each contiguous at every place */
#ifndef NEAP_BACKEND_CPU_BOXES_H
#define NEAP_BACKEND_CPU_BOXES_H

#include "backend/cpu/view.h"
#include "backend/kernel.h"

enum { BOX_DIMS = 4 }; /* N, C, H, W */

/* One side: element i of the box is element begin + step i of the tensor, in every dimension. */
struct box_side {
    struct channel_view view;
    int64_t begin[BOX_DIMS], step[BOX_DIMS];
};

struct box {
    struct box_side from, to;
    int64_t count[BOX_DIMS];
    int64_t group; /* channels, contiguous on both sides */
};

/* begin and step have as many entries as the values' rank, 2 or 4; NULL: 0 and 1. `count` is the
 * box's shape. False where a layout is none of the three. */
struct box_place {
    const struct value *value;
    const int64_t *begin, *step;
};
bool box_of(const struct box_place *from, const struct box_place *to, struct shape count,
            struct box *out);

void box_copy(const struct box *box, const float *from, float *to);

/* Wants all inputs and outputs in input 0's layout, or plain where that is none of the three. */
const char *box_negotiate(const struct kernel_site *site, struct kernel_layouts *want);

/* The state of kernels on boxes: zeroes what is not copied to, or the padding alone where the boxes
 * together are the output; then copies one from each input. free() it. */
struct box_state {
    bool covered;
    int64_t n_boxes;
    struct box boxes[];
};
neap_error *box_run(void *state, const struct launch *launch);

#endif
