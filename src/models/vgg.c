/* VGG without batch norm (Simonyan & Zisserman 2015), torchvision's: names features.N,
 * classifier.N, weights N(0, 2/fan_out) for convolutions, N(0, 0.01²) for the classifier. */
#include <stdio.h>

#include "models/models.h"

enum { POOL = 0 };

static neap_value features(neap_graph *g, neap_value x, const int *channels, int n) {
    char name[32];
    int index = 0; /* of the layer in torchvision's Sequential */
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "features.%d", index++);
        if (channels[i] == POOL) {
            x = neap_max_pool2d(g, x, name, &(struct neap_pool2d){.kernel = 2});
            continue;
        }
        x = neap_conv2d(g, x, name,
                        &(struct neap_conv2d){.out_channels = channels[i],
                                              .kernel = {3},
                                              .padding = {1},
                                              .bias = true,
                                              .init_fan_out = true});
        snprintf(name, sizeof name, "features.%d", index++);
        x = neap_relu(g, x, name);
    }
    return x;
}

static void vgg(neap_graph *g, const struct model_spec *spec, const int *channels, int n) {
    double dropout = spec->dropout < 0 ? 0.5 : spec->dropout;
    neap_value x = features(g, model_images(g, spec), channels, n);
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 7), "flatten");
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "classifier.%d", 3 * i);
        x = neap_linear(g, x, name,
                        &(struct neap_linear){.out_features = i < 2 ? 4096 : spec->num_classes,
                                              .init_normal = 0.01});
        if (i == 2)
            break;
        snprintf(name, sizeof name, "classifier.%d", 3 * i + 1);
        x = neap_relu(g, x, name);
        snprintf(name, sizeof name, "classifier.%d", 3 * i + 2);
        if (dropout > 0)
            x = neap_dropout(g, x, name, dropout);
    }
    neap_classifier(g, x);
}

void model_vgg11(neap_graph *g, const struct model_spec *spec) {
    static const int channels[] = {64,  POOL, 128,  POOL, 256, 256, POOL,
                                   512, 512,  POOL, 512,  512, POOL};
    vgg(g, spec, channels, sizeof channels / sizeof *channels);
}
