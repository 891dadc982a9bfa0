/* The networks of searched cells against their PyTorch definition, tests/oracle/cell_networks.py.
 */
#include "ops/ops.h"
#include "support/files.h"
#include "support/network.h"

static const struct {
    const char *name;
    int64_t parameters; /* printed by cell_networks.py */
} expected[] = {{"nasnet_cifar", 3830950}, {"amoebanet_cifar", 3145078}, {"darts_cifar", 3349342}};

static void parameters_are_as_many_as_in_pytorch(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        neap_graph *g = network_model(expected[i].name, 1, 0);
        int64_t parameters = 0;
        for (value_id v = 0; v < g->n_values; v++)
            if (graph_value(g, v)->kind == VALUE_PARAMETER)
                parameters += shape_elements(graph_value(g, v)->shape);
        assert_int_equal(parameters, expected[i].parameters);
        neap_graph_free(g);
    }
}

static void has_shape(const neap_graph *g, const char *name, struct shape shape) {
    char is[64], wanted[64];
    assert_string_equal(shape_text(graph_value(g, value_named(g, name))->shape, is),
                        shape_text(shape, wanted));
}

static void parameters_have_the_published_names(void **state) {
    (void)state;
    neap_graph *g = network_model("amoebanet_cifar", 2, 0);
    has_shape(g, "stem.0.weight", shape_of(4, (int64_t[]){108, 3, 3, 3}));
    has_shape(g, "cells.0.preprocess0.op.1.weight", shape_of(4, (int64_t[]){36, 108, 1, 1}));
    has_shape(g, "cells.5._ops.3.op.1.weight", shape_of(4, (int64_t[]){36, 1, 5, 5}));
    has_shape(g, "cells.6._ops.8.1.weight", shape_of(4, (int64_t[]){72, 72, 1, 7}));
    has_shape(g, "cells.6._ops.8.2.weight", shape_of(4, (int64_t[]){72, 72, 7, 1}));
    has_shape(g, "cells.7.preprocess0.conv_2.weight", shape_of(4, (int64_t[]){36, 108, 1, 1}));
    has_shape(g, "cells.14.preprocess0.bn.running_var", shape_of(1, (int64_t[]){144}));
    has_shape(g, "cells.19._ops.6.op.7.bias", shape_of(1, (int64_t[]){144}));
    has_shape(g, "classifier.weight", shape_of(2, (int64_t[]){10, 432}));
    neap_graph_free(g);
}

static void a_state_is_pooled_once(void **state) {
    (void)state;
    neap_graph *g = network_model("darts_cifar", 1, 0);
    /* Two reducing cells of two inputs each. */
    assert_int_equal(count_op(g, &op_max_pool2d), 4);
    neap_graph_free(g);
}

static void a_side_that_cannot_be_halved_twice_is_refused(void **state) {
    (void)state;
    neap_graph *g;
    for (int64_t size = 30; size < 36; size += 4) {
        char text[96];
        const struct neap_model_options options = {.image_size = size};
        neap_error *error = neap_graph_model("darts_cifar", &options, &g);
        snprintf(text, sizeof text, "images of %dx%d do not suit darts_cifar: %dx%d would",
                 (int)size, (int)size, (int)size + 2, (int)size + 2);
        assert_int_equal(neap_error_code(error), NEAP_ERROR_USAGE);
        assert_string_equal(neap_error_message(error), text);
        neap_error_free(error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_as_many_as_in_pytorch),
        cmocka_unit_test(parameters_have_the_published_names),
        cmocka_unit_test(a_state_is_pooled_once),
        cmocka_unit_test(a_side_that_cannot_be_halved_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
