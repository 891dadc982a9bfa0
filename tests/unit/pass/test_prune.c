/* Prune: what nobody reads goes, what has an effect stays. */
#include "support/files.h"

#include "ops/ops.h"
#include "pass/pass.h"
#include "support/network.h"

static const int64_t images[] = {2, 3, 4, 4};
static neap_graph *g, *pruned;

static neap_value begin(void) {
    assert_no_error(neap_graph_create("g", &g));
    return neap_input(g, "x", NEAP_F32, 4, images);
}

static void prune(void) {
    assert_no_error(neap_graph_check(g));
    assert_no_error(pass_prune(g, &pruned));
    assert_no_error(graph_verify(pruned, "prune"));
}

static void drop(void) {
    graph_free(g);
    graph_free(pruned);
}

static void NodesThatNobodyReadsGo(void **state) {
    (void)state;
    neap_relu(g, neap_relu(g, begin(), "a"), "b");
    prune();
    assert_int_equal(pruned->n_nodes, 0);
    drop();
}

static void EffectsStayWithAllTheyRead(void **state) {
    (void)state;
    g = network_model("mlp", 2, 28);
    prune();
    assert_int_equal(pruned->n_nodes, g->n_nodes);
    assert_int_equal(count_op(pruned, &op_metric_add), 3);
    drop();
}

static void OnlyTheBranchWithoutAReaderGoes(void **state) {
    (void)state;
    g = network_model("mlp", 2, 28);
    neap_relu(g, value_named(g, "linear_relu_stack.2"), "aside");
    prune();
    assert_int_equal(pruned->n_nodes, g->n_nodes - 1);
    drop();
}

static void PersistentValuesAndInputsStay(void **state) {
    (void)state;
    g = network_model("lenet5", 2, 28);
    prune();
    for (value_id v = 0; v < g->n_values; v++)
        if (graph_value(g, v)->persistent || graph_value(g, v)->kind == VALUE_INPUT)
            value_named(pruned, graph_value(g, v)->name);
    assert_int_equal(pruned->roles.logits, value_named(pruned, "fc3"));
    drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(NodesThatNobodyReadsGo),
        cmocka_unit_test(EffectsStayWithAllTheyRead),
        cmocka_unit_test(OnlyTheBranchWithoutAReaderGoes),
        cmocka_unit_test(PersistentValuesAndInputsStay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
