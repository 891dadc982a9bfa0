/* Attributes of dropout, and its mask: a function of names, so that backward, recompute and any
 * cutting of the batch see the same one and nothing is stored. */
#ifndef NEAP_OPS_DROPOUT_H
#define NEAP_OPS_DROPOUT_H

#include "base/philox.h"
#include "ir/op.h"

struct dropout_attrs {
    double p;      /* the probability of 0 */
    int64_t layer; /* philox_hash of the layer's name, as the bits of an int64_t */
};

/* Four words for elements 4 block … 4 block + 3 of a sample, counted in logical order (C,H,W).
 * Distinct (update, sample, block) are distinct counters up to 2^32 updates and samples. */
static inline struct philox_block dropout_words(const struct dropout_attrs *attrs,
                                                const struct run_params *params, int64_t sample,
                                                int64_t block) {
    uint64_t name = params->first_sample + (uint64_t)sample;
    return philox_at(params->seed ^ (uint64_t)attrs->layer,
                     (params->update & UINT32_MAX) << 32 | (name & UINT32_MAX), (uint64_t)block);
}

/* Is element `index` of the sample kept? Its word is dropout_words(index / 4).word[index % 4]. */
static inline bool dropout_keeps(const struct dropout_attrs *attrs, uint32_t word) {
    return (double)philox_float(word) >= attrs->p;
}

/* What kept elements are multiplied by; with p = 1 none is kept. */
static inline double dropout_scale(const struct dropout_attrs *attrs) {
    return attrs->p < 1 ? 1 / (1 - attrs->p) : 0;
}

extern const struct op_def op_dropout;

#endif
