/* Kernels that work row by row along the last axis of plain tensors: softmax and the losses. */
#ifndef NEAP_BACKEND_CPU_ROWS_H
#define NEAP_BACKEND_CPU_ROWS_H

#include "backend/kernel.h"

struct rows {
    int64_t n, width; /* of input 0; width: its last dimension */
    int64_t samples;  /* its first dimension */
    const void *attrs;
};

/* Wants plain tensors, f32. */
const char *rows_negotiate(const struct kernel_site *site, struct kernel_layouts *want);
/* Scratch: one double a row. */
neap_error *rows_create(const struct kernel_site *site, void **state, size_t *scratch_bytes);
/* Rows worth a thread when each element costs about an exponential. */
int64_t rows_grain(const struct rows *rows);
/* The sum of n numbers, in order. */
double rows_sum(const double *numbers, int64_t n);
/* The row's largest number, whatever NaN there is. */
float row_largest(const float *row, int64_t width);

#endif
