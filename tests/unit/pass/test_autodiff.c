/* Autodiff: what it appends, what that reads, and what it refuses. Values of gradients are checked
 * per op by tests/ops. */
#include "support/files.h"

#include "ops/fill.h"
#include "ops/ops.h"
#include "ops/slice.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "support/interpret.h"
#include "support/network.h"

static const int64_t images[] = {2, 3, 4, 4};
static const int64_t square[] = {3, 3, 3, 3};
static const struct neap_init ones = {NEAP_INIT_CONSTANT, 1};
static neap_graph *g;
static value_id gradients[256];

static neap_value begin(void) {
    assert_no_error(neap_graph_create("g", &g));
    return neap_input(g, "x", NEAP_F32, 4, images);
}

/* loss = Σ y; differentiates. */
static neap_error *differentiate_sum(neap_value y, bool input_gradient) {
    neap_value loss;
    neap_op(g, "reduce_sum", "loss", &y, 1, "", &loss, 1);
    assert_no_error(neap_graph_check(g));
    assert_true(g->n_values < 256);
    return autodiff_run(g, loss, input_gradient, gradients);
}

static neap_value conv(neap_value x, const char *name) {
    return neap_conv2d(g, x, name,
                       &(struct neap_conv2d){.out_channels = 3, .kernel = {3}, .padding = {1}});
}

static const struct node *producer(value_id v) {
    assert_int_not_equal(v, ID_NONE);
    return graph_node(g, graph_value(g, v)->producer);
}

static const struct node *only(const struct op_def *op) {
    assert_int_equal(count_op(g, op), 1);
    for (node_id n = 0; n < g->n_nodes; n++)
        if (graph_node(g, n)->op == op)
            return graph_node(g, n);
    return NULL;
}

static void EveryParameterGetsAGradientOfItsShape(void **state) {
    (void)state;
    neap_value x = begin();
    x = neap_batch_norm(g, conv(x, "a"), "bn", 0, 0);
    neap_graph *expanded;
    neap_value loss;
    neap_op(g, "reduce_sum", "loss", &x, 1, "", &loss, 1);
    assert_no_error(neap_graph_check(g));
    g->roles.loss = loss;
    assert_no_error(pass_expand(g, true, &expanded));
    graph_free(g);
    g = expanded;
    uint32_t n = g->n_values;
    assert_no_error(autodiff_run(g, g->roles.loss, false, gradients));
    assert_no_error(graph_verify(g, "autodiff"));
    int n_parameters = 0;
    for (value_id v = 0; v < n; v++) {
        if (graph_value(g, v)->kind != VALUE_PARAMETER)
            continue;
        n_parameters++;
        assert_true(shape_equal(graph_value(g, gradients[v])->shape, graph_value(g, v)->shape));
        assert_int_equal(graph_value(g, gradients[v])->of, v);
        assert_int_equal(producer(gradients[v])->phase, PHASE_BACKWARD);
    }
    assert_int_equal(n_parameters, 3);
    graph_free(g);
}

static void TheSeedIsAFillOfOne(void **state) {
    (void)state;
    neap_value x = begin();
    assert_no_error(differentiate_sum(conv(x, "a"), false));
    const struct node *seed = producer(gradients[value_named(g, "loss")]);
    assert_ptr_equal(seed->op, &op_fill);
    assert_true(((const struct fill_attrs *)seed->attrs)->value == 1);
    graph_free(g);
}

static void AParameterWithoutAPathToTheLossIsNamed(void **state) {
    (void)state;
    neap_value x = begin();
    conv(x, "stray");
    assert_error(differentiate_sum(conv(x, "a"), false), NEAP_ERROR_MODEL, "'stray.weight'");
    graph_free(g);

    x = begin();
    neap_parameter(g, "unread", 4, square, ones);
    assert_error(differentiate_sum(conv(x, "a"), false), NEAP_ERROR_MODEL, "'unread'");
    graph_free(g);
}

