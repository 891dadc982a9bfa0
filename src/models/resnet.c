/* ResNet (He et al. 2016) with basic blocks: torchvision's for ImageNet, the paper's for CIFAR. */
#include <stdio.h>

#include "models/models.h"

/* conv 3×3 – bn – relu – conv 3×3 – bn, plus the shortcut, – relu. */
struct block {
    const char *name;
    int64_t channels, stride;
    struct neap_conv2d conv; /* the initialisation to use */
    neap_value (*shortcut)(neap_graph *g, neap_value x, const struct block *block);
};

static neap_value conv_bn(neap_graph *g, neap_value x, const struct block *b, int which,
                          int64_t stride) {
    char name[64];
    struct neap_conv2d conv = b->conv;
    conv.out_channels = b->channels;
    conv.kernel[0] = 3;
    conv.padding[0] = 1;
    conv.stride[0] = stride;
    snprintf(name, sizeof name, "%s.conv%d", b->name, which);
    x = neap_conv2d(g, x, name, &conv);
    snprintf(name, sizeof name, "%s.bn%d", b->name, which);
    return neap_batch_norm(g, x, name, 0, 0);
}

static neap_value basic_block(neap_graph *g, neap_value x, const struct block *b) {
    char name[64];
    snprintf(name, sizeof name, "%s.relu1", b->name);
    neap_value y = neap_relu(g, conv_bn(g, x, b, 1, b->stride), name);
    y = conv_bn(g, y, b, 2, 1);
    if (b->shortcut)
        x = b->shortcut(g, x, b);
    snprintf(name, sizeof name, "%s.add", b->name);
    y = neap_add(g, y, x, name);
    snprintf(name, sizeof name, "%s.relu2", b->name);
    return neap_relu(g, y, name);
}

/* torchvision: 1×1 convolution and batch norm. */
static neap_value projection(neap_graph *g, neap_value x, const struct block *b) {
    char name[64];
    struct neap_conv2d conv = b->conv;
    conv.out_channels = b->channels;
    conv.kernel[0] = 1;
    conv.stride[0] = b->stride;
    snprintf(name, sizeof name, "%s.downsample.0", b->name);
    x = neap_conv2d(g, x, name, &conv);
    snprintf(name, sizeof name, "%s.downsample.1", b->name);
    return neap_batch_norm(g, x, name, 0, 0);
}

/* The paper's option A: every second pixel, zeros for the new channels, a quarter on each side. */
static neap_value zero_padding(neap_graph *g, neap_value x, const struct block *b) {
    char name[64], attrs[64];
    neap_value out;
    int quarter = (int)(b->channels / 4);
    snprintf(name, sizeof name, "%s.shortcut.slice", b->name);
    x = neap_op(g, "slice", name, &x, 1, "step=1,1,2,2", &out, 1);
    snprintf(name, sizeof name, "%s.shortcut.pad", b->name);
    snprintf(attrs, sizeof attrs, "before=0,%d,0,0 after=0,%d,0,0", quarter, quarter);
    return neap_op(g, "pad", name, &x, 1, attrs, &out, 1);
}

void model_resnet18(neap_graph *g, const struct model_spec *spec) {
    const struct neap_conv2d init = {.init_fan_out = true};
    struct neap_conv2d stem = init;
    stem.out_channels = 64;
    stem.kernel[0] = 7;
    stem.stride[0] = 2;
    stem.padding[0] = 3;
    neap_value x = neap_conv2d(g, model_images(g, spec), "conv1", &stem);
    x = neap_relu(g, neap_batch_norm(g, x, "bn1", 0, 0), "relu");
    x = neap_max_pool2d(g, x, "maxpool",
                        &(struct neap_pool2d){.kernel = 3, .stride = 2, .padding = 1});
    for (int i = 0; i < 8; i++) {
        char name[32];
        bool reduces = i > 0 && i % 2 == 0;
        snprintf(name, sizeof name, "layer%d.%d", i / 2 + 1, i % 2);
        x = basic_block(g, x,
                        &(struct block){.name = name,
                                        .channels = (int64_t)64 << i / 2,
                                        .stride = 1 + reduces,
                                        .conv = init,
                                        .shortcut = reduces ? projection : NULL});
    }
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 1), "flatten");
    neap_classifier(
        g, neap_linear(g, x, "fc", &(struct neap_linear){.out_features = spec->num_classes}));
}

void model_resnet20(neap_graph *g, const struct model_spec *spec) {
    const struct neap_conv2d init = {.init_fan_in = true};
    struct neap_conv2d stem = init;
    stem.out_channels = 16;
    stem.kernel[0] = 3;
    stem.padding[0] = 1;
    neap_value x = neap_conv2d(g, model_images(g, spec), "conv1", &stem);
    x = neap_relu(g, neap_batch_norm(g, x, "bn1", 0, 0), "relu");
    for (int i = 0; i < 9; i++) {
        char name[32];
        bool reduces = i > 0 && i % 3 == 0;
        snprintf(name, sizeof name, "layer%d.%d", i / 3 + 1, i % 3);
        x = basic_block(g, x,
                        &(struct block){.name = name,
                                        .channels = (int64_t)16 << i / 3,
                                        .stride = 1 + reduces,
                                        .conv = init,
                                        .shortcut = reduces ? zero_padding : NULL});
    }
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 1), "flatten");
    neap_classifier(g, neap_linear(g, x, "linear",
                                   &(struct neap_linear){.out_features = spec->num_classes,
                                                         .init_fan_in = true}));
}
