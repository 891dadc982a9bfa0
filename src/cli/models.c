/* `neap models`: the zoo. */
#include "cli/cli.h"

#include <string.h>

bool model_find(const char *name) {
    const struct neap_model_info *model;
    for (size_t i = 0; (model = neap_model_at(i)); i++)
        if (!strcmp(model->name, name))
            return true;
    return false;
}

int model_unknown(const char *name, const char *what) {
    struct nearest nearest = nearest_start(name);
    const struct neap_model_info *model;
    for (size_t i = 0; (model = neap_model_at(i)); i++)
        nearest_offer(&nearest, model->name);
    return fail(NEAP_ERROR_MODEL, "'%s' is %s%s: see 'neap models'", name, what,
                nearest_text(&nearest, "").s);
}

int command_models(struct settings *settings) {
    const struct neap_model_info *model;
    struct emit out = {.file = stdout};
    if (settings->json) {
        emit_open(&out, NULL, '{');
        emit_open(&out, "models", '[');
    } else {
        printf("%-14s %-12s %8s  %s\n", "model", "input", "classes", "summary");
    }
    for (size_t i = 0; (model = neap_model_at(i)); i++) {
        if (!settings->json) {
            int64_t dims[] = {model->channels, model->image_size, model->image_size};
            printf("%-14s %-12s %8lld  %s\n", model->name, dims_text(3, dims).s,
                   (long long)model->num_classes, model->summary);
            continue;
        }
        emit_open(&out, NULL, '{');
        emit_string(&out, "name", model->name);
        emit_string(&out, "summary", model->summary);
        emit_integer(&out, "channels", model->channels);
        emit_integer(&out, "image_size", model->image_size);
        emit_integer(&out, "num_classes", model->num_classes);
        emit_close(&out, '}');
    }
    if (settings->json) {
        emit_close(&out, ']');
        emit_close(&out, '}');
    }
    return NEAP_OK;
}
