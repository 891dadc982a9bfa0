/* `neap inspect`: the layer table of a model, or what a file is. */
#include "cli/cli.h"

#include <string.h>
#include <sys/stat.h>

static const char *fate(const struct neap_layer *layer, char *text, size_t size) {
    if (layer->recomputed > 0)
        snprintf(text, size, "recomputed x%lld", (long long)layer->recomputed);
    else
        snprintf(text, size, "%s", layer->kept ? "kept" : "-");
    return text;
}

static void layers_print(const neap_plan *plan) {
    const struct neap_layer *layers;
    size_t n_layers = neap_plan_layers(plan, &layers);
    const struct neap_plan_report *report = neap_plan_get_report(plan);
    int64_t parameters = 0, bytes = 0;
    double flops = 0;
    int width = 5;
    for (size_t i = 0; i < n_layers; i++)
        width = (int)strlen(layers[i].name) > width ? (int)strlen(layers[i].name) : width;
    printf("%-*s %-16s %-16s %14s %12s %11s  %s\n", width, "layer", "op", "output", "parameters",
           "MFLOPs", "bytes", "forward to backward");
    for (size_t i = 0; i < n_layers; i++) {
        const struct neap_layer *layer = &layers[i];
        char text[32];
        printf("%-*s %-16s %-16s %14s %12.2f %11s  %s\n", width, layer->name, layer->op,
               dims_text(layer->rank, layer->dims).s, count_text(layer->parameters).s,
               layer->flops / 1e6, bytes_text(layer->bytes).s, fate(layer, text, sizeof text));
        parameters += layer->parameters;
        bytes += layer->bytes;
        flops += layer->flops;
    }
    printf("%-*s %-16s %-16s %14s %12.2f %11s\n\n", width, "total", "", "",
           count_text(parameters).s, flops / 1e6, bytes_text(bytes).s);
    printf("batch %lld: peak %s, arena %s (store-all: %s, %s), %s ops recomputed\n",
           (long long)report->batch, bytes_text(report->plan.peak_bytes).s,
           bytes_text(report->plan.arena_bytes).s, bytes_text(report->store_all.peak_bytes).s,
           bytes_text(report->store_all.arena_bytes).s, count_text(report->recomputed_ops).s);
}

static void layers_json(const neap_plan *plan) {
    const struct neap_layer *layers;
    size_t n_layers = neap_plan_layers(plan, &layers);
    struct emit out = {.file = stdout};
    emit_open(&out, NULL, '{');
    emit_string(&out, "model", neap_plan_get_report(plan)->model);
    emit_integer(&out, "batch", neap_plan_get_report(plan)->batch);
    emit_open(&out, "layers", '[');
    for (size_t i = 0; i < n_layers; i++) {
        const struct neap_layer *layer = &layers[i];
        emit_open(&out, NULL, '{');
        emit_string(&out, "name", layer->name);
        emit_string(&out, "op", layer->op);
        emit_open(&out, "shape", '[');
        for (int axis = 0; axis < layer->rank; axis++)
            emit_integer(&out, NULL, layer->dims[axis]);
        emit_close(&out, ']');
        emit_integer(&out, "parameters", layer->parameters);
        emit_real(&out, "flops", layer->flops);
        emit_integer(&out, "bytes", layer->bytes);
        emit_bool(&out, "kept", layer->kept);
        emit_integer(&out, "recomputed", layer->recomputed);
        emit_close(&out, '}');
    }
    emit_close(&out, ']');
    emit_close(&out, '}');
}

static int inspect_model(struct settings *settings) {
    struct neap_options options = settings->run;
    options.model = settings->operand;
    neap_plan *plan = NULL;
    neap_error *error = neap_plan_create(&options, &plan);
    if (plan && !error)
        (settings->json ? layers_json : layers_print)(plan);
    neap_plan_free(plan);
    return fail_with(error);
}

/* Options of a model say nothing about a file; one that is given is an error. */
static int inspect_file(const struct settings *settings) {
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (option_source(settings, option) != FROM_DEFAULT && option->letter != 'q' &&
            option->letter != 'v')
            return fail(NEAP_ERROR_USAGE, "'--%s' is for models, and '%s' is a file", option->name,
                        settings->operand);
    return fail_with(neap_inspect_file(settings->operand, stdout));
}

int command_inspect(struct settings *settings) {
    const char *name = settings->operand, *dot = strrchr(name, '.');
    if (model_find(name) || (dot && !strcmp(dot, ".neap")))
        return inspect_model(settings);
    struct stat status;
    if (!stat(name, &status) || strpbrk(name, "./"))
        return inspect_file(settings);
    return model_unknown(name, "neither a model nor a file");
}
