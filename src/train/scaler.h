/* Loss scaling: the gradient of the loss is multiplied by a scale so that small gradients survive
 * in fp16, and divided out again once, in the update.
 *
 * Dynamic (Micikevicius et al. 2018): doubled after SCALER_PATIENCE good updates in a row, halved
 * when a window's gradients overflow, which then leaves no trace (guard.h). */
#ifndef NEAP_TRAIN_SCALER_H
#define NEAP_TRAIN_SCALER_H

#include "base/status.h"

enum { SCALER_START = 65536, SCALER_PATIENCE = 2000 };

struct loss_scaler {
    double scale;         /* of the next window; 1: nothing is scaled */
    int64_t good_updates; /* since the scale was last set or a window overflowed */
    bool dynamic;
};

/* `text` is --loss-scale: "dynamic", "dynamic:START", a number, or NULL for what `scaled` (fp16)
 * says: dynamic or nothing. */
MUST_USE neap_error *scaler_of(const char *text, bool scaled, struct loss_scaler *out);

/* After a window: were its gradients finite? NEAP_ERROR_DIVERGED where no scale is left. */
MUST_USE neap_error *scaler_step(struct loss_scaler *scaler, bool finite);

#endif
