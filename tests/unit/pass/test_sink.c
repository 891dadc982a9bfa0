/* Update and sink: where gradients live, and that fused updates follow right behind them. */
#include "support/files.h"

#include "ops/ops.h"
#include "ops/sgd.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "support/network.h"

enum { MAX_VALUES = 4096 };
static neap_graph *g;

static void train(const char *model, int gradients, double momentum) {
    static value_id found[MAX_VALUES];
    static const char *const states[] = {"momentum_buffer"};
    const struct sgd_attrs attrs = {.momentum = momentum};
    const struct update_options update = {.op = &op_sgd,
                                          .attrs = &attrs,
                                          .n_states = momentum != 0,
                                          .state_names = states,
                                          .gradients = gradients};
    neap_graph *result, *network = network_model(model, 2, 28);
    assert_no_error(pass_expand(network, true, &result));
    graph_free(network);
    g = result;
    uint32_t n_values = g->n_values;
    assert_true(n_values < MAX_VALUES);
    assert_no_error(autodiff_run(g, g->roles.loss, false, found));
    assert_no_error(pass_update(g, &update, found, n_values));
    assert_no_error(graph_verify(g, "update"));
}

static const struct node *update_of(const char *parameter) {
    char name[128];
    snprintf(name, sizeof name, "%s.sgd", parameter);
    return graph_node(g, node_named(g, name));
}

static void AStoredGradientIsPersistentAndRead(void **state) {
    (void)state;
    train("lenet5", GRADIENTS_STORED, 0.9);
    const struct node *update = update_of("conv2.weight");
    assert_int_equal(update->n_inputs, 1);
    assert_int_equal(update->n_updates, 2);
    const struct value *gradient = graph_value(g, update->inputs[0]);
    assert_true(gradient->persistent);
    assert_int_equal(gradient->kind, VALUE_PARAMETER_GRADIENT);
    assert_int_equal(gradient->of, value_named(g, "conv2.weight"));
    assert_int_equal(update->updates[0], value_named(g, "conv2.weight"));
    assert_int_equal(update->updates[1], value_named(g, "conv2.weight.momentum_buffer"));
    graph_free(g);
}

static void AFusedGradientLivesInTheArena(void **state) {
    (void)state;
    train("lenet5", GRADIENTS_FUSED, 0);
    const struct node *update = update_of("conv2.weight");
    assert_int_equal(update->n_updates, 1);
    assert_false(graph_value(g, update->inputs[0])->persistent);
    graph_free(g);
}

/* A convolution's gradient is added through a temporary, a linear layer's by its kernel. */
static void AccumulatorsAreUpdatedInBackwardAndClearedByTheUpdate(void **state) {
    (void)state;
    train("lenet5", GRADIENTS_ACCUMULATED, 0.9);
    const struct node *update = update_of("conv2.weight");
    value_id accumulator = value_named(g, "conv2.weight.gradient");
    assert_int_equal(update->n_inputs, 0);
    assert_int_equal(update->updates[2], accumulator);
    assert_true(graph_value(g, accumulator)->persistent);
    const struct node *add = graph_node(g, node_named(g, "conv2.weight.accumulate"));
    assert_ptr_equal(add->op, &op_accumulate);
    assert_int_equal(add->updates[0], accumulator);
    assert_int_equal(add->phase, PHASE_BACKWARD);
    assert_int_equal(count_op(g, &op_accumulate), 4); /* two convolutions' weights and biases */
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(g, n);
        if (node->op != &op_linear_backward_weight)
            continue;
        assert_int_equal(node->n_outputs, 0);
        assert_int_equal(node->n_updates, 2);
    }
    graph_free(g);
}

static void UpdatesStandBehindAllOfBackward(void **state) {
    (void)state;
    for (int gradients = GRADIENTS_STORED; gradients <= GRADIENTS_ACCUMULATED; gradients++) {
        train("resnet20", gradients, 0.9);
        bool update = false;
        for (node_id n = 0; n < g->n_nodes; n++) {
            update = update || graph_node(g, n)->phase == PHASE_UPDATE;
            assert_true(!update || graph_node(g, n)->phase == PHASE_UPDATE);
        }
        graph_free(g);
    }
}

static bool reads(const struct node *node, value_id v) {
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] == v)
            return true;
    return false;
}

/* No node may stand between the last that makes the gradient or reads gradient or parameter, and
 * the update, except other updates. */
static void assert_sunk(node_id update) {
    const struct node *node = graph_node(g, update);
    node_id before = update - 1;
    while (graph_node(g, before)->phase == PHASE_UPDATE)
        before--;
    const struct node *last = graph_node(g, before);
    bool needed = reads(last, node->inputs[0]) || reads(last, node->updates[0]);
    for (uint32_t i = 0; i < last->n_outputs; i++)
        needed = needed || last->outputs[i] == node->inputs[0];
    if (!needed)
        fail_msg("'%s' stands behind '%s', which it need not wait for", node->name, last->name);
}

static void FusedUpdatesFollowRightBehindTheirGradients(void **state) {
    (void)state;
    static const char *const models[] = {"mlp", "lenet5", "resnet20"};
    for (int m = 0; m < 3; m++) {
        train(models[m], GRADIENTS_FUSED, 0.9);
        uint32_t n_nodes = g->n_nodes;
        assert_no_error(pass_sink_updates(g));
        assert_no_error(graph_verify(g, "sink"));
        assert_int_equal(g->n_nodes, n_nodes);
        for (node_id n = 0; n < g->n_nodes; n++)
            if (graph_node(g, n)->phase == PHASE_UPDATE)
                assert_sunk(n);
        graph_free(g);
    }
}

/* Backward's use of a weight comes before that weight changes. */
static void NoUpdateOvertakesAReaderOfItsParameter(void **state) {
    (void)state;
    train("resnet20", GRADIENTS_FUSED, 0.9);
    assert_no_error(pass_sink_updates(g));
    for (node_id u = 0; u < g->n_nodes; u++)
        for (node_id n = u + 1; graph_node(g, u)->phase == PHASE_UPDATE && n < g->n_nodes; n++)
            assert_false(reads(graph_node(g, n), graph_node(g, u)->updates[0]));
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AStoredGradientIsPersistentAndRead),
        cmocka_unit_test(AFusedGradientLivesInTheArena),
        cmocka_unit_test(AccumulatorsAreUpdatedInBackwardAndClearedByTheUpdate),
        cmocka_unit_test(UpdatesStandBehindAllOfBackward),
        cmocka_unit_test(FusedUpdatesFollowRightBehindTheirGradients),
        cmocka_unit_test(NoUpdateOvertakesAReaderOfItsParameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
