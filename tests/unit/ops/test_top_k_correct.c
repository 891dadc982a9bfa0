/* top_k_correct: equal logits and NaN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "support/interpret.h"
#include "support/problem.h"

/* Is the label of one row of four logits among the k largest? */
static bool is_correct(int k, const double *logits, int label) {
    char words[64];
    struct problem p;
    neap_graph *g;
    struct interpreter it;
    snprintf(words, sizeof words, "top_k_correct k=%d | 1x4 1<4", k);
    assert_null(problem_parse(words, &p));
    assert_null(problem_graph(&p, DTYPE_F64, &g));
    assert_null(interpreter_create(g, &it));
    for (int i = 0; i < 4; i++)
        tensor_set(&it.tensors[0], i, logits[i]);
    tensor_set(&it.tensors[1], 0, label);
    interpreter_run(&it, 0, g->n_nodes);
    double count = tensor_get(&it.tensors[graph_node(g, 0)->outputs[0]], 0);
    interpreter_destroy(&it);
    graph_free(g);
    return count == 1;
}

static void the_k_largest_count(void **state) {
    (void)state;
    const double logits[] = {1, 4, 3, 2};
    for (int k = 1; k <= 4; k++)
        for (int label = 0; label < 4; label++)
            assert_int_equal(is_correct(k, logits, label), 4 - (int)logits[label] < k);
}

static void of_equal_logits_only_the_first_is_largest(void **state) {
    (void)state;
    const double logits[] = {0, 5, 5, 5};
    assert_true(is_correct(1, logits, 1));
    assert_false(is_correct(1, logits, 2));
    assert_true(is_correct(2, logits, 2));
    assert_false(is_correct(2, logits, 3));
}

static void a_network_that_gives_nan_is_never_right(void **state) {
    (void)state;
    const double all[] = {NAN, NAN, NAN, NAN}, one[] = {9, NAN, 0, 0};
    for (int label = 0; label < 4; label++)
        assert_false(is_correct(4, all, label));
    assert_false(is_correct(1, one, 0));
    assert_true(is_correct(2, one, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_k_largest_count),
        cmocka_unit_test(of_equal_logits_only_the_first_is_largest),
        cmocka_unit_test(a_network_that_gives_nan_is_never_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