static void AnOpWithoutAGradientIsNamed(void **state) {
    (void)state;
    const int64_t logits[] = {2, 3}, labels[] = {2};
    assert_no_error(neap_graph_create("g", &g));
    neap_value x = neap_linear(g, neap_input(g, "x", NEAP_F32, 2, logits), "fc",
                               &(struct neap_linear){.out_features = 3});
    const neap_value in[] = {x, neap_input(g, "labels", NEAP_I32, 1, labels)};
    neap_value y;
    neap_op(g, "top_k_correct", "top", in, 2, "", &y, 1);
    assert_error(differentiate_sum(y, false), NEAP_ERROR_MODEL, "'top'");
    graph_free(g);
}

static void TheInputsGradientIsMadeOnlyWhenAsked(void **state) {
    (void)state;
    neap_value x = begin();
    assert_no_error(differentiate_sum(conv(conv(x, "a"), "b"), false));
    assert_int_equal(gradients[x], ID_NONE);
    assert_int_equal(count_op(g, &op_conv2d_backward_data), 1);
    assert_int_equal(count_op(g, &op_conv2d_backward_weight), 2);
    graph_free(g);

    x = begin();
    assert_no_error(differentiate_sum(conv(conv(x, "a"), "b"), true));
    assert_true(shape_equal(graph_value(g, gradients[x])->shape, shape_of(4, images)));
    assert_int_equal(graph_value(g, gradients[x])->of, x);
    assert_int_equal(count_op(g, &op_conv2d_backward_data), 2);
    graph_free(g);
}

static void LabelsNeverGetAGradient(void **state) {
    (void)state;
    g = network_model("mlp", 2, 28);
    value_id labels = g->roles.labels, loss = g->roles.loss;
    assert_no_error(autodiff_run(g, loss, true, gradients));
    assert_int_equal(gradients[labels], ID_NONE);
    graph_free(g);
}

/* Three readers: the last in the base order contributes first, the others are added in turn, so
 * that each sum can take its first operand's place. */
static void ContributionsAreAddedInOrder(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value trunk = conv(x, "trunk");
    neap_value a = conv(trunk, "a"), b = conv(trunk, "b"), c = conv(trunk, "c");
    assert_no_error(differentiate_sum(neap_add(g, neap_add(g, a, b, "ab"), c, "abc"), false));
    const struct node *outer = producer(gradients[trunk]);
    assert_ptr_equal(outer->op, &op_add);
    const struct node *inner = producer(outer->inputs[0]);
    assert_ptr_equal(inner->op, &op_add);
    assert_non_null(strstr(producer(inner->inputs[0])->name, "c."));
    assert_non_null(strstr(producer(inner->inputs[1])->name, "b."));
    assert_non_null(strstr(producer(outer->inputs[1])->name, "a."));
    assert_int_equal(op_add.overwrites[0].input, 0);
    graph_free(g);
}

static void AValueAddedToItselfGetsBothContributions(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = conv(x, "a");
    assert_no_error(differentiate_sum(neap_add(g, y, y, "twice"), false));
    assert_no_error(graph_verify(g, "autodiff"));
    assert_ptr_equal(producer(gradients[y])->op, &op_add);
    graph_free(g);
}

enum { LAYERS = 4 };

/* Every concat takes one part more, as in DenseNet; loss = Σ over concats and their elements k of
 * (1 + k) y[k]: each concat's factors are an input. */
static void build_dense(neap_value parts[LAYERS], neap_value factors[LAYERS]) {
    neap_value sum = NEAP_NONE, y;
    begin();
    for (int i = 0; i < LAYERS; i++) {
        const int64_t part[] = {1, i + 1}, whole[] = {1, (i + 1) * (i + 2) / 2};
        char name[16];
        snprintf(name, sizeof name, "part%d", i);
        parts[i] = neap_parameter(g, name, 2, part, ones);
        y = i ? neap_concat(g, parts, (size_t)i + 1, 1, "concat") : parts[0];
        snprintf(name, sizeof name, "factors%d", i);
        factors[i] = neap_input(g, name, NEAP_F32, 2, whole);
        neap_op(g, "mul", "product", (neap_value[]){y, factors[i]}, 2, "", &y, 1);
        neap_op(g, "reduce_sum", "sum", &y, 1, "", &y, 1);
        sum = i ? neap_add(g, sum, y, "loss") : y;
    }
    assert_no_error(neap_graph_check(g));
    assert_no_error(autodiff_run(g, sum, false, gradients));
}

