/* Learning-rate schedules as PyTorch defines them: constant, cosine (CosineAnnealingLR over the
 * whole run), each after an optional linear warm-up. */
#include "train/lr.h"

#include <math.h>
#include <string.h>

struct lr_shape {
    const char *name;
    /* The rate's part above min_lr, 0 to 1, at `progress` in [0, 1). */
    double (*factor)(double progress);
};

static double constant(double progress) {
    (void)progress;
    return 1;
}

static double cosine(double progress) {
    return 0.5 * (1 + cos(3.14159265358979323846 * progress));
}

static const struct lr_shape shapes[] = {{"constant", constant}, {"cosine", cosine}};

neap_error *lr_schedule_of(const struct neap_options *options, int64_t updates_per_epoch,
                           int64_t updates, struct lr_schedule *out) {
    *out = (struct lr_schedule){.lr = options->lr,
                                .min_lr = options->min_lr,
                                .warmup_updates =
                                    (int64_t)(options->warmup_epochs * (double)updates_per_epoch),
                                .updates = updates};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, options->schedule))
            out->shape = &shapes[i];
    if (!out->shape)
        return error_make(NEAP_ERROR_USAGE, "unknown schedule '%s': there are constant and cosine",
                          options->schedule);
    return NULL;
}

double lr_at(const struct lr_schedule *s, int64_t update) {
    if (update < s->warmup_updates)
        return s->lr * (double)(update + 1) / (double)s->warmup_updates;
    int64_t span = s->updates - s->warmup_updates;
    double progress = span > 0 ? (double)(update - s->warmup_updates) / (double)span : 0;
    return s->min_lr + (s->lr - s->min_lr) * s->shape->factor(progress);
}
