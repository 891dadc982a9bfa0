/* Expand: batch norm and dropout in training and in evaluation. */
#include "support/files.h"

#include "ops/batch_norm.h"
#include "ops/ops.h"
#include "pass/pass.h"
#include "support/network.h"

static const int64_t images[] = {2, 3, 5, 7};
static neap_graph *model, *expanded;

static void expand(bool training) {
    assert_no_error(neap_graph_create("g", &model));
    neap_value x = neap_input(model, "x", NEAP_F32, 4, images);
    x = neap_batch_norm(model, x, "bn", 0, 0.25);
    x = neap_dropout(model, neap_relu(model, x, "relu"), "drop", 0.5);
    neap_value loss;
    neap_op(model, "reduce_sum", "loss", &x, 1, "", &loss, 1);
    assert_no_error(neap_graph_check(model));
    model->roles.loss = loss;
    assert_no_error(pass_expand(model, training, &expanded));
    assert_no_error(graph_verify(expanded, "expand"));
}

static void drop(void) {
    graph_free(model);
    graph_free(expanded);
}

static const struct node *only(const struct op_def *op) {
    assert_int_equal(count_op(expanded, op), 1);
    node_id n = 0;
    while (graph_node(expanded, n)->op != op)
        n++;
    return graph_node(expanded, n);
}

static void TrainingNormalizesByTheBatchsStatistics(void **state) {
    (void)state;
    expand(true);
    const struct node *stats = only(&op_batch_norm_stats), *apply = only(&op_batch_norm_apply);
    assert_int_equal(count_op(expanded, &op_batch_norm), 0);
    assert_int_equal(stats->inputs[0], value_named(expanded, "x"));
    assert_int_equal(apply->inputs[0], value_named(expanded, "x"));
    assert_int_equal(apply->inputs[1], stats->outputs[0]);
    assert_int_equal(apply->inputs[2], stats->outputs[1]);
    assert_int_equal(apply->inputs[3], value_named(expanded, "bn.weight"));
    assert_int_equal(apply->inputs[4], value_named(expanded, "bn.bias"));
    assert_int_equal(graph_value(expanded, stats->outputs[0])->kind, VALUE_SAVED);
    assert_int_equal(only(&op_relu)->inputs[0], apply->outputs[0]);
    drop();
}

static void TrainingUpdatesTheRunningStatisticsInANodeOfItsOwn(void **state) {
    (void)state;
    expand(true);
    const struct node *running = only(&op_batch_norm_running);
    const struct batch_norm_attrs *a = running->attrs;
    assert_true(running->op->flags & OP_EFFECT);
    assert_int_equal(running->n_updates, 2);
    assert_int_equal(running->updates[0], value_named(expanded, "bn.running_mean"));
    assert_int_equal(running->updates[1], value_named(expanded, "bn.running_var"));
    assert_true(a->momentum == 0.25);
    assert_int_equal(a->count, 2 * 5 * 7);
    assert_false(only(&op_batch_norm_stats)->op->flags & OP_EFFECT);
    assert_false(only(&op_batch_norm_apply)->op->flags & OP_EFFECT);
    drop();
}

static void EvaluationNormalizesByTheRunningStatistics(void **state) {
    (void)state;
    expand(false);
    const struct node *apply = only(&op_batch_norm_apply);
    assert_int_equal(count_op(expanded, &op_batch_norm_stats), 0);
    assert_int_equal(count_op(expanded, &op_batch_norm_running), 0);
    assert_int_equal(apply->inputs[1], value_named(expanded, "bn.running_mean"));
    assert_int_equal(apply->inputs[2], value_named(expanded, "bn.running_var"));
    drop();
}

static void DropoutIsThereInTrainingAlone(void **state) {
    (void)state;
    expand(true);
    assert_int_equal(only(&op_dropout)->inputs[0], only(&op_relu)->outputs[0]);
    drop();
    expand(false);
    assert_int_equal(count_op(expanded, &op_dropout), 0);
    assert_int_equal(only(&op_reduce_sum)->inputs[0], only(&op_relu)->outputs[0]);
    drop();
}

static void RolesGoAlong(void **state) {
    (void)state;
    expand(false);
    assert_int_equal(expanded->roles.loss, value_named(expanded, "loss"));
    drop();
}

static void ASingleElementPerChannelIsRefusedInTraining(void **state) {
    (void)state;
    static const int64_t single[] = {1, 3, 1, 1};
    assert_no_error(neap_graph_create("g", &model));
    neap_batch_norm(model, neap_input(model, "x", NEAP_F32, 4, single), "bn", 0, 0);
    assert_no_error(neap_graph_check(model));
    assert_error(pass_expand(model, true, &expanded), NEAP_ERROR_MODEL, "'bn");
    assert_no_error(pass_expand(model, false, &expanded));
    drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TrainingNormalizesByTheBatchsStatistics),
        cmocka_unit_test(TrainingUpdatesTheRunningStatisticsInANodeOfItsOwn),
        cmocka_unit_test(EvaluationNormalizesByTheRunningStatistics),
        cmocka_unit_test(DropoutIsThereInTrainingAlone),
        cmocka_unit_test(RolesGoAlong),
        cmocka_unit_test(ASingleElementPerChannelIsRefusedInTraining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
