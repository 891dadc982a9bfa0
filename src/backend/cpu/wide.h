/* The kernels for 16-bit floats that compute in fp32: one for each kernel of the CPU. */
#ifndef NEAP_BACKEND_CPU_WIDE_H
#define NEAP_BACKEND_CPU_WIDE_H

#include "backend/kernel.h"

#define KERNEL(name) extern const struct kernel wide_##name;
#include "backend/cpu/kernels.def"
#undef KERNEL

#endif
