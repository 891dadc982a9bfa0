/* The 16-bit floats, to and from fp32: bfloat16 (8 bits of exponent, 7 of fraction) and IEEE half
 * (5 and 10). To the nearest, ties to even; NaN stays NaN; half overflows to infinity.
 *
 * Branch-free and in integers, so that loops over them become vectors in every instruction set with
 * the same bits; half after Giesen's float_to_half_fast3_rtne (2012), which needs no denormal fp32
 * numbers on the way. */
#ifndef NEAP_BASE_HALF_H
#define NEAP_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float float_of_bf16(uint16_t half) {
    return float_of_bits((uint32_t)half << 16);
}

static inline uint16_t bf16_of_float(float f) {
    uint32_t bits = float_bits(f), even = bits >> 16 & 1;
    uint32_t rounded = f != f ? bits | 0x400000u : bits + 0x7fffu + even;
    return (uint16_t)(rounded >> 16);
}

static inline float float_of_f16(uint16_t half) {
    const uint32_t exponent_of_half = 0x7c00u << 13, rebias = 112u << 23;
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, bits = (uint32_t)(half & 0x7fffu) << 13;
    uint32_t exponent = bits & exponent_of_half;
    uint32_t normal = bits + rebias + (exponent == exponent_of_half ? rebias : 0); /* inf, NaN */
    float small = float_of_bits(bits + rebias + (1u << 23)) - float_of_bits(113u << 23);
    return float_of_bits(sign | (exponent ? normal : float_bits(small)));
}

static inline uint16_t f16_of_float(float f) {
    const uint32_t magic = (127u - 15 + 23 - 10 + 1) << 23;
    uint32_t sign = float_bits(f) & 0x80000000u, bits = float_bits(f) ^ sign;
    uint32_t huge = bits > 0xffu << 23 ? 0x7e00 : 0x7c00; /* NaN or infinite */
    uint32_t small = float_bits(float_of_bits(bits) + float_of_bits(magic)) - magic;
    uint32_t normal = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1)) >> 13;
    uint32_t half = bits >= 143u << 23 ? huge : bits < 113u << 23 ? small : normal;
    return (uint16_t)(half | sign >> 16);
}

#endif
