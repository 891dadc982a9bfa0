/* The CPU: oneDNN and kernels of our own, OpenMP threads. */
#ifndef NEAP_BACKEND_CPU_CPU_H
#define NEAP_BACKEND_CPU_CPU_H

#include "backend/device.h"

extern const struct backend backend_cpu;

/* The kernels in order of choice, NULL-terminated: kernels.def. */
extern const struct kernel *const cpu_kernels[];

/* Channels in a block of the activations that the library likes on this processor: 8 or 16. */
int cpu_channel_block(void);

#endif
