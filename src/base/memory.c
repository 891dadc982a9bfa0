/* Checked sizes, growable arrays and pools: see memory.h. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool size_multiply(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

bool size_add(int64_t a, int64_t b, int64_t *sum) {
    return !__builtin_add_overflow(a, b, sum);
}

neap_error *memory_alloc(size_t count, size_t element_bytes, void *out) {
    void *bytes = calloc(count ? count : 1, element_bytes);
    if (!bytes)
        return error_memory(count * element_bytes);
    memcpy(out, &bytes, sizeof bytes);
    return NULL;
}

neap_error *memory_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes) {
    if (needed <= *capacity)
        return NULL;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (wanted < needed)
        wanted = needed;
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    grown = reallocarray(old, wanted, element_bytes);
    if (!grown)
        return error_memory(wanted * element_bytes);
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return NULL;
}

neap_error *memory_string(const char *text, char **out) {
    *out = strdup(text);
    return *out ? NULL : error_memory(strlen(text) + 1);
}

neap_error *memory_format(char **out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vasprintf(out, format, args);
    va_end(args);
    if (length >= 0)
        return NULL;
    *out = NULL;
    return error_memory(0);
}

struct pool_block {
    struct pool_block *next;
    size_t used, bytes;
    _Alignas(16) char data[];
};

enum { POOL_BLOCK_BYTES = 64 * 1024 };

neap_error *pool_alloc(struct pool *pool, size_t count, size_t element_bytes, void *out) {
    size_t bytes;
    if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > SIZE_MAX / 2)
        return error_memory(SIZE_MAX);
    bytes = (size_t)round_up((int64_t)bytes, 16);
    struct pool_block *block = pool->blocks;
    if (!block || block->bytes - block->used < bytes) {
        size_t room = bytes > POOL_BLOCK_BYTES / 4 ? bytes : POOL_BLOCK_BYTES;
        struct pool_block *fresh = malloc(sizeof *fresh + room);
        if (!fresh)
            return error_memory(room);
        fresh->used = 0;
        fresh->bytes = room;
        if (block && room == bytes) { /* a large one goes behind, the current block stays in use */
            fresh->next = block->next;
            block->next = fresh;
        } else {
            fresh->next = block;
            pool->blocks = fresh;
        }
        block = fresh;
    }
    void *memory = block->data + block->used;
    block->used += bytes;
    memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory);
    return NULL;
}

neap_error *pool_string(struct pool *pool, const char *text, const char **out) {
    size_t bytes = strlen(text) + 1;
    char *copy;
    TRY(pool_alloc(pool, bytes, 1, &copy));
    memcpy(copy, text, bytes);
    *out = copy;
    return NULL;
}

neap_error *pool_format(struct pool *pool, const char **out, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = NULL;
    neap_error *error = pool_alloc(pool, (size_t)length + 1, 1, &text);
    if (!error)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    *out = text;
    return error;
}

void pool_free(struct pool *pool) {
    while (pool->blocks) {
        struct pool_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
}
