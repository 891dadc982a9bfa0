/* The zoo: networks by name, written with the public builder. To add one: a builder function in its
 * family's file and a line in models.def. */
#ifndef NEAP_MODELS_MODELS_H
#define NEAP_MODELS_MODELS_H

#include "base/status.h"

/* What a builder gets, every field set. */
struct model_spec {
    int64_t batch, channels, image_size, num_classes;
    double dropout; /* < 0: the model's own */
};

#define MODEL(name, channels, image_size, num_classes, summary)                                    \
    void model_##name(neap_graph *g, const struct model_spec *spec);
#include "models/models.def"
#undef MODEL

/* The input batch: (batch, channels, size, size). */
neap_value model_images(neap_graph *g, const struct model_spec *spec);

#endif
