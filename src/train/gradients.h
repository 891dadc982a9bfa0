/* What is done with all gradients of a window between their last sum and the update: reductions
 * over the store's gradients, where they persist. */
#ifndef NEAP_TRAIN_GRADIENTS_H
#define NEAP_TRAIN_GRADIENTS_H

#include "exec/store.h"

/* The L2 norm over all gradients as they stand in the store. The same bits whatever the number of
 * threads: sums go over pieces in order, in double. 0 on a device that computes nothing. */
double gradients_norm(const struct store *store);

/* What the gradient of that norm is multiplied by so that it is at most `most` long: PyTorch's
 * clip_grad_norm_. */
double gradients_clip(double norm, double most);

#endif
