/* Recorded options: see recorded.h. A new option of `train` that changes a bit of the result gets a
 * row in the table; tests/cli/resume.sh knows the others. */
#include "train/recorded.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(name, member) JSON_FIELD(name, neap_options, member)

/* By the command's names for them. */
const struct json_field recorded_options[] = {
    FIELD("model", model),
    FIELD("num-classes", num_classes),
    FIELD("img-size", img_size),
    FIELD("dropout", dropout),
    FIELD("batch", batch),
    FIELD("micro-batch", micro_batch),
    FIELD("grad-accum-steps", grad_accum_steps),
    FIELD("precision", precision),
    FIELD("loss-scale", loss_scale),
    FIELD("opt", optimizer),
    FIELD("lr", lr),
    FIELD("momentum", momentum),
    FIELD("nesterov", nesterov),
    FIELD("weight-decay", weight_decay),
    FIELD("decay-norms", decay_norms),
    FIELD("clip-grad", clip_grad),
    FIELD("label-smoothing", label_smoothing),
    FIELD("beta1", beta1),
    FIELD("beta2", beta2),
    FIELD("eps", eps),
    FIELD("sched", schedule),
    FIELD("min-lr", min_lr),
    FIELD("warmup-epochs", warmup_epochs),
    FIELD("decay-rate", decay_rate),
    FIELD("decay-epochs", decay_epochs),
    FIELD("decay-milestones", decay_milestones),
    FIELD("data", data),
    FIELD("val-data", val_data),
    FIELD("data-format", data_format),
    FIELD("normalize", normalize),
    FIELD("rotate", rotate),
    FIELD("random-crop", random_crop),
    FIELD("random-resized-crop: least scale", random_resized_crop.scale[0]),
    FIELD("random-resized-crop: most scale", random_resized_crop.scale[1]),
    FIELD("random-resized-crop: least ratio", random_resized_crop.ratio[0]),
    FIELD("random-resized-crop: most ratio", random_resized_crop.ratio[1]),
    FIELD("hflip", hflip),
    FIELD("skip-bad", skip_bad),
    FIELD("shuffle", shuffle),
    FIELD("pretrained", pretrained),
    FIELD("seed", seed),
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
    return value < 0 ? pool_string(pool, "none", out)
                     : pool_format(pool, out, "%lld", (long long)value);
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
