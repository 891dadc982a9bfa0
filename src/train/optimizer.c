/* Optimizers by name: see optimizer.h. To add one: its op, and a row in the table. */
#include "train/optimizer.h"

#include <string.h>

#include "ops/adam.h"
#include "ops/sgd.h"

/* A number below 0 is not set. */
static double own(double given, double unset) {
    return given < 0 ? unset : given;
}

static uint32_t fill_sgd(const struct neap_options *o, double weight_decay, void *attrs) {
    double momentum = own(o->momentum, 0.9);
    *(struct sgd_attrs *)attrs = (struct sgd_attrs){
        .momentum = momentum, .weight_decay = weight_decay, .nesterov = o->nesterov};
    return momentum != 0;
}

static uint32_t fill_adam(const struct neap_options *o, double weight_decay, void *attrs) {
    *(struct adam_attrs *)attrs = (struct adam_attrs){.beta1 = own(o->beta1, 0.9),
                                                      .beta2 = own(o->beta2, 0.999),
                                                      .eps = own(o->eps, 1e-8),
                                                      .weight_decay = weight_decay};
    return 2;
}

static uint32_t fill_adamw(const struct neap_options *o, double weight_decay, void *attrs) {
    fill_adam(o, weight_decay, attrs);
    ((struct adam_attrs *)attrs)->decoupled = true;
    return 2;
}

/* The names of the states are PyTorch's. */
static const struct optimizer {
    const char *name;
    const struct op_def *op;
    /* The number of states. */
    uint32_t (*fill)(const struct neap_options *o, double weight_decay, void *attrs);
    const char *states[2];
} optimizers[] = {
    {"sgd", &op_sgd, fill_sgd, {"momentum_buffer"}},
    {"adam", &op_adam, fill_adam, {"exp_avg", "exp_avg_sq"}},
    {"adamw", &op_adam, fill_adamw, {"exp_avg", "exp_avg_sq"}},
};

/* Options that the optimizer would ignore. */
static neap_error *check_options(const struct neap_options *o, const struct optimizer *optimizer) {
    bool sgd = optimizer->op == &op_sgd;
    const struct {
        const char *name;
        bool given, of_sgd;
    } own_options[] = {
        {"--momentum", o->momentum >= 0, true},
        {"--beta1", o->beta1 >= 0, false},
        {"--beta2", o->beta2 >= 0, false},
        {"--eps", o->eps >= 0, false},
    };
    for (size_t i = 0; i < sizeof own_options / sizeof *own_options; i++)
        if (own_options[i].given && own_options[i].of_sgd != sgd)
            return error_make(NEAP_ERROR_USAGE, "%s has no use for %s", optimizer->name,
                              own_options[i].name);
    if (o->nesterov && (!sgd || o->momentum == 0))
        return error_make(NEAP_ERROR_USAGE, "nesterov needs sgd with momentum");
    if (!o->decay_norms && o->weight_decay == 0)
        return error_make(NEAP_ERROR_USAGE,
                          "--no-decay-norms: without --weight-decay nothing decays");
    return NULL;
}

neap_error *optimizer_of(const struct neap_options *o, struct optimizer_attrs *attrs,
                         struct update_options *out) {
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        const struct optimizer *optimizer = &optimizers[i];
        if (strcmp(optimizer->name, o->optimizer))
            continue;
        memset(attrs, 0, sizeof *attrs);
        out->op = optimizer->op;
        out->attrs = attrs->bytes;
        out->attrs_of_vectors = attrs->of_vectors;
        out->n_states = optimizer->fill(o, o->weight_decay, attrs->bytes);
        optimizer->fill(o, o->decay_norms ? o->weight_decay : 0, attrs->of_vectors);
        out->state_names = optimizer->states;
        return check_options(o, optimizer);
    }
    return error_make(NEAP_ERROR_USAGE, "unknown optimizer '%s': there are sgd, adam and adamw",
                      o->optimizer);
}
