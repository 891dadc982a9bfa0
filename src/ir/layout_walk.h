/* Where the elements of a tensor lie, in logical (row-major) order: layout_offset for each, without
 * its divisions. For weights of any size, read and written whole. */
#ifndef NEAP_IR_LAYOUT_WALK_H
#define NEAP_IR_LAYOUT_WALK_H

#include "ir/graph.h"

/* A place is a sum of one part for each dimension. A part grows by `step` inside the dimension's
 * innermost block, `run` indices long. */
struct layout_walk {
    struct layout layout;
    struct shape shape;
    int64_t offset; /* where the current element lies */
    int64_t index[MAX_RANK], part[MAX_RANK];
    int64_t step[MAX_RANK], run[MAX_RANK];
};

/* At the element of this logical number. */
void layout_walk_start(struct layout_walk *walk, struct layout layout, struct shape shape,
                       int64_t logical);
/* To the next; behind the last one lies the first. */
void layout_walk_next(struct layout_walk *walk);

#endif
