/* Finding and building zoo models: see models.h. */
#include "models/models.h"

#include <string.h>

static const struct {
    struct neap_model_info info;
    void (*build)(neap_graph *g, const struct model_spec *spec);
} models[] = {
#define MODEL(name, channels, image_size, num_classes, summary)                                    \
    {{#name, summary, channels, image_size, num_classes}, model_##name},
#include "models/models.def"
#undef MODEL
};
enum { N_MODELS = sizeof models / sizeof *models };

const struct neap_model_info *neap_model_at(size_t index) {
    return index < N_MODELS ? &models[index].info : NULL;
}

neap_value model_images(neap_graph *g, const struct model_spec *spec) {
    const int64_t dims[] = {spec->batch, spec->channels, spec->image_size, spec->image_size};
    return neap_input(g, "images", NEAP_F32, 4, dims);
}

static neap_error *build(size_t index, const struct model_spec *spec, neap_graph **out) {
    neap_graph *g;
    TRY(neap_graph_create(models[index].info.name, &g));
    models[index].build(g, spec);
    neap_error *error = neap_graph_check(g);
    if (error)
        neap_graph_free(g);
    else
        *out = g;
    return error;
}

static bool builds(size_t index, struct model_spec spec, int64_t image_size) {
    neap_graph *g = NULL;
    spec.image_size = image_size;
    neap_error *error = build(index, &spec, &g);
    neap_error_free(error);
    neap_graph_free(g);
    return !error;
}

/* Where images of another size would do: the least larger one. Most networks take any from some
 * size on, those of cells multiples of 4. */
static neap_error *explain_size(size_t index, const struct model_spec *spec, neap_error *error) {
    int64_t size = spec->image_size, would_do = size + 1, own = models[index].info.image_size;
    if (neap_error_code(error) != NEAP_ERROR_MODEL)
        return error;
    while (would_do < size + own && !builds(index, *spec, would_do))
        would_do++;
    if (would_do == size + own)
        return error;
    neap_error_free(error);
    return error_make(NEAP_ERROR_USAGE, "images of %lldx%lld do not suit %s: %lldx%lld would",
                      (long long)size, (long long)size, models[index].info.name,
                      (long long)would_do, (long long)would_do);
}

neap_error *neap_graph_model(const char *name, const struct neap_model_options *options,
                             neap_graph **out) {
    static const struct neap_model_options defaults = {0};
    const struct neap_model_options *o = options ? options : &defaults;
    for (size_t i = 0; i < N_MODELS; i++) {
        const struct neap_model_info *info = &models[i].info;
        if (strcmp(info->name, name))
            continue;
        struct model_spec spec = {
            .batch = o->batch ? o->batch : 1,
            .channels = o->channels ? o->channels : info->channels,
            .image_size = o->image_size ? o->image_size : info->image_size,
            .num_classes = o->num_classes ? o->num_classes : info->num_classes,
            .dropout = o->dropout_set ? o->dropout : -1,
        };
        neap_error *error = build(i, &spec, out);
        return error ? explain_size(i, &spec, error) : NULL;
    }
    return error_make(NEAP_ERROR_MODEL, "there is no model '%s': see 'neap models'", name);
}
