/* Blocks that families share: see blocks.h. */
#include "models/blocks.h"

#include <stdarg.h>
#include <stdio.h>

struct layer_name layer_name(const char *format, ...) {
    struct layer_name name;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name.text, sizeof name.text, format, arguments);
    va_end(arguments);
    return name;
}

neap_value conv_bn(neap_graph *g, neap_value x, const struct neap_conv2d *conv,
                   const char *conv_name, const char *bn_name) {
    return neap_batch_norm(g, neap_conv2d(g, x, conv_name, conv), bn_name, 0, 0);
}

neap_value imagenet_stem(neap_graph *g, neap_value x, struct neap_conv2d conv,
                         const struct stem_names *names) {
    conv.kernel[0] = 7;
    conv.stride[0] = 2;
    conv.padding[0] = 3;
    x = neap_relu(g, conv_bn(g, x, &conv, names->conv, names->bn), names->relu);
    return neap_max_pool2d(g, x, names->pool,
                           &(struct neap_pool2d){.kernel = 3, .stride = 2, .padding = 1});
}

neap_value model_dropout(neap_graph *g, const struct model_spec *spec, neap_value x,
                         const char *name, double own) {
    double p = spec->dropout < 0 ? own : spec->dropout;
    return p > 0 ? neap_dropout(g, x, name, p) : x;
}

void mean_classifier(neap_graph *g, const struct model_spec *spec, neap_value x, const char *name,
                     struct neap_linear fc) {
    fc.out_features = spec->num_classes;
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, x, "avgpool", 1), "flatten");
    neap_classifier(g, neap_linear(g, x, name, &fc));
}
