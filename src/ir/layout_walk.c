/* Walking over a tensor's places: see layout_walk.h. */
#include "ir/layout_walk.h"

static int64_t part_of(const struct layout_walk *walk, int d, int64_t i) {
    int64_t index[MAX_RANK] = {0};
    index[d] = i;
    return layout_offset(walk->layout, walk->shape, index);
}

static int64_t innermost_block(struct layout layout, int d) {
    for (int b = layout.n_blocks; b-- > 0;)
        if (layout.block_dim[b] == d)
            return layout.block_size[b];
    return INT64_MAX; /* none: every index is one step from the last */
}

void layout_walk_start(struct layout_walk *walk, struct layout layout, struct shape shape,
                       int64_t logical) {
    *walk = (struct layout_walk){.layout = layout, .shape = shape};
    for (int d = shape.rank; d-- > 0;) {
        walk->index[d] = logical % shape.dim[d];
        logical /= shape.dim[d];
        walk->part[d] = part_of(walk, d, walk->index[d]);
        walk->run[d] = innermost_block(layout, d);
        walk->step[d] = part_of(walk, d, 1);
        walk->offset += walk->part[d];
    }
}

void layout_walk_next(struct layout_walk *walk) {
    for (int d = walk->shape.rank; d-- > 0;) {
        int64_t before = walk->part[d], i = ++walk->index[d];
        if (i < walk->shape.dim[d]) {
            walk->part[d] = i % walk->run[d] ? before + walk->step[d] : part_of(walk, d, i);
            walk->offset += walk->part[d] - before;
            return;
        }
        walk->index[d] = walk->part[d] = 0;
        walk->offset -= before;
    }
}
