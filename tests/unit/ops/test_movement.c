/* The ops that move or sum elements, on numbers that can be followed by eye. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/interpret.h"
#include "support/problem.h"

/* Input t holds 100 t, 100 t + 1, …: an element tells where it came from. */
static void gives(const char *words, const char *expected) {
    struct problem p;
    neap_graph *g;
    struct interpreter it;
    neap_error *error = problem_parse(words, &p);
    if (!error)
        error = problem_graph(&p, DTYPE_F64, &g);
    if (error)
        fail_msg("%s: %s", words, neap_error_message(error));
    assert_null(interpreter_create(g, &it));
    for (uint32_t t = 0; t < p.n_tensors; t++)
        for (int64_t i = 0; i < shape_elements(p.tensors[t].shape); i++)
            tensor_set(&it.tensors[t], i, (double)(100 * t) + (double)i);
    interpreter_run(&it, 0, g->n_nodes);
    const struct tensor *y = &it.tensors[graph_node(g, 0)->outputs[0]];
    char text[512] = "";
    size_t length = 0;
    for (int64_t i = 0; i < shape_elements(y->shape); i++)
        length += (size_t)snprintf(text + length, sizeof text - length, i ? " %g" : "%g",
                                   tensor_get(y, i));
    interpreter_destroy(&it);
    graph_free(g);
    assert_string_equal(text, expected);
}

static void slice_takes_from_begin_to_before_end_in_steps(void **state) {
    (void)state;
    gives("slice | 2x3", "0 1 2 3 4 5");
    gives("slice begin=1 | 3x2", "2 3 4 5");
    gives("slice begin=0,1 end=0,3 | 2x4", "1 2 5 6");
    gives("slice step=0,2 | 2x5", "0 2 4 5 7 9");
    gives("slice begin=0,1 end=0,5 step=0,2 | 1x6", "1 3");
    gives("slice begin=2 end=3 step=7 | 4", "2");
}

static void slice_backward_puts_zeros_between(void **state) {
    (void)state;
    gives("slice_backward begin=0,1 end=0,3 dims=2,4 | 2x2", "0 0 1 0 0 2 3 0");
    gives("slice_backward step=0,2 dims=1,5 | 1x3", "0 0 1 0 2");
}

static void pad_puts_zeros_around(void **state) {
    (void)state;
    gives("pad before=1 after=2 | 3", "0 0 1 2 0 0");
    gives("pad before=0,1 after=1,0 | 2x2", "0 0 1 0 2 3 0 0 0");
}

static void concat_keeps_the_order_of_its_inputs(void **state) {
    (void)state;
    gives("concat axis=0 | 2 3 1", "0 1 100 101 102 200");
    gives("concat | 2x1 2x2", "0 100 101 1 102 103");
}

static void transpose_takes_dimension_order_i_as_dimension_i(void **state) {
    (void)state;
    gives("transpose order=1,0 | 2x3", "0 3 1 4 2 5");
    gives("transpose order=2,0,1 | 1x2x3", "0 3 1 4 2 5");
    gives("transpose order=1,2,0 | 2x1x3", "0 3 1 4 2 5");
}

static void reshape_and_flatten_move_nothing(void **state) {
    (void)state;
    gives("reshape dims=3,-1 | 2x3", "0 1 2 3 4 5");
    gives("flatten | 1x2x3", "0 1 2 3 4 5");
}

static void reductions_run_over_the_axes_named(void **state) {
    (void)state;
    gives("reduce_sum | 2x3", "15");
    gives("reduce_sum axes=0 | 2x3", "3 5 7");
    gives("reduce_sum axes=1 | 2x3", "3 12");
    gives("reduce_mean axes=0,2 | 2x1x2", "1.5");
    gives("reduce_backward axes=1 dims=2,3 scale=2 | 2", "0 0 0 2 2 2");
}

static void add_mul_and_fill_are_what_they_say(void **state) {
    (void)state;
    gives("add | 3 3", "100 102 104");
    gives("mul | 3 3", "0 101 204");
    gives("fill value=2.5 dims=3 |", "2.5 2.5 2.5");
}

static void a_cast_keeps_what_the_dtype_can_hold(void **state) {
    (void)state;
    gives("cast dtype=5 | 3", "0 1 2");
    gives("cast dtype=7 | 3", "0 1 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slice_takes_from_begin_to_before_end_in_steps),
        cmocka_unit_test(slice_backward_puts_zeros_between),
        cmocka_unit_test(pad_puts_zeros_around),
        cmocka_unit_test(concat_keeps_the_order_of_its_inputs),
        cmocka_unit_test(transpose_takes_dimension_order_i_as_dimension_i),
        cmocka_unit_test(reshape_and_flatten_move_nothing),
        cmocka_unit_test(reductions_run_over_the_axes_named),
        cmocka_unit_test(add_mul_and_fill_are_what_they_say),
        cmocka_unit_test(a_cast_keeps_what_the_dtype_can_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
