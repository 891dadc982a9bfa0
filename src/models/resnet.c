/* ResNet (He et al. 2016): torchvision's for ImageNet, v1.5 (the stride of a bottleneck sits on its
 * 3×3 convolution), and the paper's for CIFAR. Convolutions start as N(0, 2/fan_out), the CIFAR
 * network's and its linear layer as N(0, 2/fan_in): He's; batch norms as 1 and 0; torchvision's
 * linear layer with PyTorch's default. */
#include <stdio.h>

#include "models/blocks.h"

/* Some convolutions, each with a batch norm and all but the last with a ReLU, plus the shortcut,
 * through a ReLU. */
struct block {
    const char *name;
    int64_t channels, stride; /* of the 3×3 convolutions; the first of them has the stride */
    bool bottleneck;          /* 1×1, 3×3, 1×1 to four times the channels; else 3×3, 3×3 */
    struct neap_conv2d conv;  /* the initialisation to use */
    neap_value (*shortcut)(neap_graph *g, neap_value x, const struct block *block);
};

static neap_value block_conv(neap_graph *g, neap_value x, const struct block *b, int which) {
    struct neap_conv2d conv = b->conv;
    bool wide = !b->bottleneck || which == 2, strided = which == (b->bottleneck ? 2 : 1);
    conv.out_channels = which == 3 ? 4 * b->channels : b->channels;
    conv.kernel[0] = wide ? 3 : 1;
    conv.padding[0] = wide;
    conv.stride[0] = strided ? b->stride : 1;
    return conv_bn(g, x, &conv, layer_name("%s.conv%d", b->name, which).text,
                   layer_name("%s.bn%d", b->name, which).text);
}

static neap_value residual_block(neap_graph *g, neap_value x, const struct block *b) {
    int last = b->bottleneck ? 3 : 2;
    neap_value y = x;
    for (int i = 1; i < last; i++)
        y = neap_relu(g, block_conv(g, y, b, i), layer_name("%s.relu%d", b->name, i).text);
    y = block_conv(g, y, b, last);
    if (b->shortcut)
        x = b->shortcut(g, x, b);
    y = neap_add(g, y, x, layer_name("%s.add", b->name).text);
    return neap_relu(g, y, layer_name("%s.relu%d", b->name, last).text);
}

/* ---- torchvision's for ImageNet ------------------------------------------------------------- */

static neap_value projection(neap_graph *g, neap_value x, const struct block *b) {
    struct neap_conv2d conv = b->conv;
    conv.out_channels = b->bottleneck ? 4 * b->channels : b->channels;
    conv.kernel[0] = 1;
    conv.stride[0] = b->stride;
    return conv_bn(g, x, &conv, layer_name("%s.downsample.0", b->name).text,
                   layer_name("%s.downsample.1", b->name).text);
}

static void imagenet(neap_graph *g, const struct model_spec *spec, bool bottleneck,
                     const int blocks[4]) {
    const struct stem_names stem = {"conv1", "bn1", "relu", "maxpool"};
    const struct neap_conv2d init = {.out_channels = 64, .init_fan_out = true};
    neap_value x = imagenet_stem(g, model_images(g, spec), init, &stem);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            struct layer_name name = layer_name("layer%d.%d", stage + 1, i);
            bool reshapes = i == 0 && (stage > 0 || bottleneck);
            x = residual_block(g, x,
                               &(struct block){.name = name.text,
                                               .channels = (int64_t)64 << stage,
                                               .stride = i == 0 && stage > 0 ? 2 : 1,
                                               .bottleneck = bottleneck,
                                               .conv = init,
                                               .shortcut = reshapes ? projection : NULL});
        }
    mean_classifier(g, spec, x, "fc", (struct neap_linear){0});
}

void model_resnet18(neap_graph *g, const struct model_spec *spec) {
    imagenet(g, spec, false, (const int[]){2, 2, 2, 2});
}

void model_resnet34(neap_graph *g, const struct model_spec *spec) {
    imagenet(g, spec, false, (const int[]){3, 4, 6, 3});
}

void model_resnet50(neap_graph *g, const struct model_spec *spec) {
    imagenet(g, spec, true, (const int[]){3, 4, 6, 3});
}

void model_resnet101(neap_graph *g, const struct model_spec *spec) {
    imagenet(g, spec, true, (const int[]){3, 4, 23, 3});
}

void model_resnet152(neap_graph *g, const struct model_spec *spec) {
    imagenet(g, spec, true, (const int[]){3, 8, 36, 3});
}

/* ---- the paper's for CIFAR ------------------------------------------------------------------ */

/* Option A: every second pixel, zeros for the new channels, a quarter on each side. */
static neap_value zero_padding(neap_graph *g, neap_value x, const struct block *b) {
    char attrs[64];
    neap_value out;
    int quarter = (int)(b->channels / 4);
    x = neap_op(g, "slice", layer_name("%s.shortcut.slice", b->name).text, &x, 1, "step=1,1,2,2",
                &out, 1);
    snprintf(attrs, sizeof attrs, "before=0,%d,0,0 after=0,%d,0,0", quarter, quarter);
    return neap_op(g, "pad", layer_name("%s.shortcut.pad", b->name).text, &x, 1, attrs, &out, 1);
}

void model_resnet20(neap_graph *g, const struct model_spec *spec) {
    const struct neap_conv2d init = {.init_fan_in = true};
    struct neap_conv2d stem = init;
    stem.out_channels = 16;
    stem.kernel[0] = 3;
    stem.padding[0] = 1;
    neap_value x = neap_relu(g, conv_bn(g, model_images(g, spec), &stem, "conv1", "bn1"), "relu");
    for (int i = 0; i < 9; i++) {
        struct layer_name name = layer_name("layer%d.%d", i / 3 + 1, i % 3);
        bool reduces = i > 0 && i % 3 == 0;
        x = residual_block(g, x,
                           &(struct block){.name = name.text,
                                           .channels = (int64_t)16 << i / 3,
                                           .stride = 1 + reduces,
                                           .conv = init,
                                           .shortcut = reduces ? zero_padding : NULL});
    }
    mean_classifier(g, spec, x, "linear", (struct neap_linear){.init_fan_in = true});
}
