/* Optimizers by name: see optimizer.h. To add one: its op, and a row in the table. */
#include "train/optimizer.h"

#include <string.h>

#include "ops/adam.h"
#include "ops/sgd.h"

static uint32_t fill_sgd(const struct neap_options *o, double weight_decay, void *attrs) {
    *(struct sgd_attrs *)attrs = (struct sgd_attrs){
        .momentum = o->momentum, .weight_decay = weight_decay, .nesterov = o->nesterov};
    return o->momentum != 0;
}

static uint32_t fill_adam(const struct neap_options *o, double weight_decay, void *attrs) {
    *(struct adam_attrs *)attrs = (struct adam_attrs){
        .beta1 = o->beta1, .beta2 = o->beta2, .eps = o->eps, .weight_decay = weight_decay};
    return 2;
}

static uint32_t fill_adamw(const struct neap_options *o, double weight_decay, void *attrs) {
    fill_adam(o, weight_decay, attrs);
    ((struct adam_attrs *)attrs)->decoupled = true;
    return 2;
}

static uint32_t fill_none(const struct neap_options *o, double weight_decay, void *attrs) {
    (void)o, (void)weight_decay, (void)attrs;
    return 0;
}

/* Numbers that only some optimizers have. */
enum { N_OWN = 4 };
static const struct {
    const char *option;
    size_t offset;
} own[N_OWN] = {
    {"--momentum", offsetof(struct neap_options, momentum)},
    {"--beta1", offsetof(struct neap_options, beta1)},
    {"--beta2", offsetof(struct neap_options, beta2)},
    {"--eps", offsetof(struct neap_options, eps)},
};

/* The names of the states are PyTorch's. */
static const struct optimizer {
    const char *name;
    const struct op_def *op; /* NULL: gradients alone, which nothing clears */
    /* The number of states. */
    uint32_t (*fill)(const struct neap_options *o, double weight_decay, void *attrs);
    const char *states[2];
    double unset[N_OWN]; /* what they are unless the options say; < 0: it has none */
} optimizers[] = {
    {"sgd", &op_sgd, fill_sgd, {"momentum_buffer"}, {0.9, -1, -1, -1}},
    {"adam", &op_adam, fill_adam, {"exp_avg", "exp_avg_sq"}, {-1, 0.9, 0.999, 1e-8}},
    {"adamw", &op_adam, fill_adamw, {"exp_avg", "exp_avg_sq"}, {-1, 0.9, 0.999, 1e-8}},
    {"none", NULL, fill_none, {NULL}, {-1, -1, -1, -1}},
};

static neap_error *find(const char *name, const struct optimizer **out) {
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        *out = &optimizers[i];
        if (!strcmp(optimizers[i].name, name))
            return NULL;
    }
    return error_make(NEAP_ERROR_USAGE,
                      "unknown optimizer '%s': there are sgd, adam, adamw and none", name);
}

neap_error *optimizer_complete(struct neap_options *o) {
    const struct optimizer *optimizer;
    TRY(find(o->optimizer, &optimizer));
    for (int i = 0; i < N_OWN; i++) {
        double *number = (double *)((char *)o + own[i].offset);
        if (*number >= 0 && optimizer->unset[i] < 0)
            return error_make(NEAP_ERROR_USAGE, "the optimizer %s has no use for %s",
                              optimizer->name, own[i].option);
        if (!(*number >= 0))
            *number = optimizer->unset[i];
    }
    if (o->nesterov && !(o->momentum > 0))
        return error_make(NEAP_ERROR_USAGE, "nesterov needs sgd with momentum");
    if (!o->decay_norms && o->weight_decay == 0)
        return error_make(NEAP_ERROR_USAGE,
                          "--no-decay-norms: without --weight-decay nothing decays");
    return NULL;
}

neap_error *optimizer_of(const struct neap_options *o, struct optimizer_attrs *attrs,
                         struct update_options *out) {
    const struct optimizer *optimizer;
    TRY(find(o->optimizer, &optimizer));
    memset(attrs, 0, sizeof *attrs);
    out->op = optimizer->op;
    out->attrs = attrs->bytes;
    out->attrs_of_vectors = attrs->of_vectors;
    out->n_states = optimizer->fill(o, o->weight_decay, attrs->bytes);
    optimizer->fill(o, o->decay_norms ? o->weight_decay : 0, attrs->of_vectors);
    out->state_names = optimizer->states;
    return NULL;
}

neap_error *optimizer_check_updates(const struct neap_options *o) {
    if (strcmp(o->optimizer, "none"))
        return NULL;
    return error_make(NEAP_ERROR_USAGE, "the optimizer 'none' is for planning and measuring: it "
                                        "leaves every weight as it is");
}
