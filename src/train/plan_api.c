/* The public face of a plan: made, reported and saved; and the compiler's stages without one. */
#include <string.h>

#include "train/layers.h"
#include "train/session.h"

neap_error *neap_plan_create(const struct neap_options *options, neap_plan **out) {
    const struct session_request request = {.options = options, .advise = true};
    neap_error *error = session_create(&request, out);
    if (*out)
        error = error_first(error, layers_list(*out));
    return error;
}

const struct neap_plan_report *neap_plan_get_report(const neap_plan *plan) {
    return &plan->report;
}

size_t neap_plan_layers(const neap_plan *plan, const struct neap_layer **layers) {
    *layers = plan->layers;
    return plan->n_layers;
}

neap_error *neap_plan_save(const neap_plan *plan, const char *path) {
    struct plan_json json = session_describe(plan, plan->step);
    json.arena_bytes = plan->plan.arena_bytes;
    json.live_peak_bytes = plan->plan.measure.peak_bytes;
    json.schedule = &plan->plan.schedule;
    json.lives = &plan->plan.lives;
    return plan_json_save(&json, path);
}

/* ---- stages --------------------------------------------------------------------------------- */

const char *neap_stage_at(size_t index) {
    return compile_stage(index);
}

static neap_error *check_stage(const char *stage) {
    char names[256] = "";
    for (size_t i = 0; compile_stage(i); i++) {
        if (!strcmp(compile_stage(i), stage))
            return NULL;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", compile_stage(i));
    }
    return error_make(NEAP_ERROR_USAGE, "unknown stage '%s': there are %s", stage, names);
}

struct dump {
    const char *stage;
    FILE *file;
    neap_error *error;
};

static bool dump_stage(void *user, const char *stage, const neap_graph *g) {
    struct dump *dump = user;
    if (strcmp(stage, dump->stage))
        return true;
    dump->error = graph_write_text(g, dump->file);
    return false;
}

neap_error *neap_stage_dump(const struct neap_options *options, const char *stage, FILE *file) {
    struct dump dump = {stage, file, NULL};
    TRY(check_stage(stage));
    return error_first(session_dump(options, dump_stage, &dump), dump.error);
}
