/* Fuse: which pairs become one node, and that a network computes the same with and without. */
#include "support/files.h"

#include <math.h>

#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/fill.h"
#include "ops/linear.h"
#include "ops/ops.h"
#include "ops/sgd.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "support/interpret.h"
#include "support/network.h"

enum { MAX_VALUES = 4096 };
static const int64_t images[] = {2, 3, 6, 6};
static neap_graph *g;

static neap_value begin(void) {
    assert_no_error(neap_graph_create("g", &g));
    return neap_input(g, "x", NEAP_F32, 4, images);
}

static neap_value conv(neap_value x, const char *name) {
    return neap_conv2d(g, x, name,
                       &(struct neap_conv2d){.out_channels = 3, .kernel = {3}, .padding = {1}});
}

static neap_value norm(neap_value x, const char *name) {
    return neap_batch_norm(g, x, name, 0, 0);
}

static void end_with(neap_value y) {
    neap_value loss;
    neap_op(g, "reduce_sum", "loss", &y, 1, "", &loss, 1);
    assert_no_error(neap_graph_check(g));
    g->roles.loss = loss;
}

/* Takes a pass's result over; false where it changed nothing. */
static bool take(neap_graph *result, const char *pass) {
    if (!result)
        return false;
    graph_free(g);
    g = result;
    assert_no_error(graph_verify(g, pass));
    return true;
}

/* The compiler's line without layouts, with the fusions that are wanted. */
static void compile_with(bool fuse_before, bool fuse_after, int gradients) {
    neap_graph *result;
    static value_id found[MAX_VALUES];
    static const char *const states[] = {"momentum_buffer"};
    const struct sgd_attrs attrs = {.momentum = 0.9};
    const struct update_options update = {.op = &op_sgd,
                                          .attrs = &attrs,
                                          .n_states = 1,
                                          .state_names = states,
                                          .gradients = gradients};
    assert_no_error(pass_expand(g, true, &result));
    take(result, "expand");
    if (fuse_before) {
        assert_no_error(pass_fuse_before_autodiff(g, &result));
        take(result, "fuse before");
    }
    uint32_t n_values = g->n_values;
    assert_true(n_values < MAX_VALUES);
    assert_no_error(autodiff_run(g, g->roles.loss, false, found));
    assert_no_error(graph_verify(g, "autodiff"));
    assert_no_error(pass_update(g, &update, found, n_values));
    assert_no_error(graph_verify(g, "update"));
    if (fuse_after) {
        assert_no_error(pass_fuse_after_autodiff(g, &result));
        take(result, "fuse after");
    }
    if (gradients == GRADIENTS_FUSED)
        assert_no_error(pass_sink_updates(g));
}

static void prune(void) {
    neap_graph *result;
    assert_no_error(pass_prune(g, &result));
    take(result, "prune");
}

/* ---- patterns
 * ------------------------------------------------------------------------------------- */

static const struct node *only(const struct op_def *op) {
    assert_int_equal(count_op(g, op), 1);
    node_id n = 0;
    while (graph_node(g, n)->op != op)
        n++;
    return graph_node(g, n);
}

static bool norm_has_relu(const struct node *node) {
    return ((const struct batch_norm_attrs *)node->attrs)->relu;
}

static void ReluGoesIntoTheNormBeforeIt(void **state) {
    (void)state;
    end_with(neap_relu(g, norm(begin(), "bn"), "relu"));
    compile_with(true, true, GRADIENTS_STORED);
    assert_int_equal(count_op(g, &op_relu), 0);
    assert_int_equal(count_op(g, &op_relu_backward), 0);
    const struct node *apply = only(&op_batch_norm_apply);
    assert_true(norm_has_relu(apply));
    assert_int_equal(apply->n_outputs, 1); /* no mask */
    assert_string_equal(graph_value(g, apply->outputs[0])->name, "relu");
    graph_free(g);
}

