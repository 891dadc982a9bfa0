/* Host memory: checked sizes, growable arrays, and pools that die as a whole.
 *
 * A pool is named after when it dies (`graph->pool` with the graph). Nothing here is called between
 * the first and the last training step: see docs/architecture.md. */
#ifndef NEAP_BASE_MEMORY_H
#define NEAP_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Products and sums of sizes; false when the result does not fit. */
bool size_multiply(int64_t a, int64_t b, int64_t *product);
bool size_add(int64_t a, int64_t b, int64_t *sum);

/* `value` rounded up to a multiple of `step` (> 0). */
static inline int64_t round_up(int64_t value, int64_t step) {
    return (value + step - 1) / step * step;
}

/* Zeroed memory for `count` elements; *out must be freed with free(). count 0 gives one element. */
MUST_USE neap_error *memory_alloc(size_t count, size_t element_bytes, void *out);

/* Makes room for at least `needed` elements in *array (capacity in *capacity, doubled). */
MUST_USE neap_error *memory_grow(void *array, size_t *capacity, size_t needed,
                                 size_t element_bytes);

/* A copy of a string; free() it. */
MUST_USE neap_error *memory_string(const char *text, char **out);
/* A formatted string; free() it. */
MUST_USE neap_error *memory_format(char **out, const char *format, ...) PRINTF_LIKE(2, 3);

/* Bump allocator: everything in it is freed at once. A zeroed struct is an empty pool. */
struct pool {
    struct pool_block *blocks;
};

/* Zeroed, aligned to 16 bytes. */
MUST_USE neap_error *pool_alloc(struct pool *pool, size_t count, size_t element_bytes, void *out);
MUST_USE neap_error *pool_string(struct pool *pool, const char *text, const char **out);
MUST_USE neap_error *pool_format(struct pool *pool, const char **out, const char *format, ...)
    PRINTF_LIKE(3, 4);
void pool_free(struct pool *pool);

#endif