/* Two slices a concat, one for all that the concat before has; not one for each part. */
static void ConcatsOfTheSameFirstValuesShareTheirGradients(void **state) {
    (void)state;
    neap_value parts[LAYERS], factors[LAYERS];
    struct interpreter it;
    build_dense(parts, factors);
    assert_int_equal(count_op(g, &op_slice), 2 * (LAYERS - 1));
    assert_no_error(interpreter_create(g, &it));
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < (i + 1) * (i + 2) / 2; k++)
            tensor_set(&it.tensors[factors[i]], k, 1 + k);
    interpreter_run(&it, 0, g->n_nodes);
    for (int i = 0, k = 0; i < LAYERS; i++)
        for (int j = 0; j <= i; j++, k++) /* place k of every concat that has it */
            assert_true(tensor_get(&it.tensors[gradients[parts[i]]], j) ==
                        (LAYERS - i) * (1.0 + k));
    interpreter_destroy(&it);
    graph_free(g);
}

static void ReluReadsAMaskWhereNothingElseReadsItsOutput(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = neap_relu(g, conv(x, "a"), "relu");
    assert_no_error(differentiate_sum(y, false));
    const struct node *relu = only(&op_relu), *backward = only(&op_relu_backward);
    assert_int_equal(relu->n_outputs, 2);
    assert_int_equal(backward->inputs[1], relu->outputs[1]);
    assert_int_equal(graph_value(g, relu->outputs[1])->dtype, DTYPE_BIT);
    assert_int_equal(graph_value(g, relu->outputs[1])->kind, VALUE_SAVED);
    graph_free(g);
}

static void ReluReadsItsOutputWhereThatIsReadAnyway(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = neap_relu(g, conv(x, "a"), "relu");
    assert_no_error(differentiate_sum(conv(y, "b"), false));
    const struct node *relu = only(&op_relu), *backward = only(&op_relu_backward);
    assert_int_equal(relu->n_outputs, 1);
    assert_int_equal(backward->inputs[1], relu->outputs[0]);
    graph_free(g);
}

/* A view shares its storage: what reads the flat form reads the output. */
static void ReluSeesReadersThroughViews(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = neap_relu(g, conv(x, "a"), "relu");
    y = neap_linear(g, neap_flatten(g, y, "flat"), "fc", &(struct neap_linear){.out_features = 2});
    assert_no_error(differentiate_sum(y, false));
    assert_int_equal(only(&op_relu)->n_outputs, 1);
    graph_free(g);
}

static void WhatDoesNotReachTheLossIsNotDifferentiated(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = conv(x, "a");
    neap_relu(g, y, "aside");
    assert_no_error(differentiate_sum(y, false));
    assert_int_equal(count_op(g, &op_relu_backward), 0);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryParameterGetsAGradientOfItsShape),
        cmocka_unit_test(TheSeedIsAFillOfOne),
        cmocka_unit_test(AParameterWithoutAPathToTheLossIsNamed),
        cmocka_unit_test(AnOpWithoutAGradientIsNamed),
        cmocka_unit_test(TheInputsGradientIsMadeOnlyWhenAsked),
        cmocka_unit_test(LabelsNeverGetAGradient),
        cmocka_unit_test(ContributionsAreAddedInOrder),
        cmocka_unit_test(ConcatsOfTheSameFirstValuesShareTheirGradients),
        cmocka_unit_test(AValueAddedToItselfGetsBothContributions),
        cmocka_unit_test(ReluReadsAMaskWhereNothingElseReadsItsOutput),
        cmocka_unit_test(ReluReadsItsOutputWhereThatIsReadAnyway),
        cmocka_unit_test(ReluSeesReadersThroughViews),
        cmocka_unit_test(WhatDoesNotReachTheLossIsNotDifferentiated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
