/* Inception v3 (Szegedy et al. 2015), torchvision's: without the auxiliary head and without the
 * input's transform, batch norm's eps 1e-3. Weights start as N(0, 0.1²): torchvision cuts that at
 * ±2, twenty deviations away; the last layer's bias as U(±1/√fan_in), PyTorch's default. */
#include "models/blocks.h"

static const struct neap_conv2d k1 = {.kernel = {1, 1}};
static const struct neap_conv2d k3 = {.kernel = {3, 3}, .padding = {1, 1}};
static const struct neap_conv2d k5 = {.kernel = {5, 5}, .padding = {2, 2}};
static const struct neap_conv2d k1x3 = {.kernel = {1, 3}, .padding = {0, 1}};
static const struct neap_conv2d k3x1 = {.kernel = {3, 1}, .padding = {1, 0}};
static const struct neap_conv2d k1x7 = {.kernel = {1, 7}, .padding = {0, 3}};
static const struct neap_conv2d k7x1 = {.kernel = {7, 1}, .padding = {3, 0}};
static const struct neap_conv2d k3_inside = {.kernel = {3, 3}};
static const struct neap_conv2d k3_halving = {.kernel = {3, 3}, .stride = {2, 2}};

/* A convolution with its batch norm and ReLU: "<name>.conv", "<name>.bn", "<name>.relu". */
struct step {
    const char *name;
    int64_t channels;
    const struct neap_conv2d *kernel;
};
#define STEPS(...) ((const struct step[]){__VA_ARGS__, {NULL, 0, NULL}})

/* Steps behind each other; `block` is "Mixed_5b." or "". */
static neap_value chain(neap_graph *g, neap_value x, const char *block, const struct step *steps) {
    for (const struct step *s = steps; s->name; s++) {
        struct layer_name at = layer_name("%s%s", block, s->name);
        struct neap_conv2d conv = *s->kernel;
        conv.out_channels = s->channels;
        conv.init_normal = 0.1;
        x = neap_conv2d(g, x, layer_name("%s.conv", at.text).text, &conv);
        x = neap_batch_norm(g, x, layer_name("%s.bn", at.text).text, 1e-3, 0);
        x = neap_relu(g, x, layer_name("%s.relu", at.text).text);
    }
    return x;
}

/* A mean over 3×3 that counts its padding, then a 1×1 convolution. */
static neap_value mean_branch(neap_graph *g, neap_value x, const char *block, int64_t channels) {
    const struct neap_pool2d mean = {
        .kernel = 3, .stride = 1, .padding = 1, .count_include_pad = true};
    x = neap_avg_pool2d(g, x, layer_name("%spool", block).text, &mean);
    return chain(g, x, block, STEPS({"branch_pool", channels, &k1}));
}

static neap_value halve(neap_graph *g, neap_value x, const char *name) {
    return neap_max_pool2d(g, x, name, &(struct neap_pool2d){.kernel = 3, .stride = 2});
}

static neap_value join(neap_graph *g, const neap_value *branches, size_t n, const char *block) {
    return neap_concat(g, branches, n, 1, layer_name("%sconcat", block).text);
}

/* ---- torchvision's blocks A to E ------------------------------------------------------------ */

static neap_value mixed_a(neap_graph *g, neap_value x, const char *at, int64_t pool_channels) {
    neap_value y[4];
    y[0] = chain(g, x, at, STEPS({"branch1x1", 64, &k1}));
    y[1] = chain(g, x, at, STEPS({"branch5x5_1", 48, &k1}, {"branch5x5_2", 64, &k5}));
    y[2] = chain(g, x, at,
                 STEPS({"branch3x3dbl_1", 64, &k1}, {"branch3x3dbl_2", 96, &k3},
                       {"branch3x3dbl_3", 96, &k3}));
    y[3] = mean_branch(g, x, at, pool_channels);
    return join(g, y, 4, at);
}

static neap_value mixed_b(neap_graph *g, neap_value x, const char *at) {
    neap_value y[3];
    y[0] = chain(g, x, at, STEPS({"branch3x3", 384, &k3_halving}));
    y[1] = chain(g, x, at,
                 STEPS({"branch3x3dbl_1", 64, &k1}, {"branch3x3dbl_2", 96, &k3},
                       {"branch3x3dbl_3", 96, &k3_halving}));
    y[2] = halve(g, x, layer_name("%spool", at).text);
    return join(g, y, 3, at);
}