static void AnAddedBranchGoesIntoTheNormWithItsRelu(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = norm(conv(x, "conv"), "bn");
    end_with(neap_relu(g, neap_add(g, y, x, "add"), "relu"));
    compile_with(true, true, GRADIENTS_STORED);
    assert_int_equal(count_op(g, &op_add), 0);
    assert_int_equal(count_op(g, &op_relu), 0);
    const struct node *apply = only(&op_batch_norm_apply);
    assert_true(norm_has_relu(apply));
    assert_int_equal(apply->n_inputs, 6);
    assert_int_equal(apply->inputs[5], value_named(g, "x"));
    graph_free(g);
}

static void TheBranchMayBeEitherOperand(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value y = norm(conv(x, "conv"), "bn");
    end_with(neap_add(g, x, y, "add"));
    compile_with(true, true, GRADIENTS_STORED);
    assert_int_equal(count_op(g, &op_add), 0);
    assert_int_equal(only(&op_batch_norm_apply)->inputs[5], value_named(g, "x"));
    graph_free(g);
}

/* The fused node stands where the add stood: behind both branches. */
static void OfTwoNormsOneTakesTheOther(void **state) {
    (void)state;
    neap_value x = begin();
    neap_value left = norm(conv(x, "a"), "bn.a"), right = norm(conv(x, "b"), "bn.b");
    end_with(neap_add(g, left, right, "add"));
    compile_with(true, true, GRADIENTS_STORED);
    assert_int_equal(count_op(g, &op_add), 0);
    assert_int_equal(count_op(g, &op_batch_norm_apply), 2);
    graph_free(g);
}

static void ANormThatSomethingElseReadsStays(void **state) {
    (void)state;
    neap_value y = norm(begin(), "bn");
    end_with(neap_add(g, neap_relu(g, y, "relu"), conv(y, "conv"), "add"));
    compile_with(true, true, GRADIENTS_STORED);
    assert_int_equal(count_op(g, &op_relu), 1);
    assert_false(norm_has_relu(only(&op_batch_norm_apply)));
    graph_free(g);
}

static void ANormAddedToItselfStays(void **state) {
    (void)state;
    neap_value y = norm(begin(), "bn");
    end_with(neap_add(g, y, y, "twice"));
    compile_with(true, true, GRADIENTS_STORED);
    assert_ptr_equal(graph_node(g, node_named(g, "twice"))->op, &op_add);
    assert_int_equal(only(&op_batch_norm_apply)->n_inputs, 5);
    graph_free(g);
}

static void ReluGoesIntoAConvolutionUnlessItsMaskIsWanted(void **state) {
    (void)state;
    neap_value y =
        neap_relu(g, conv(begin(), "a"), "relu.a"); /* read again by the next's weights */
    end_with(neap_relu(g, conv(y, "b"), "relu.b")); /* read by nobody: a mask */
    compile_with(true, true, GRADIENTS_STORED);
    assert_true(((const struct conv2d_attrs *)graph_node(g, node_named(g, "a"))->attrs)->relu);
    assert_false(((const struct conv2d_attrs *)graph_node(g, node_named(g, "b"))->attrs)->relu);
    assert_int_equal(only(&op_relu)->n_outputs, 2);
    graph_free(g);
}

static void ReluGoesIntoALinearLayer(void **state) {
    (void)state;
    g = network_model("mlp", 2, 28);
    compile_with(true, true, GRADIENTS_STORED);
    assert_int_equal(count_op(g, &op_relu), 0);
    node_id first = node_named(g, "linear_relu_stack.0");
    assert_true(((const struct linear_attrs *)graph_node(g, first)->attrs)->relu);
    graph_free(g);
}

static void NothingToFuseChangesNothing(void **state) {
    (void)state;
    neap_graph *result;
    end_with(conv(begin(), "a"));
    assert_no_error(pass_fuse_before_autodiff(g, &result));
    assert_null(result);
    assert_no_error(pass_fuse_after_autodiff(g, &result));
    assert_null(result);
    graph_free(g);
}

/* ---- results
 * --------------------------------------------------------------------------------------- */

/* In double, so that only mistakes differ. */
static void make_double(void) {
    for (value_id v = 0; v < g->n_values; v++)
        if (graph_value(g, v)->dtype == DTYPE_F32)
            graph_value(g, v)->dtype = DTYPE_F64;
    assert_no_error(graph_rebatch(g, graph_batch(g)));
}

