/* The zoo against torchvision: tests/oracle/state_dicts.txt, and its initial values by formula. */
#include "support/files.h"

#include <inttypes.h>
#include <math.h>

#include "base/philox.h"
#include "ops/ops.h"
#include "support/network.h"

static neap_graph *model_of(const char *name) {
    neap_graph *g;
    assert_no_error(neap_graph_model(name, NULL, &g));
    return g;
}

/* ---- names and shapes ----------------------------------------------------------------------- */

static bool is_state(const struct value *value) {
    return value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *line_of(const struct value *value) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s", value->name);
    for (int d = 0; d < value->shape.rank; d++)
        length +=
            snprintf(line + length, sizeof line - (size_t)length, " %" PRId64, value->shape.dim[d]);
    snprintf(line + length, sizeof line - (size_t)length, "\n");
    return strdup(line);
}

/* All names and shapes, as tests/oracle/state_dicts.py writes them. */
static char *state_text(const neap_graph *g, int *n_tensors, int64_t *n_parameters) {
    char **lines = calloc(g->n_values, sizeof *lines);
    size_t n = 0, bytes = 1;
    *n_parameters = 0;
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        if (!is_state(value))
            continue;
        if (value->kind == VALUE_PARAMETER)
            *n_parameters += shape_elements(value->shape);
        lines[n] = line_of(value);
        bytes += strlen(lines[n++]);
    }
    qsort(lines, n, sizeof *lines, by_text);
    char *text = calloc(bytes, 1), *end = text;
    for (size_t i = 0; i < n; i++) {
        end = stpcpy(end, lines[i]);
        free(lines[i]);
    }
    free(lines);
    *n_tensors = (int)n;
    return text;
}

static void compare(const char *name, int64_t parameters, int tensors, uint64_t digest) {
    neap_graph *g = model_of(name);
    int n_tensors;
    int64_t n_parameters;
    char *text = state_text(g, &n_tensors, &n_parameters);
    if (n_parameters != parameters || n_tensors != tensors || philox_hash(text) != digest)
        fail_msg("%s: %" PRId64 " parameters in %d tensors, not %" PRId64 " in %d; compare with "
                 "'tests/oracle/state_dicts.py %s':\n%s",
                 name, n_parameters, n_tensors, parameters, tensors, name, text);
    free(text);
    graph_free(g);
}