static neap_value mixed_c(neap_graph *g, neap_value x, const char *at, int64_t c) {
    neap_value y[4];
    y[0] = chain(g, x, at, STEPS({"branch1x1", 192, &k1}));
    y[1] = chain(
        g, x, at,
        STEPS({"branch7x7_1", c, &k1}, {"branch7x7_2", c, &k1x7}, {"branch7x7_3", 192, &k7x1}));
    y[2] = chain(g, x, at,
                 STEPS({"branch7x7dbl_1", c, &k1}, {"branch7x7dbl_2", c, &k7x1},
                       {"branch7x7dbl_3", c, &k1x7}, {"branch7x7dbl_4", c, &k7x1},
                       {"branch7x7dbl_5", 192, &k1x7}));
    y[3] = mean_branch(g, x, at, 192);
    return join(g, y, 4, at);
}

static neap_value mixed_d(neap_graph *g, neap_value x, const char *at) {
    neap_value y[3];
    y[0] = chain(g, x, at, STEPS({"branch3x3_1", 192, &k1}, {"branch3x3_2", 320, &k3_halving}));
    y[1] = chain(g, x, at,
                 STEPS({"branch7x7x3_1", 192, &k1}, {"branch7x7x3_2", 192, &k1x7},
                       {"branch7x7x3_3", 192, &k7x1}, {"branch7x7x3_4", 192, &k3_halving}));
    y[2] = halve(g, x, layer_name("%spool", at).text);
    return join(g, y, 3, at);
}

static neap_value mixed_e(neap_graph *g, neap_value x, const char *at) {
    neap_value y[6];
    y[0] = chain(g, x, at, STEPS({"branch1x1", 320, &k1}));
    neap_value stem = chain(g, x, at, STEPS({"branch3x3_1", 384, &k1}));
    y[1] = chain(g, stem, at, STEPS({"branch3x3_2a", 384, &k1x3}));
    y[2] = chain(g, stem, at, STEPS({"branch3x3_2b", 384, &k3x1}));
    stem = chain(g, x, at, STEPS({"branch3x3dbl_1", 448, &k1}, {"branch3x3dbl_2", 384, &k3}));
    y[3] = chain(g, stem, at, STEPS({"branch3x3dbl_3a", 384, &k1x3}));
    y[4] = chain(g, stem, at, STEPS({"branch3x3dbl_3b", 384, &k3x1}));
    y[5] = mean_branch(g, x, at, 192);
    return join(g, y, 6, at);
}

void model_inception_v3(neap_graph *g, const struct model_spec *spec) {
    neap_value x = model_images(g, spec);
    x = chain(g, x, "",
              STEPS({"Conv2d_1a_3x3", 32, &k3_halving}, {"Conv2d_2a_3x3", 32, &k3_inside},
                    {"Conv2d_2b_3x3", 64, &k3}));
    x = halve(g, x, "maxpool1");
    x = chain(g, x, "", STEPS({"Conv2d_3b_1x1", 80, &k1}, {"Conv2d_4a_3x3", 192, &k3_inside}));
    x = halve(g, x, "maxpool2");
    x = mixed_a(g, x, "Mixed_5b.", 32);
    x = mixed_a(g, x, "Mixed_5c.", 64);
    x = mixed_a(g, x, "Mixed_5d.", 64);
    x = mixed_b(g, x, "Mixed_6a.");
    x = mixed_c(g, x, "Mixed_6b.", 128);
    x = mixed_c(g, x, "Mixed_6c.", 160);
    x = mixed_c(g, x, "Mixed_6d.", 160);
    x = mixed_c(g, x, "Mixed_6e.", 192);
    x = mixed_d(g, x, "Mixed_7a.");
    x = mixed_e(g, x, "Mixed_7b.");
    x = mixed_e(g, x, "Mixed_7c.");
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 1), "flatten");
    x = model_dropout(g, spec, x, "dropout", 0.5);
    neap_classifier(g, neap_linear(g, x, "fc",
                                   &(struct neap_linear){.out_features = spec->num_classes,
                                                         .init_normal = 0.1}));
}
