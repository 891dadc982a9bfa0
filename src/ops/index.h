/* What reference kernels of shape-changing ops walk with, the slow and obvious way. */
#ifndef NEAP_OPS_INDEX_H
#define NEAP_OPS_INDEX_H

#include "ir/op.h"

/* The index of the element that is `at`-th in row-major order, and back. */
static inline void index_of(struct shape shape, int64_t at, int64_t index[MAX_RANK]) {
    for (int d = shape.rank - 1; d >= 0; d--) {
        index[d] = at % shape.dim[d];
        at /= shape.dim[d];
    }
}

static inline int64_t index_place(struct shape shape, const int64_t *index) {
    int64_t at = 0;
    for (int d = 0; d < shape.rank; d++)
        at = at * shape.dim[d] + index[d];
    return at;
}

/* Element d of an attribute list that may be shorter. */
static inline int64_t int_list_at(const struct int_list *list, int d, int64_t missing) {
    return d < list->n ? list->at[d] : missing;
}

/* "2" and "2,2" are both two sides; empty is `missing`. */
static inline void int_list_sides(const struct int_list *list, int64_t missing, int64_t out[2]) {
    out[0] = int_list_at(list, 0, missing);
    out[1] = int_list_at(list, 1, out[0]);
}

static inline struct int_list int_list_of_shape(struct shape shape) {
    struct int_list list = {.n = shape.rank};
    for (int d = 0; d < shape.rank; d++)
        list.at[d] = shape.dim[d];
    return list;
}

#endif
