/* Processors of the calling thread: see affinity.h. */
#include "base/affinity.h"

struct affinity affinity_get(void) {
    struct affinity affinity = {.n = 0};
    CPU_ZERO(&affinity.processors);
    if (!sched_getaffinity(0, sizeof affinity.processors, &affinity.processors))
        affinity.n = CPU_COUNT(&affinity.processors);
    return affinity;
}

void affinity_set(const struct affinity *affinity) {
    if (affinity->n)
        sched_setaffinity(0, sizeof affinity->processors, &affinity->processors);
}

void affinity_pin(const struct affinity *affinity, int index) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; index >= 0 && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &affinity->processors) && index-- == 0)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}
