/* Numbers stored in fp32, bf16 or fp16 and computed with in fp32.
 *
 * A loop is written once over loads and stores that take the type, and called through WITH_REAL:
 * the type is then a constant of each call, and the compiler makes a loop of each. */
#ifndef NEAP_BACKEND_CPU_REAL_H
#define NEAP_BACKEND_CPU_REAL_H

#include "backend/kernel.h"
#include "base/half.h"

#define REAL_INLINE static inline __attribute__((always_inline))

REAL_INLINE float real_load(enum dtype type, const void *x, int64_t i) {
    return type == DTYPE_BF16  ? float_of_bf16(((const uint16_t *)x)[i])
           : type == DTYPE_F16 ? float_of_f16(((const uint16_t *)x)[i])
                               : ((const float *)x)[i];
}

REAL_INLINE void real_store(enum dtype type, void *y, int64_t i, float value) {
    if (type == DTYPE_BF16)
        ((uint16_t *)y)[i] = bf16_of_float(value);
    else if (type == DTYPE_F16)
        ((uint16_t *)y)[i] = f16_of_float(value);
    else
        ((float *)y)[i] = value;
}

/* What `value` is once stored. */
REAL_INLINE float real_round(enum dtype type, float value) {
    return type == DTYPE_BF16  ? float_of_bf16(bf16_of_float(value))
           : type == DTYPE_F16 ? float_of_f16(f16_of_float(value))
                               : value;
}

REAL_INLINE size_t real_bytes(enum dtype type) {
    return type == DTYPE_F32 ? 4 : 2;
}

/* Element i on. */
REAL_INLINE void *real_at(enum dtype type, const void *x, int64_t i) {
    return (char *)(uintptr_t)x + i * (int64_t)real_bytes(type);
}

/* f(type, …) with the type a constant; f should be REAL_INLINE and return nothing. */
#define WITH_REAL(type, f, ...)                                                                    \
    ((type) == DTYPE_BF16  ? f(DTYPE_BF16, __VA_ARGS__)                                            \
     : (type) == DTYPE_F16 ? f(DTYPE_F16, __VA_ARGS__)                                             \
                           : f(DTYPE_F32, __VA_ARGS__))

/* fp32, bf16 or fp16? */
static inline bool dtype_is_real(enum dtype type) {
    return type == DTYPE_F32 || dtype_is_half(type);
}

/* Why not, where floating-point tensors of the node with more than one dimension are not of one of
 * the three types, all of the same, and the rest fp32; NULL otherwise. */
const char *real_negotiate(const struct kernel_site *site);

/* n elements from one type to another, on all threads. */
void real_convert(enum dtype from, const void *x, enum dtype to, void *y, int64_t n);

#endif
