/* Learning-rate schedules as PyTorch defines them (torch.optim.lr_scheduler), before which the rate
 * may rise linearly (LinearLR):
 *
 *   constant   lr
 *   step       lr × rate^(epoch / decay_epochs)                           StepLR
 *   multistep  lr × rate^(milestones up to this epoch)                    MultiStepLR
 *   cosine     from lr to min_lr over what warm-up leaves of the run      CosineAnnealingLR
 *   onecycle   from lr / 25 to lr, then to min_lr, both along a cosine    OneCycleLR
 *
 * Momentum is left alone, as by OneCycleLR(cycle_momentum=False). */
#include "train/lr.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* OneCycleLR's defaults. */
static const double rising_part = 0.3, first_divisor = 25, last_divisor = 25e4;
static const double default_decay_rate = 0.1;

enum {
    TAKES_MIN_LR = 1 << 0,
    TAKES_DECAY_RATE = 1 << 1,
    TAKES_DECAY_EPOCHS = 1 << 2,
    TAKES_MILESTONES = 1 << 3,
    RISES_ITSELF = 1 << 4,    /* the warm-up is part of its shape */
    LOOKS_AT_THE_END = 1 << 5 /* the run's length is part of its shape */
};

struct lr_shape {
    const char *name;
    unsigned traits;
    double (*at)(const struct lr_schedule *s, int64_t epoch, int64_t update); /* past the warm-up */
};

/* ---- shapes --------------------------------------------------------------------------------- */

/* From a, at progress 0, to b, at 1. */
static double cosine_between(double a, double b, double progress) {
    return b + (a - b) * 0.5 * (1 + cos(3.14159265358979323846 * progress));
}

static double constant(const struct lr_schedule *s, int64_t epoch, int64_t update) {
    (void)epoch, (void)update;
    return s->lr;
}

static double step(const struct lr_schedule *s, int64_t epoch, int64_t update) {
    (void)update;
    return s->lr * pow(s->decay_rate, (double)(epoch / s->decay_epochs));
}

static double multistep(const struct lr_schedule *s, int64_t epoch, int64_t update) {
    (void)update;
    int passed = 0;
    while (passed < s->n_milestones && s->milestones[passed] <= epoch)
        passed++;
    return s->lr * pow(s->decay_rate, passed);
}

static double cosine(const struct lr_schedule *s, int64_t epoch, int64_t update) {
    (void)epoch;
    int64_t span = s->updates - s->warmup;
    return cosine_between(s->lr, s->min_lr,
                          span > 0 ? (double)(update - s->warmup) / (double)span : 0);
}

/* The top lies at update rise − 1, which need not be whole; the end at the last update. */
static double onecycle(const struct lr_schedule *s, int64_t epoch, int64_t update) {
    (void)epoch;
    double at = (double)update, top = s->rise - 1, end = (double)(s->updates - 1);
    if (at < top)
        return cosine_between(s->lr / first_divisor, s->lr, at / top);
    return at > top ? cosine_between(s->lr, s->min_lr, (at - top) / (end - top)) : s->lr;
}

static const struct lr_shape shapes[] = {
    {"constant", 0, constant},
    {"step", TAKES_DECAY_RATE | TAKES_DECAY_EPOCHS, step},
    {"multistep", TAKES_DECAY_RATE | TAKES_MILESTONES, multistep},
    {"cosine", TAKES_MIN_LR | LOOKS_AT_THE_END, cosine},
    {"onecycle", TAKES_MIN_LR | RISES_ITSELF | LOOKS_AT_THE_END, onecycle},
};

double lr_at(const struct lr_schedule *s, int64_t epoch, int64_t update) {
    if (update < s->warmup)
        return s->lr * (double)(update + 1) / (double)s->warmup;
    return s->shape->at(s, epoch, update);
}

/* ---- from options --------------------------------------------------------------------------- */

/* Options that one shape needs and the others have no use for. */
static neap_error *check_taken(const struct lr_shape *shape, unsigned trait, bool given,
                               bool needed, const char *option) {
    bool takes = shape->traits & trait;
    if (given && !takes)
        return error_make(NEAP_ERROR_USAGE, "--sched %s has no use for %s", shape->name, option);
    if (takes && needed && !given)
        return error_make(NEAP_ERROR_USAGE, "--sched %s needs %s", shape->name, option);
    return NULL;
}

