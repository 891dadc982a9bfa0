/* Kernels that see their tensors as flat arrays: all in one layout, its padding computed along. */
#ifndef NEAP_BACKEND_CPU_ELEMENTWISE_H
#define NEAP_BACKEND_CPU_ELEMENTWISE_H

#include "backend/cpu/real.h"
#include "backend/kernel.h"

enum { ELEMENTWISE_GRAIN = 16384 }; /* elements worth a thread; a multiple of 8 for bit masks */

/* Why not, where a floating-point tensor of the node is not fp32; NULL otherwise. */
const char *f32_negotiate(const struct kernel_site *site);

/* Wants every tensor in one layout: that of the first input that cannot be reordered (a mask, an
 * index), else of the first update, else of input 0. All of it fp32, or, in the second, all of it
 * of one real type. */
const char *elementwise_negotiate(const struct kernel_site *site, struct kernel_layouts *want);
const char *elementwise_negotiate_real(const struct kernel_site *site, struct kernel_layouts *want);

/* State of such kernels, made by elementwise_create. */
struct elementwise {
    int64_t n; /* elements with padding */
    enum dtype dtype;
    const void *attrs;
    uint32_t n_in, n_out, n_up;
};
neap_error *elementwise_create(const struct kernel_site *site, void **state, size_t *scratch_bytes);

/* bits[i / 8] bit i % 8 = x[i] > 0; the last byte is filled up with zeros. One thread, or all. */
void mask_of_positive(enum dtype dtype, const void *x, int64_t n, uint8_t *bits);
void elementwise_mask(enum dtype dtype, const void *x, int64_t n, uint8_t *bits);

#endif
