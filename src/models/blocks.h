/* What the families of the zoo share: layers' names and the blocks that several of them use. */
#ifndef NEAP_MODELS_BLOCKS_H
#define NEAP_MODELS_BLOCKS_H

#include "models/models.h"

/* Returned by value, so that it can stand in an argument list: layer_name("%s.conv1", at).text. */
struct layer_name {
    char text[96];
};
struct layer_name layer_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Batch norm of the default eps behind a convolution. */
neap_value conv_bn(neap_graph *g, neap_value x, const struct neap_conv2d *conv,
                   const char *conv_name, const char *bn_name);
/* The stem of ResNet and DenseNet: 7×7 convolution of stride 2, batch norm, ReLU, 3×3 maximum of
 * stride 2. `conv` has the channels and the initialisation. */
struct stem_names {
    const char *conv, *bn, *relu, *pool;
};
neap_value imagenet_stem(neap_graph *g, neap_value x, struct neap_conv2d conv,
                         const struct stem_names *names);
/* The network's own dropout where none is asked for; 0 leaves the layer out. */
neap_value model_dropout(neap_graph *g, const struct model_spec *spec, neap_value x,
                         const char *name, double own);
/* A mean over each map, and a linear layer: the logits. `fc` needs no out_features. */
void mean_classifier(neap_graph *g, const struct model_spec *spec, neap_value x, const char *name,
                     struct neap_linear fc);

#endif