static neap_error *check_options(const struct neap_options *o, const struct lr_shape *shape) {
    TRY(check_taken(shape, TAKES_MIN_LR, o->min_lr >= 0, false, "--min-lr"));
    TRY(check_taken(shape, TAKES_DECAY_RATE, o->decay_rate >= 0, false, "--decay-rate"));
    TRY(check_taken(shape, TAKES_DECAY_EPOCHS, o->decay_epochs != 0, true, "--decay-epochs"));
    TRY(check_taken(shape, TAKES_MILESTONES, o->decay_milestones, true, "--decay-milestones"));
    if (o->decay_epochs < 0 || (o->decay_epochs && o->decay_epochs >= o->epochs))
        return error_make(NEAP_ERROR_USAGE,
                          "a step every %lld epochs: in %lld epochs there would be none",
                          (long long)o->decay_epochs, (long long)o->epochs);
    if (o->min_lr > o->lr)
        return error_make(NEAP_ERROR_USAGE, "--min-lr %g is above --lr %g", o->min_lr, o->lr);
    if (!(o->warmup_epochs >= 0) || o->warmup_epochs > (double)o->epochs)
        return error_make(NEAP_ERROR_USAGE, "%g epochs of warm-up in a run of %lld",
                          o->warmup_epochs, (long long)o->epochs);
    return NULL;
}

/* "30,60": epochs of the run, rising. */
static neap_error *read_milestones(const struct neap_options *o, struct lr_schedule *s) {
    const char *at = o->decay_milestones;
    while (at) {
        char *end = NULL;
        errno = 0;
        long long epoch = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : 0;
        if (!end || (*end && *end != ',') || errno)
            return error_make(NEAP_ERROR_USAGE,
                              "milestones '%s': epochs in whole numbers, separated by commas",
                              o->decay_milestones);
        int64_t before = s->n_milestones ? s->milestones[s->n_milestones - 1] : 0;
        if (epoch <= before || epoch >= o->epochs)
            return error_make(NEAP_ERROR_USAGE,
                              "milestones '%s': %lld is not above %lld and below the %lld epochs "
                              "of the run",
                              o->decay_milestones, epoch, (long long)before, (long long)o->epochs);
        if (s->n_milestones == LR_MILESTONES)
            return error_make(NEAP_ERROR_USAGE, "more than %d milestones", LR_MILESTONES);
        s->milestones[s->n_milestones++] = epoch;
        at = *end ? end + 1 : NULL;
    }
    return NULL;
}

static const struct lr_shape *find_shape(const char *name) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, name))
            return &shapes[i];
    return NULL;
}

void lr_complete(struct neap_options *o) {
    const struct lr_shape *shape = find_shape(o->schedule);
    if (!shape)
        return;
    if (shape->traits & TAKES_MIN_LR && !(o->min_lr >= 0))
        o->min_lr = shape->traits & RISES_ITSELF ? o->lr / last_divisor : 0;
    if (shape->traits & TAKES_DECAY_RATE && !(o->decay_rate >= 0))
        o->decay_rate = default_decay_rate;
}

bool lr_looks_at_the_end(const struct neap_options *o) {
    const struct lr_shape *shape = find_shape(o->schedule);
    return shape && shape->traits & LOOKS_AT_THE_END;
}

neap_error *lr_schedule_of(const struct neap_options *o, const struct calendar *calendar,
                           int64_t updates, struct lr_schedule *out) {
    const struct lr_shape *shape = find_shape(o->schedule);
    if (!shape)
        return error_make(NEAP_ERROR_USAGE,
                          "unknown schedule '%s': there are constant, step, multistep, cosine and "
                          "onecycle",
                          o->schedule);
    TRY(check_options(o, shape));
    bool rises = shape->traits & RISES_ITSELF;
    int64_t warmup = calendar_updates_before(calendar, o->warmup_epochs);
    *out = (struct lr_schedule){.shape = shape,
                                .lr = o->lr,
                                .min_lr = o->min_lr,
                                .decay_rate = o->decay_rate,
                                .rise = o->warmup_epochs > 0 ? (double)warmup
                                                             : rising_part * (double)updates,
                                .warmup = rises ? 0 : warmup,
                                .updates = updates,
                                .decay_epochs = o->decay_epochs};
    return read_milestones(o, out);
}
