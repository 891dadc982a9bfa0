/* Recorded options: see recorded.h. A new option of `train` that changes a bit of the result gets a
 * row in the table; tests/cli/resume.sh knows the others. */
#include "train/recorded.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(name, type, member)                                                                  \
    { name, JSON_FIELD_##type, offsetof(struct neap_options, member) }

/* By the command's names for them. */
const struct json_field recorded_options[] = {
    FIELD("model", TEXT, model),
    FIELD("num-classes", INTEGER, num_classes),
    FIELD("img-size", INTEGER, img_size),
    FIELD("dropout", REAL, dropout),
    FIELD("batch", INTEGER, batch),
    FIELD("micro-batch", INTEGER, micro_batch),
    FIELD("grad-accum-steps", INTEGER, grad_accum_steps),
    FIELD("precision", TEXT, precision),
    FIELD("opt", TEXT, optimizer),
    FIELD("lr", REAL, lr),
    FIELD("momentum", REAL, momentum),
    FIELD("nesterov", FLAG, nesterov),
    FIELD("weight-decay", REAL, weight_decay),
    FIELD("beta1", REAL, beta1),
    FIELD("beta2", REAL, beta2),
    FIELD("eps", REAL, eps),
    FIELD("sched", TEXT, schedule),
    FIELD("min-lr", REAL, min_lr),
    FIELD("warmup-epochs", REAL, warmup_epochs),
    FIELD("data", TEXT, data),
    FIELD("val-data", TEXT, val_data),
    FIELD("data-format", TEXT, data_format),
    FIELD("normalize", TEXT, normalize),
    FIELD("shuffle", FLAG, shuffle),
    FIELD("pretrained", TEXT, pretrained),
    FIELD("seed", SEED, seed),
};
const size_t n_recorded_options = sizeof recorded_options / sizeof *recorded_options;

void recorded_keep(struct neap_options *options, const struct neap_options *recorded) {
    if (options->batch == NEAP_BATCH_MAX)
        options->batch = recorded->batch;
    if (options->micro_batch == NEAP_MICRO_BATCH_AUTO)
        options->micro_batch = recorded->micro_batch;
}

/* ---- comparing: as text, for the error needs that too ---------------------------------------- */

static neap_error *integer_text(const void *at, struct pool *pool, const char **out) {
    int64_t value = *(const int64_t *)at;
    return value ? pool_format(pool, out, "%lld", (long long)value)
                 : pool_string(pool, "none", out);
}

static neap_error *seed_text(const void *at, struct pool *pool, const char **out) {
    return pool_format(pool, out, "%llu", (unsigned long long)*(const uint64_t *)at);
}

static neap_error *real_text(const void *at, struct pool *pool, const char **out) {
    double value = *(const double *)at;
    TRY(pool_format(pool, out, "%.15g", value));
    return strtod(*out, NULL) == value ? NULL : pool_format(pool, out, "%.17g", value);
}

static neap_error *flag_text(const void *at, struct pool *pool, const char **out) {
    return pool_string(pool, *(const bool *)at ? "on" : "off", out);
}

static neap_error *text_text(const void *at, struct pool *pool, const char **out) {
    const char *text = *(const char *const *)at;
    return pool_string(pool, text ? text : "none", out);
}

static neap_error *(*const texts[])(const void *at, struct pool *pool, const char **out) = {
    [JSON_FIELD_INTEGER] = integer_text, [JSON_FIELD_SEED] = seed_text,
    [JSON_FIELD_REAL] = real_text,       [JSON_FIELD_FLAG] = flag_text,
    [JSON_FIELD_TEXT] = text_text,
};

/* Adds "; --lr is 0.1, recorded 0.05" where they differ. */
static neap_error *compare_field(const struct json_field *field, const struct neap_options *options,
                                 const struct neap_options *recorded, struct pool *pool,
                                 const char **differences) {
    const char *now, *before;
    TRY(texts[field->type]((const char *)options + field->offset, pool, &now));
    TRY(texts[field->type]((const char *)recorded + field->offset, pool, &before));
    if (!strcmp(now, before))
        return NULL;
    return pool_format(pool, differences, "%s%s--%s is %s, recorded %s", *differences,
                       **differences ? "; " : "", field->name, now, before);
}

neap_error *recorded_compare(const struct neap_options *options,
                             const struct neap_options *recorded, const char *checkpoint) {
    struct pool pool = {0};
    const char *differences = "";
    neap_error *error = NULL;
    for (size_t i = 0; i < n_recorded_options && !error; i++)
        error = compare_field(&recorded_options[i], options, recorded, &pool, &differences);
    if (!error && *differences)
        error = error_make(NEAP_ERROR_USAGE,
                           "cannot resume '%s': %s; a run of its own can start from its weights: "
                           "--pretrained %s/model.safetensors",
                           checkpoint, differences, checkpoint);
    pool_free(&pool);
    return error;
}
