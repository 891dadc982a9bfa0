/* LeNet-5 (LeCun et al. 1998) with ReLU and max pooling, as it is trained today. */
#include "models/models.h"

void model_lenet5(neap_graph *g, const struct model_spec *spec) {
    const struct neap_pool2d halve = {.kernel = 2};
    neap_value x = model_images(g, spec);
    x = neap_conv2d(
        g, x, "conv1",
        &(struct neap_conv2d){.out_channels = 6, .kernel = {5}, .padding = {2}, .bias = true});
    x = neap_max_pool2d(g, neap_relu(g, x, "relu1"), "pool1", &halve);
    x = neap_conv2d(g, x, "conv2",
                    &(struct neap_conv2d){.out_channels = 16, .kernel = {5}, .bias = true});
    x = neap_max_pool2d(g, neap_relu(g, x, "relu2"), "pool2", &halve);
    x = neap_flatten(g, x, "flatten");
    x = neap_linear(g, x, "fc1", &(struct neap_linear){.out_features = 120});
    x = neap_linear(g, neap_relu(g, x, "relu3"), "fc2", &(struct neap_linear){.out_features = 84});
    x = neap_linear(g, neap_relu(g, x, "relu4"), "fc3",
                    &(struct neap_linear){.out_features = spec->num_classes});
    neap_classifier(g, x);
}
