/* Checkpoints: see checkpoint.h. */
#include "train/checkpoint.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/digits.h"
#include "base/folder.h"
#include "train/recorded.h"
#include "train/weights.h"

static const char format[] = "neap-checkpoint/1";

/* ---- state.json ----------------------------------------------------------------------------- */

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

static const struct json_field position_fields[] = {
    JSON_FIELD("update", training_position, update),
    JSON_FIELD("epoch", training_position, epoch),
    JSON_FIELD("samples", training_position, samples),
    JSON_FIELD("update_in_epoch", training_position, update_in_epoch),
    JSON_FIELD("counted", training_position, counted),
    JSON_FIELD("loss_sum", training_position, loss),
    JSON_FIELD("top1_sum", training_position, top1),
    JSON_FIELD("skipped", training_position, skipped),
    JSON_FIELD("skipped_in_a_row", training_position, skipped_in_a_row),
    JSON_FIELD("lr", training_position, lr),
    JSON_FIELD("epoch_seconds", training_position, epoch_seconds),
    JSON_FIELD("seconds", training_position, seconds),
    JSON_FIELD("metrics_bytes", training_position, metrics_bytes),
};
static const struct json_field scaler_fields[] = {
    JSON_FIELD("scale", loss_scaler, scale),
    JSON_FIELD("good_updates", loss_scaler, good_updates),
};
static const struct json_field best_fields[] = {
    JSON_FIELD("update", training_best, update),
    JSON_FIELD("eval_loss", training_best, loss),
    JSON_FIELD("eval_top1", training_best, top1),
};
static const struct json_field made_fields[] = {
    JSON_FIELD("neap", training_state, made.neap),
    JSON_FIELD("threads", training_state, made.threads),
    JSON_FIELD("samples", training_state, made.samples),
    JSON_FIELD("updates", training_state, made.updates),
};
static const struct json_field file_fields[] = {
    JSON_FIELD("bytes", checkpoint_file, size_bytes),
    JSON_FIELD("crc32c", checkpoint_file, crc32c),
};

enum { N_GROUPS = 7 };
struct groups {
    struct json_group at[N_GROUPS];
};

static struct groups groups_of(struct training_state *s) {
    return (struct groups){{
        {"position", position_fields, COUNT(position_fields), &s->position},
        {"loss_scaler", scaler_fields, COUNT(scaler_fields), &s->scaler},
        {"best", best_fields, COUNT(best_fields), &s->best},
        {"options", recorded_options, n_recorded_options, &s->options},
        {"made", made_fields, COUNT(made_fields), s},
        {"model.safetensors", file_fields, COUNT(file_fields), &s->model},
        {"optimizer.safetensors", file_fields, COUNT(file_fields), &s->optimizer},
    }};
}

/* ---- the tensors ---------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    enum weights_kinds kinds;
    size_t offset; /* of its struct checkpoint_file in the state */
} parts[] = {
    {"model.safetensors", WEIGHTS_OF_MODEL, offsetof(struct training_state, model)},
    {"optimizer.safetensors", WEIGHTS_OF_OPTIMIZER, offsetof(struct training_state, optimizer)},
};

static struct checkpoint_file *file_of(struct training_state *state, const struct part *part) {
    return (struct checkpoint_file *)((char *)state + part->offset);
}

static neap_error *write_part(const struct part *part, const char *path, const struct store *store,
                              struct training_state *state) {
    struct checkpoint_file *file = file_of(state, part);
    TRY(weights_save(store, part->kinds, path));
    return crc32c_file(path, NEAP_ERROR_RUNTIME, &file->size_bytes, &file->crc32c);
}

static neap_error *check_part(const struct part *part, const char *path,
                              struct training_state *state) {
    const struct checkpoint_file *promised = file_of(state, part);
    struct checkpoint_file found;
    TRY(crc32c_file(path, NEAP_ERROR_DATA, &found.size_bytes, &found.crc32c));
    if (found.size_bytes != promised->size_bytes)
        return error_make(NEAP_ERROR_DATA, "%s: %s bytes, state.json promises %s", path,
                          digits_of(found.size_bytes).text, digits_of(promised->size_bytes).text);
    if (found.crc32c != promised->crc32c)
        return error_make(NEAP_ERROR_DATA, "%s: its checksum is wrong", path);
    return NULL;
}

/* ---- together ------------------------------------------------------------------------------- */

neap_error *checkpoint_write(const char *folder, const struct store *store,
                             struct training_state *state) {
    char *path;
    for (size_t i = 0; i < COUNT(parts); i++) {
        TRY(memory_format(&path, "%s/%s", folder, parts[i].name));
        neap_error *error = write_part(&parts[i], path, store, state);
        free(path);
        if (error)
            return error;
    }
    struct groups groups = groups_of(state);
    TRY(memory_format(&path, "%s/state.json", folder));
    neap_error *error = fields_json_save(path, format, groups.at, N_GROUPS);
    free(path);
    folder_sync(folder);
    return error;
}

neap_error *checkpoint_read(const char *folder, struct pool *pool, struct training_state *state) {
    char *path;
    *state = (struct training_state){0};
    neap_options_default(&state->options);
    struct groups groups = groups_of(state);
    TRY(memory_format(&path, "%s/state.json", folder));
    neap_error *error = fields_json_load(path, format, groups.at, N_GROUPS, pool);
    free(path);
    for (size_t i = 0; i < COUNT(parts) && !error; i++) {
        TRY(memory_format(&path, "%s/%s", folder, parts[i].name));
        error = check_part(&parts[i], path, state);
        free(path);
    }
    return error;
}

neap_error *checkpoint_load(const char *folder, struct store *store) {
    for (size_t i = 0; i < COUNT(parts); i++) {
        char *path;
        TRY(memory_format(&path, "%s/%s", folder, parts[i].name));
        neap_error *error = weights_load(store, parts[i].kinds, path);
        free(path);
        TRY(error);
    }
    return NULL;
}
