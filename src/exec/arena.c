/* The arena and its measurement: see arena.h. */
#include "exec/arena.h"

#include <string.h>

enum { PATTERN = 0xA5 };

neap_error *arena_create(struct device *device, int64_t bytes, struct arena *out) {
    void *base;
    TRY(device->backend->alloc(device, (size_t)bytes, &base));
    *out = (struct arena){device, base, bytes};
    memset(base, PATTERN, (size_t)bytes);
    return NULL;
}

void arena_free(struct arena *arena) {
    if (arena->base)
        arena->device->backend->free(arena->device, arena->base, (size_t)arena->bytes);
    *arena = (struct arena){0};
}

int64_t arena_measure(const struct arena *arena, int64_t alignment_bytes) {
    int64_t end = arena->bytes;
    while (end > 0 && arena->base[end - 1] == PATTERN)
        end--;
    return round_up(end, alignment_bytes);
}