static void fill_value(const struct value *value, const struct tensor *t) {
    bool variance = strstr(value->name, "running_var");
    unsigned phase = 0;
    for (const char *c = value->name; *c; c++)
        phase = 31 * phase + (unsigned char)*c;
    for (int64_t i = 0; i < shape_elements(value->shape); i++)
        tensor_set(t, i,
                   value->dtype == DTYPE_I32 ? (double)(i % 10)
                   : variance                ? 1
                                             : 0.3 * sin(1.7 * (double)i + phase % 97));
}

/* Two updates by reference; what they leave in persistent values, by name. */
static void run(struct interpreter *it) {
    assert_no_error(interpreter_create(g, it));
    it->params.gradient_scale = 1;
    for (value_id v = 0; v < g->n_values; v++) {
        enum value_kind kind = graph_value(g, v)->kind;
        if (kind == VALUE_INPUT || kind == VALUE_PARAMETER || kind == VALUE_BUFFER)
            fill_value(graph_value(g, v), &it->tensors[v]);
    }
    for (int update = 0; update < 2; update++)
        interpreter_run(it, 0, g->n_nodes);
}

static bool is_trained(const struct value *value) {
    return value->persistent && value->kind != VALUE_PARAMETER_GRADIENT;
}

static void assert_same_results(const struct interpreter *a, const struct interpreter *b) {
    int n_compared = 0;
    for (value_id v = 0; v < a->g->n_values; v++) {
        const struct value *value = graph_value(a->g, v);
        if (!is_trained(value))
            continue;
        const struct tensor *x = &a->tensors[v], *y = &b->tensors[value_named(b->g, value->name)];
        for (int64_t i = 0; i < shape_elements(value->shape); i++)
            if (!(fabs(tensor_get(x, i) - tensor_get(y, i)) <= 1e-10))
                fail_msg("%s[%lld]: %.17g and %.17g", value->name, (long long)i, tensor_get(x, i),
                         tensor_get(y, i));
        n_compared++;
    }
    assert_true(n_compared > 4);
}

/* With every combination of fusions, wherever gradients live, pruned or not. */
static void assert_fusions_change_nothing(const char *model, int64_t image_size) {
    struct interpreter plain, fused;
    neap_graph *plain_graph;
    g = network_model(model, 3, image_size);
    make_double();
    compile_with(false, false, GRADIENTS_STORED);
    plain_graph = g;
    run(&plain);
    for (int choice = 1; choice < 12; choice++) {
        g = network_model(model, 3, image_size);
        make_double();
        compile_with(choice & 1, choice & 2, choice / 4);
        prune();
        run(&fused);
        assert_same_results(&plain, &fused);
        interpreter_destroy(&fused);
        graph_free(g);
    }
    interpreter_destroy(&plain);
    graph_free(plain_graph);
}

static void LenetComputesTheSameWithEveryFusionOnAndOff(void **state) {
    (void)state;
    assert_fusions_change_nothing("lenet5", 14);
}

static void ResnetComputesTheSameWithEveryFusionOnAndOff(void **state) {
    (void)state;
    assert_fusions_change_nothing("resnet20", 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ReluGoesIntoTheNormBeforeIt),
        cmocka_unit_test(AnAddedBranchGoesIntoTheNormWithItsRelu),
        cmocka_unit_test(TheBranchMayBeEitherOperand),
        cmocka_unit_test(OfTwoNormsOneTakesTheOther),
        cmocka_unit_test(ANormThatSomethingElseReadsStays),
        cmocka_unit_test(ANormAddedToItselfStays),
        cmocka_unit_test(ReluGoesIntoAConvolutionUnlessItsMaskIsWanted),
        cmocka_unit_test(ReluGoesIntoALinearLayer),
        cmocka_unit_test(NothingToFuseChangesNothing),
        cmocka_unit_test(LenetComputesTheSameWithEveryFusionOnAndOff),
        cmocka_unit_test(ResnetComputesTheSameWithEveryFusionOnAndOff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
