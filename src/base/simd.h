/* One source, several instruction sets: a function marked SIMD is compiled for AVX-512, AVX2 and
 * plain x86-64, and the processor's is chosen when the program is loaded.
 *
 * Mark leaf functions that work on a run of elements and call them from OpenMP loops: the bodies of
 * OpenMP regions are not cloned. Contraction is off in the whole build, so that every set gives the
 * same sums where the order of additions is the same. */
#ifndef NEAP_BASE_SIMD_H
#define NEAP_BASE_SIMD_H

#define SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

#endif
