/* DenseNet-BC (Huang et al. 2017), torchvision's: a layer sees all layers before it in its block,
 * through a 1×1 convolution to four times the growth; between blocks a transition halves channels
 * and image. Convolutions start as N(0, 2/fan_in), He's; batch norms as 1 and 0; the classifier's
 * weights as U(±1/√fan_in), PyTorch's default, its bias as 0. `dropout` is torchvision's drop_rate,
 * behind each layer and 0 by itself. */
#include "models/blocks.h"

enum { N_BLOCKS = 4, MAX_LAYERS = 48, BOTTLENECK = 4 };

struct densenet {
    int64_t growth, stem_channels;
    int layers[N_BLOCKS];
};

static neap_value norm_relu_conv(neap_graph *g, neap_value x, const char *at, const char *suffix,
                                 const struct neap_conv2d *conv) {
    x = neap_batch_norm(g, x, layer_name("%s.norm%s", at, suffix).text, 0, 0);
    x = neap_relu(g, x, layer_name("%s.relu%s", at, suffix).text);
    return neap_conv2d(g, x, layer_name("%s.conv%s", at, suffix).text, conv);
}

/* What one layer adds to the features before it. */
static neap_value dense_layer(neap_graph *g, const struct model_spec *spec, neap_value x,
                              const char *at, int64_t growth) {
    const struct neap_conv2d narrow = {
        .out_channels = BOTTLENECK * growth, .kernel = {1}, .init_fan_in = true};
    const struct neap_conv2d grow = {
        .out_channels = growth, .kernel = {3}, .padding = {1}, .init_fan_in = true};
    x = norm_relu_conv(g, x, at, "1", &narrow);
    x = norm_relu_conv(g, x, at, "2", &grow);
    return model_dropout(g, spec, x, layer_name("%s.dropout", at).text, 0);
}

static neap_value dense_block(neap_graph *g, const struct model_spec *spec,
                              const struct densenet *net, neap_value x, int block) {
    neap_value features[MAX_LAYERS + 1] = {x};
    for (int i = 1; i <= net->layers[block]; i++) {
        struct layer_name at = layer_name("features.denseblock%d.denselayer%d", block + 1, i);
        features[i] = dense_layer(g, spec, x, at.text, net->growth);
        x = neap_concat(g, features, (size_t)i + 1, 1, layer_name("%s.concat", at.text).text);
    }
    return x;
}

static neap_value transition(neap_graph *g, neap_value x, int block, int64_t channels) {
    struct layer_name at = layer_name("features.transition%d", block + 1);
    x = norm_relu_conv(
        g, x, at.text, "",
        &(struct neap_conv2d){.out_channels = channels, .kernel = {1}, .init_fan_in = true});
    return neap_avg_pool2d(g, x, layer_name("%s.pool", at.text).text,
                           &(struct neap_pool2d){.kernel = 2});
}

static void densenet(neap_graph *g, const struct model_spec *spec, const struct densenet *net) {
    const struct stem_names stem = {"features.conv0", "features.norm0", "features.relu0",
                                    "features.pool0"};
    const struct neap_conv2d conv = {.out_channels = net->stem_channels, .init_fan_in = true};
    neap_value x = imagenet_stem(g, model_images(g, spec), conv, &stem);
    int64_t channels = net->stem_channels;
    for (int block = 0; block < N_BLOCKS; block++) {
        x = dense_block(g, spec, net, x, block);
        channels += net->layers[block] * net->growth;
        if (block < N_BLOCKS - 1)
            x = transition(g, x, block, channels /= 2);
    }
    x = neap_relu(g, neap_batch_norm(g, x, "features.norm5", 0, 0), "relu");
    mean_classifier(g, spec, x, "classifier", (struct neap_linear){.zero_bias = true});
}

void model_densenet121(neap_graph *g, const struct model_spec *spec) {
    densenet(g, spec, &(struct densenet){32, 64, {6, 12, 24, 16}});
}

void model_densenet161(neap_graph *g, const struct model_spec *spec) {
    densenet(g, spec, &(struct densenet){48, 96, {6, 12, 36, 24}});
}

void model_densenet169(neap_graph *g, const struct model_spec *spec) {
    densenet(g, spec, &(struct densenet){32, 64, {6, 12, 32, 32}});
}

void model_densenet201(neap_graph *g, const struct model_spec *spec) {
    densenet(g, spec, &(struct densenet){32, 64, {6, 12, 48, 32}});
}