static void NamesAndShapesAreTorchvisions(void **state) {
    (void)state;
    char path[512], line[256], name[32];
    int64_t parameters;
    uint64_t digest;
    int tensors, n_networks = 0;
    snprintf(path, sizeof path, "%s/tests/oracle/state_dicts.txt", getenv("SOURCE_DIR"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (*line == '#')
            continue;
        assert_int_equal(sscanf(line, "%31s | %" SCNd64 " | %d | %" SCNx64, name, &parameters,
                                &tensors, &digest),
                         4);
        compare(name, parameters, tensors, digest);
        n_networks++;
    }
    fclose(file);
    assert_int_equal(n_networks, 15);
}

/* ---- initial values ------------------------------------------------------------------------- */

/* PyTorch's and torchvision's formulas, with the numbers of the layer. */
static void InitialValuesAreTorchvisions(void **state) {
    (void)state;
    static const enum neap_init_kind uniform = NEAP_INIT_UNIFORM, normal = NEAP_INIT_NORMAL,
                                     constant = NEAP_INIT_CONSTANT;
    static const struct {
        const char *model, *parameter;
        enum neap_init_kind kind;
        double square; /* of the bound or deviation */
    } cases[] = {
        {"alexnet", "features.0.weight", uniform, 1.0 / (3 * 11 * 11)},
        {"alexnet", "features.0.bias", uniform, 1.0 / (3 * 11 * 11)},
        {"alexnet", "classifier.1.weight", uniform, 1.0 / 9216},
        {"vgg11", "features.3.weight", normal, 2.0 / (128 * 3 * 3)},
        {"vgg11", "features.3.bias", constant, 0},
        {"vgg11", "classifier.6.weight", normal, 0.01 * 0.01},
        {"vgg11", "classifier.6.bias", constant, 0},
        {"resnet50", "layer2.0.conv3.weight", normal, 2.0 / 512},
        {"resnet50", "layer2.0.downsample.0.weight", normal, 2.0 / 512},
        {"resnet50", "layer2.0.bn3.weight", constant, 1},
        {"resnet50", "layer2.0.bn3.running_var", constant, 1},
        {"resnet50", "fc.weight", uniform, 1.0 / 2048},
        {"resnet50", "fc.bias", uniform, 1.0 / 2048},
        {"densenet121", "features.denseblock1.denselayer2.conv1.weight", normal, 2.0 / 96},
        {"densenet121", "features.denseblock1.denselayer2.conv2.weight", normal, 2.0 / (128 * 9)},
        {"densenet121", "classifier.weight", uniform, 1.0 / 1024},
        {"densenet121", "classifier.bias", constant, 0},
        {"inception_v3", "Mixed_6b.branch7x7_2.conv.weight", normal, 0.1 * 0.1},
        {"inception_v3", "fc.weight", normal, 0.1 * 0.1},
        {"inception_v3", "fc.bias", uniform, 1.0 / 2048},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        neap_graph *g = model_of(cases[i].model);
        struct neap_init init = graph_value(g, value_named(g, cases[i].parameter))->init;
        assert_int_equal(init.kind, cases[i].kind);
        assert_true(fabs(init.a - sqrt(cases[i].square)) < 1e-12);
        graph_free(g);
    }
}

/* ---- options -------------------------------------------------------------------------------- */

/* torchvision's min_size, in its weights' metadata; by hand for what it has not. */
static void TooSmallImagesAreToldTheLeastSize(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int64_t least;
    } cases[] = {{"alexnet", 63},     {"vgg11", 32},  {"vgg19", 32},      {"densenet121", 29},
                 {"densenet161", 29}, {"lenet5", 12}, {"darts_cifar", 4}, {"inception_v3", 75}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        neap_graph *g;
        char text[64];
        struct neap_model_options options = {.batch = 2, .image_size = cases[i].least};
        assert_no_error(neap_graph_model(cases[i].model, &options, &g));
        graph_free(g);
        options.image_size--;
        snprintf(text, sizeof text, "do not suit %s: %dx%d would", cases[i].model,
                 (int)cases[i].least, (int)cases[i].least);
        assert_error(neap_graph_model(cases[i].model, &options, &g), NEAP_ERROR_USAGE, text);
    }
}

static int n_dropouts(const char *model, double p) {
    neap_graph *g;
    struct neap_model_options options = {.dropout = p, .dropout_set = true};
    assert_no_error(neap_graph_model(model, &options, &g));
    int n = count_op(g, &op_dropout);
    graph_free(g);
    return n;
}

static void DropoutIsWhereTheNetworkHasIt(void **state) {
    (void)state;
    assert_int_equal(n_dropouts("alexnet", -1), 2);
    assert_int_equal(n_dropouts("alexnet", 0), 0);
    assert_int_equal(n_dropouts("vgg16", 0.1), 2);
    assert_int_equal(n_dropouts("inception_v3", 0.1), 1);
    assert_int_equal(n_dropouts("resnet50", 0.1), 0);
    assert_int_equal(n_dropouts("densenet121", -1), 0);
    assert_int_equal(n_dropouts("densenet121", 0.1), 6 + 12 + 24 + 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(NamesAndShapesAreTorchvisions),
        cmocka_unit_test(InitialValuesAreTorchvisions),
        cmocka_unit_test(TooSmallImagesAreToldTheLeastSize),
        cmocka_unit_test(DropoutIsWhereTheNetworkHasIt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
