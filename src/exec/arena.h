/* The one block that every life of a step lies in, filled with a pattern so that what was written
 * can be measured. */
#ifndef NEAP_EXEC_ARENA_H
#define NEAP_EXEC_ARENA_H

#include "backend/device.h"

struct arena {
    struct device *device;
    unsigned char *base;
    int64_t bytes;
};

/* Allocated, touched and filled with the pattern. */
MUST_USE neap_error *arena_create(struct device *device, int64_t bytes, struct arena *out);
void arena_free(struct arena *arena);

/* The end of the highest byte that no longer holds the pattern, rounded up to `alignment_bytes`. */
int64_t arena_measure(const struct arena *arena, int64_t alignment_bytes);

#endif
