/* The batch norm family: one model-level op that a pass expands into three.
 *
 *   batch_norm                            x, γ, β, running mean and variance → y, as users write it
 *   ├ batch_norm_stats                    x → mean, var over (N,H,W)         pure
 *   ├ batch_norm_running                  mean, var → running statistics     effect, once
 *   └ batch_norm_apply                    x, mean, var, γ, β, [residual] → y pure, cheap to
 * recompute
 *
 * Evaluation applies the running statistics. So recompute repeats the apply and never the effect.
 */
#ifndef NEAP_OPS_BATCH_NORM_H
#define NEAP_OPS_BATCH_NORM_H

#include "ir/op.h"

/* Of batch_norm, and of all ops of the family that have the fields. */
struct batch_norm_attrs {
    double eps;
    double momentum; /* batch_norm, batch_norm_running */
    int64_t count;   /* batch_norm_running: elements per channel */
    bool relu;       /* apply: y = max(…, 0); backward: dy counts where y > 0 */
};

extern const struct op_def op_batch_norm, op_batch_norm_stats, op_batch_norm_running,
    op_batch_norm_apply, op_batch_norm_backward_reduce, op_batch_norm_backward_apply;

#endif
