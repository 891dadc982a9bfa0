/* max_pool2d's index: which place of the window it names in corner cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "support/interpret.h"
#include "support/problem.h"

/* The first window's value and index, of the image given row by row. */
static void pool(const char *words, const double *image, double *value, int *index) {
    struct problem p;
    neap_graph *g;
    struct interpreter it;
    assert_null(problem_parse(words, &p));
    assert_null(problem_graph(&p, DTYPE_F64, &g));
    assert_null(interpreter_create(g, &it));
    for (int64_t i = 0; i < shape_elements(p.tensors[0].shape); i++)
        tensor_set(&it.tensors[0], i, image[i]);
    interpreter_run(&it, 0, g->n_nodes);
    *value = tensor_get(&it.tensors[graph_node(g, 0)->outputs[0]], 0);
    *index = (int)tensor_get(&it.tensors[graph_node(g, 0)->outputs[1]], 0);
    interpreter_destroy(&it);
    graph_free(g);
}

static void of_equal_values_the_first_counts(void **state) {
    (void)state;
    double value;
    int index;
    pool("max_pool2d kernel=2,3 | 1x1x2x3 | outputs=2", (double[]){1, 2, 0, 2, 0, 2}, &value,
         &index);
    assert_true(value == 2 && index == 1);
    pool("max_pool2d kernel=2 | 1x1x2x2 | outputs=2", (double[]){0, 0, 0, 0}, &value, &index);
    assert_true(value == 0 && index == 0);
}

static void nan_beats_every_number_and_the_last_nan_the_others(void **state) {
    (void)state;
    double value;
    int index;
    pool("max_pool2d kernel=2 | 1x1x2x2 | outputs=2", (double[]){1, NAN, INFINITY, 3}, &value,
         &index);
    assert_true(isnan(value) && index == 1);
    pool("max_pool2d kernel=2 | 1x1x2x2 | outputs=2", (double[]){NAN, 1, NAN, 3}, &value, &index);
    assert_true(isnan(value) && index == 2);
}

static void padding_is_never_the_largest(void **state) {
    (void)state;
    double value;
    int index;
    pool("max_pool2d kernel=3 padding=1 stride=1 | 1x1x2x2 | outputs=2", (double[]){-5, -7, -6, -8},
         &value, &index);
    assert_true(value == -5 && index == 4);
    pool("max_pool2d kernel=3 padding=1 stride=1 | 1x1x2x2 | outputs=2",
         (double[]){-INFINITY, -INFINITY, -INFINITY, -INFINITY}, &value, &index);
    assert_true(isinf(value) && index == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_equal_values_the_first_counts),
        cmocka_unit_test(nan_beats_every_number_and_the_last_nan_the_others),
        cmocka_unit_test(padding_is_never_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
