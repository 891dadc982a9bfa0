/* The guard of `--on-nan skip`: a window whose loss or gradients are not finite leaves no trace.
 * Parameters and moments have not been touched by then; buffers (running statistics) go back to
 * what they were, sums of gradients to zero. */
#ifndef NEAP_TRAIN_GUARD_H
#define NEAP_TRAIN_GUARD_H

#include "exec/store.h"

struct guard {
    struct store *store;
    float *buffers; /* as they were before the window */
};

/* Bytes that a guard of this model's buffers takes. */
int64_t guard_bytes(const neap_graph *model);
MUST_USE neap_error *guard_create(struct store *store, struct guard *out);
void guard_free(struct guard *guard);

void guard_begin(struct guard *guard);
/* Between a window's last gradient and its update. */
bool guard_is_finite(const struct guard *guard);
void guard_undo(struct guard *guard);

#endif
