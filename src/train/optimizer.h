/* Optimizers by name: which op, which attributes, which state. */
#ifndef NEAP_TRAIN_OPTIMIZER_H
#define NEAP_TRAIN_OPTIMIZER_H

#include "compile/compile.h"

/* The attributes that the result points to; keep it as long as the result. */
struct optimizer_attrs {
    _Alignas(16) char bytes[128];
    _Alignas(16) char of_vectors[128]; /* of norms and biases */
};

/* Fills in the optimizer's own numbers that are unset. NEAP_ERROR_USAGE for an unknown name or an
 * option that the optimizer would ignore. */
MUST_USE neap_error *optimizer_complete(struct neap_options *options);
/* Fills op, attributes and state of `out`, from complete options; out->gradients is left alone. */
MUST_USE neap_error *optimizer_of(const struct neap_options *options, struct optimizer_attrs *attrs,
                                  struct update_options *out);
/* Refuses `none`, for what is nothing without updates. */
MUST_USE neap_error *optimizer_check_updates(const struct neap_options *options);

#endif
