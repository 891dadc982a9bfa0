/* Optimizers by name: see optimizer.h. To add one: its op, and a row in the table. */
#include "train/optimizer.h"

#include <string.h>

#include "ops/adam.h"
#include "ops/sgd.h"

static uint32_t fill_sgd(const struct neap_options *o, void *attrs) {
    *(struct sgd_attrs *)attrs = (struct sgd_attrs){
        .momentum = o->momentum, .weight_decay = o->weight_decay, .nesterov = o->nesterov};
    return o->momentum != 0;
}

static uint32_t fill_adam(const struct neap_options *o, void *attrs) {
    *(struct adam_attrs *)attrs = (struct adam_attrs){
        .beta1 = o->beta1, .beta2 = o->beta2, .eps = o->eps, .weight_decay = o->weight_decay};
    return 2;
}

static uint32_t fill_adamw(const struct neap_options *o, void *attrs) {
    fill_adam(o, attrs);
    ((struct adam_attrs *)attrs)->decoupled = true;
    return 2;
}

static uint32_t fill_none(const struct neap_options *o, void *attrs) {
    (void)o, (void)attrs;
    return 0;
}

/* The names of the states are PyTorch's. */
static const struct optimizer {
    const char *name;
    const struct op_def *op; /* NULL: gradients alone, which nothing clears */
    uint32_t (*fill)(const struct neap_options *o, void *attrs); /* the number of states */
    const char *states[2];
} optimizers[] = {
    {"sgd", &op_sgd, fill_sgd, {"momentum_buffer"}},
    {"adam", &op_adam, fill_adam, {"exp_avg", "exp_avg_sq"}},
    {"adamw", &op_adam, fill_adamw, {"exp_avg", "exp_avg_sq"}},
    {"none", NULL, fill_none, {NULL}},
};

neap_error *optimizer_of(const struct neap_options *o, struct optimizer_attrs *attrs,
                         struct update_options *out) {
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        const struct optimizer *optimizer = &optimizers[i];
        if (strcmp(optimizer->name, o->optimizer))
            continue;
        memset(attrs, 0, sizeof *attrs);
        out->op = optimizer->op;
        out->attrs = attrs->bytes;
        out->n_states = optimizer->fill(o, attrs->bytes);
        out->state_names = optimizer->states;
        if (o->nesterov && (optimizer->op != &op_sgd || o->momentum == 0))
            return error_make(NEAP_ERROR_USAGE, "nesterov needs sgd with momentum");
        return NULL;
    }
    return error_make(NEAP_ERROR_USAGE,
                      "unknown optimizer '%s': there are sgd, adam, adamw and none", o->optimizer);
}

neap_error *optimizer_check_updates(const struct neap_options *o) {
    if (strcmp(o->optimizer, "none"))
        return NULL;
    return error_make(NEAP_ERROR_USAGE, "the optimizer 'none' is for planning and measuring: it "
                                        "leaves every weight as it is");
}
