/* The defaults of every option: what `neap train` does unless told otherwise; and those that depend
 * on other options. */
#include "train/options.h"

#include "train/lr.h"
#include "train/optimizer.h"

void neap_options_default(struct neap_options *o) {
    *o = (struct neap_options){
        .dropout = -1,
        .max_overhead = -1,
        .batch = 64,
        .precision = "fp32",
        .optimizer = "sgd",
        .lr = 0.05,
        .momentum = -1,
        .beta1 = -1,
        .beta2 = -1,
        .eps = -1,
        .decay_norms = true,
        .schedule = "constant",
        .min_lr = -1,
        .decay_rate = -1,
        .normalize = "auto",
        .data_format = "auto",
        .random_crop = -1,
        .epochs = 1,
        .updates = 3,
        .shuffle = true,
        .loader_threads = 1,
        .device = "cpu",
    };
}

/* `samples` an update, in batches: whole ones only. */
static neap_error *steps_of_samples(int64_t samples, int64_t batch, int64_t *steps) {
    *steps = samples / batch;
    if (*steps >= 1 && samples % batch == 0)
        return NULL;
    if (*steps < 1)
        return error_make(NEAP_ERROR_USAGE,
                          "an effective batch of %lld is less than the batch, %lld: the nearest "
                          "is %lld",
                          (long long)samples, (long long)batch, (long long)batch);
    int64_t below = *steps * batch, above = below + batch;
    return error_make(NEAP_ERROR_USAGE,
                      "an effective batch of %lld is no multiple of the batch, %lld: the nearest "
                      "is %lld (%lld and %lld are possible)",
                      (long long)samples, (long long)batch,
                      (long long)(samples - below <= above - samples ? below : above),
                      (long long)below, (long long)above);
}

static neap_error *use_effective_batch(struct neap_options *o, struct pool *pool) {
    int64_t steps;
    if (o->grad_accum_steps)
        return error_make(NEAP_ERROR_USAGE,
                          "--effective-batch and --grad-accum-steps say the same thing: give one");
    if (o->batch == NEAP_BATCH_MAX)
        return error_make(NEAP_ERROR_USAGE,
                          "--effective-batch is counted in batches: -b max is none yet");
    TRY(steps_of_samples(o->effective_batch, o->batch, &steps));
    o->effective_batch = 0;
    return pool_format(pool, &o->grad_accum_steps, "%lld", (long long)steps);
}

neap_error *options_complete(struct neap_options *o, struct pool *pool) {
    TRY(optimizer_complete(o));
    lr_complete(o);
    if (o->effective_batch)
        TRY(use_effective_batch(o, pool));
    if (!o->grad_accum_steps)
        o->grad_accum_steps = "1";
    return NULL;
}
