/* VGG without batch norm (Simonyan & Zisserman 2015), torchvision's: names features.N and
 * classifier.N, average pool to 7×7. Weights start as N(0, 2/fan_out) in convolutions, He's for fan
 * out, and as N(0, 0.01²) in the classifier; every bias as 0. */
#include "models/blocks.h"

/* Five stages, each with some convolutions of 3×3 and ReLU, then a maximum over 2×2. */
static neap_value features(neap_graph *g, neap_value x, const int convolutions[5]) {
    int index = 0; /* of the layer in torchvision's Sequential */
    for (int stage = 0; stage < 5; stage++) {
        const struct neap_conv2d conv = {.out_channels = stage < 3 ? 64 << stage : 512,
                                         .kernel = {3},
                                         .padding = {1},
                                         .bias = true,
                                         .init_fan_out = true};
        for (int i = 0; i < convolutions[stage]; i++) {
            x = neap_conv2d(g, x, layer_name("features.%d", index++).text, &conv);
            x = neap_relu(g, x, layer_name("features.%d", index++).text);
        }
        x = neap_max_pool2d(g, x, layer_name("features.%d", index++).text,
                            &(struct neap_pool2d){.kernel = 2});
    }
    return x;
}

static void vgg(neap_graph *g, const struct model_spec *spec, const int convolutions[5]) {
    neap_value x = features(g, model_images(g, spec), convolutions);
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 7), "flatten");
    for (int i = 0; i < 3; i++) { /* linear, ReLU, dropout, the last linear alone */
        x = neap_linear(g, x, layer_name("classifier.%d", 3 * i).text,
                        &(struct neap_linear){.out_features = i < 2 ? 4096 : spec->num_classes,
                                              .zero_bias = true,
                                              .init_normal = 0.01});
        if (i == 2)
            break;
        x = neap_relu(g, x, layer_name("classifier.%d", 3 * i + 1).text);
        x = model_dropout(g, spec, x, layer_name("classifier.%d", 3 * i + 2).text, 0.5);
    }
    neap_classifier(g, x);
}

void model_vgg11(neap_graph *g, const struct model_spec *spec) {
    vgg(g, spec, (const int[]){1, 1, 2, 2, 2});
}

void model_vgg13(neap_graph *g, const struct model_spec *spec) {
    vgg(g, spec, (const int[]){2, 2, 2, 2, 2});
}

void model_vgg16(neap_graph *g, const struct model_spec *spec) {
    vgg(g, spec, (const int[]){2, 2, 3, 3, 3});
}

void model_vgg19(neap_graph *g, const struct model_spec *spec) {
    vgg(g, spec, (const int[]){2, 2, 4, 4, 4});
}
