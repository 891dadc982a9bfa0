/* Means over windows, for the kernels of avg_pool2d and adaptive_avg_pool2d: they differ in the
 * windows alone. State is a struct windows whose spans' scales multiply to 1 ÷ divisor. */
#ifndef NEAP_OPS_AVG_POOL2D_CPU_H
#define NEAP_OPS_AVG_POOL2D_CPU_H

#include "backend/cpu/windows.h"

const char *window_mean_negotiate(const struct kernel_site *site, struct kernel_layouts *want);
const char *window_mean_backward_negotiate(const struct kernel_site *site,
                                           struct kernel_layouts *want);
/* x → y, and dy → dx. */
neap_error *window_mean_run(void *state, const struct launch *launch);
neap_error *window_mean_backward_run(void *state, const struct launch *launch);

#endif
