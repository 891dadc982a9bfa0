/* The multi-layer perceptron of PyTorch's Fashion-MNIST tutorial. */
#include "models/models.h"

void model_mlp(neap_graph *g, const struct model_spec *spec) {
    neap_value x = neap_flatten(g, model_images(g, spec), "flatten");
    x = neap_linear(g, x, "linear_relu_stack.0", &(struct neap_linear){.out_features = 512});
    x = neap_relu(g, x, "linear_relu_stack.1");
    x = neap_linear(g, x, "linear_relu_stack.2", &(struct neap_linear){.out_features = 512});
    x = neap_relu(g, x, "linear_relu_stack.3");
    x = neap_linear(g, x, "linear_relu_stack.4",
                    &(struct neap_linear){.out_features = spec->num_classes});
    neap_classifier(g, x);
}
