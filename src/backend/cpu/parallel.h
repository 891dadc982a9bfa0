/* Work on all threads: the one place where kernels of ours meet OpenMP. */
#ifndef NEAP_BACKEND_CPU_PARALLEL_H
#define NEAP_BACKEND_CPU_PARALLEL_H

#include <stdint.h>

/* Calls body(context, begin, end) for ranges that together are 0 … n, one a thread; ranges begin at
 * multiples of `grain`, and up to one grain of work stays on the calling thread. Where a range ends
 * must not matter to the results: sums go over pieces whose number depends on shapes alone. */
void parallel_for(int64_t n, int64_t grain,
                  void (*body)(const void *context, int64_t begin, int64_t end),
                  const void *context);

#endif
