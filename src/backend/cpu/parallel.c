/* Ranges of work on OpenMP's threads: see parallel.h. */
#include "backend/cpu/parallel.h"

#include <omp.h>

void parallel_for(int64_t n, int64_t grain,
                  void (*body)(const void *context, int64_t begin, int64_t end),
                  const void *context) {
    int64_t grains = (n + grain - 1) / grain;
    if (grains <= 1 || omp_get_max_threads() == 1) {
        if (n > 0)
            body(context, 0, n);
        return;
    }
#pragma omp parallel
    {
        int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
        int64_t begin = grains * thread / threads * grain;
        int64_t end = grains * (thread + 1) / threads * grain;
        if (begin < end)
            body(context, begin, end < n ? end : n);
    }
}
