/* AlexNet in one tower (Krizhevsky 2014), torchvision's: names features.N and classifier.N, average
 * pool to 6×6, every layer with PyTorch's default weights, U(±1/√fan_in). */
#include "models/blocks.h"

static neap_value features(neap_graph *g, neap_value x) {
    static const struct {
        struct neap_conv2d conv;
        bool pool;
    } layers[] = {
        {{.out_channels = 64, .kernel = {11}, .stride = {4}, .padding = {2}, .bias = true}, true},
        {{.out_channels = 192, .kernel = {5}, .padding = {2}, .bias = true}, true},
        {{.out_channels = 384, .kernel = {3}, .padding = {1}, .bias = true}, false},
        {{.out_channels = 256, .kernel = {3}, .padding = {1}, .bias = true}, false},
        {{.out_channels = 256, .kernel = {3}, .padding = {1}, .bias = true}, true},
    };
    int index = 0; /* of the layer in torchvision's Sequential */
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        x = neap_conv2d(g, x, layer_name("features.%d", index++).text, &layers[i].conv);
        x = neap_relu(g, x, layer_name("features.%d", index++).text);
        if (layers[i].pool)
            x = neap_max_pool2d(g, x, layer_name("features.%d", index++).text,
                                &(struct neap_pool2d){.kernel = 3, .stride = 2});
    }
    return x;
}

void model_alexnet(neap_graph *g, const struct model_spec *spec) {
    const int64_t out[] = {4096, 4096, spec->num_classes};
    neap_value x = features(g, model_images(g, spec));
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 6), "flatten");
    for (int i = 0; i < 3; i++) { /* dropout, linear, ReLU, the last without ReLU */
        if (i < 2)
            x = model_dropout(g, spec, x, layer_name("classifier.%d", 3 * i).text, 0.5);
        x = neap_linear(g, x, layer_name("classifier.%d", i < 2 ? 3 * i + 1 : 6).text,
                        &(struct neap_linear){.out_features = out[i]});
        if (i < 2)
            x = neap_relu(g, x, layer_name("classifier.%d", 3 * i + 2).text);
    }
    neap_classifier(g, x);
}
