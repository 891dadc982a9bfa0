/* Layout: who gets which, and where reorders stand. A backend of four rules decides: convolutions
 * want blocked activations and blocked weights, backward-data its weights otherwise; elementwise
 * ops take what comes; everything else wants the plain layout. */
#include "support/files.h"

#include "ops/layout_query.h"
#include "ops/ops.h"
#include "ops/sgd.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "support/network.h"

static const int64_t images[] = {2, 16, 4, 4};
static neap_graph *g, *laid;
static const void **choices;
static const char choice_made = 'x';

static struct layout of_text(const char *text) {
    struct layout layout;
    assert_no_error(layout_of_text(text, 4, &layout));
    return layout;
}

static void choose_blocked(const struct node *node, struct layout *in, struct layout *out) {
    for (uint32_t i = 0; i < node->n_inputs; i++)
        in[i] = layout_blocked_channels(16);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        out[i] = layout_blocked_channels(16);
    if (node->op == &op_conv2d)
        in[1] = of_text("ABcd16b16a");
    if (node->op == &op_conv2d_backward_data)
        in[1] = of_text("ABcd16a16b");
    if (node->op == &op_conv2d_backward_weight)
        out[0] = of_text("ABcd16b16a");
}

static neap_error *choose(void *backend, const neap_graph *graph, const struct node *node,
                          uint64_t open, struct layout *in, struct layout *out,
                          const void **choice) {
    (void)backend;
    (void)open;
    *choice = &choice_made;
    if (node->op == &op_reorder)
        return NULL;
    if (node->op == &op_conv2d || node->op == &op_conv2d_backward_data ||
        node->op == &op_conv2d_backward_weight) {
        choose_blocked(node, in, out);
        return NULL;
    }
    if (node->phase == PHASE_UPDATE) { /* the gradient as its parameter */
        in[0] = graph_value(graph, node->updates[0])->layout;
        return NULL;
    }
    if (node->op->flags & OP_ELEMENTWISE) {
        for (uint32_t i = 0; i < node->n_outputs; i++)
            out[i] = graph_value(graph, node->inputs[0])->layout;
        for (uint32_t i = 1; i < node->n_inputs; i++)
            in[i] = in[0];
        return NULL;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        in[i] = (struct layout){0};
    return NULL;
}
static const struct layout_query query = {.choose = choose};

static neap_value begin(void) {
    assert_no_error(neap_graph_create("g", &g));
    return neap_input(g, "x", NEAP_F32, 4, images);
}

static neap_value conv(neap_value x, const char *name) {
    return neap_conv2d(g, x, name,
                       &(struct neap_conv2d){.out_channels = 16, .kernel = {3}, .padding = {1}});
}

static void end_with(neap_value y) {
    neap_value loss;
    neap_op(g, "reduce_sum", "loss", &y, 1, "", &loss, 1);
    assert_no_error(neap_graph_check(g));
    g->roles.loss = loss;
}

static void lay(const neap_graph *fixed) {
    assert_no_error(pass_layout(g, &query, fixed, &laid, &choices));
    assert_no_error(graph_verify(laid, "layout"));
    for (node_id n = 0; n < laid->n_nodes; n++)
        assert_true((choices[n] == NULL) == !!(graph_node(laid, n)->op->flags & OP_VIEW));
}

static void drop(void) {
    graph_free(g);
    graph_free(laid);
    free(choices);
}

static void assert_layout(const char *value, const char *text) {
    char buffer[40];
    const struct value *v = graph_value(laid, value_named(laid, value));
    assert_string_equal(layout_text(v->layout, v->shape.rank, buffer), text);
}

static void ChainsOfOneLayoutHaveNoReorderInside(void **state) {
    (void)state;
    neap_value y = neap_relu(g, conv(begin(), "a"), "relu");
    end_with(conv(neap_relu(g, conv(y, "b"), "relu.b"), "c"));
    lay(NULL);
    assert_int_equal(count_op(laid, &op_reorder), 2); /* in and out */
    assert_layout("relu", "aBcd16b");
    assert_layout("relu.b", "aBcd16b");
    drop();
}

static void AParameterTakesTheLayoutOfItsFirstReader(void **state) {
    (void)state;
    end_with(conv(begin(), "a"));
    lay(NULL);
    assert_layout("a.weight", "ABcd16b16a");
    for (node_id n = 0; n < laid->n_nodes; n++)
        if (graph_node(laid, n)->op == &op_reorder)
            assert_int_not_equal(graph_node(laid, n)->inputs[0], value_named(laid, "a.weight"));
    drop();
}

static void PlainNetworksGetNoReorder(void **state) {
    (void)state;
    neap_value x = begin();
    end_with(neap_relu(g, neap_relu(g, x, "a"), "b"));
    lay(NULL);
    assert_int_equal(count_op(laid, &op_reorder), 0);
    assert_int_equal(laid->n_nodes, g->n_nodes);
    drop();
}

static void TheSameReorderIsMadeOnce(void **state) {
    (void)state;
    neap_value x = begin();
    end_with(neap_add(g, conv(x, "a"), conv(x, "b"), "add"));
    lay(NULL);
    assert_int_equal(count_op(laid, &op_reorder), 2); /* x for both; the sum */
    assert_int_equal(graph_node(laid, node_named(laid, "a"))->inputs[0],
                     graph_node(laid, node_named(laid, "b"))->inputs[0]);
    drop();
}

static void ViewsAreReadPlain(void **state) {
    (void)state;
    neap_value y = neap_flatten(g, conv(begin(), "a"), "flat");
    end_with(y);
    lay(NULL);
    const struct node *flat = graph_node(laid, node_named(laid, "flat"));
    assert_true(layout_is_plain(graph_value(laid, flat->inputs[0])->layout));
    assert_ptr_equal(graph_node(laid, graph_value(laid, flat->inputs[0])->producer)->op,
                     &op_reorder);
    drop();
}

/* Two convolutions with backward and updates. */
static void train_with(const neap_graph *fixed, int where) {
    static value_id gradients[256];
    static const char *const states[] = {"momentum_buffer"};
    const struct sgd_attrs attrs = {.momentum = 0.9};
    const struct update_options update = {
        .op = &op_sgd, .attrs = &attrs, .n_states = 1, .state_names = states, .gradients = where};
    end_with(conv(conv(begin(), "a"), "b"));
    uint32_t n_values = g->n_values;
    assert_no_error(autodiff_run(g, g->roles.loss, false, gradients));
    assert_no_error(pass_update(g, &update, gradients, n_values));
    lay(fixed);
}

static void train(const neap_graph *fixed) {
    train_with(fixed, GRADIENTS_FUSED);
}

static void AWeightWantedOtherwiseInBackwardIsCopiedInForward(void **state) {
    (void)state;
    train(NULL);
    node_id backward = 0;
    while (graph_node(laid, backward)->op != &op_conv2d_backward_data)
        backward++;
    const struct value *copy = graph_value(laid, graph_node(laid, backward)->inputs[1]);
    const struct node *reorder = graph_node(laid, copy->producer);
    assert_int_equal(copy->kind, VALUE_WEIGHT_COPY);
    assert_ptr_equal(reorder->op, &op_reorder);
    assert_int_equal(reorder->phase, PHASE_FORWARD); /* so that it may be made again */
    assert_int_equal(reorder->inputs[0], value_named(laid, "b.weight"));
    assert_string_equal(copy->name, "b.weight@ABcd16a16b");
    drop();
}

static void MomentsFollowTheirParameter(void **state) {
    (void)state;
    train(NULL);
    assert_layout("a.weight.momentum_buffer", "ABcd16b16a");
    assert_layout("b.weight.momentum_buffer", "ABcd16b16a");
    for (node_id n = 0; n < laid->n_nodes; n++)
        assert_true(graph_node(laid, n)->op != &op_reorder ||
                    graph_node(laid, n)->phase != PHASE_UPDATE);
    drop();
}

static void FixedLayoutsAreKept(void **state) {
    (void)state;
    neap_graph *fixed;
    train(NULL);
    assert_no_error(graph_clone(laid, &fixed));
    graph_value(fixed, value_named(fixed, "a.weight"))->layout = of_text("acdb");
    graph_value(fixed, value_named(fixed, "a.weight.momentum_buffer"))->layout = of_text("acdb");
    drop();
    train(fixed);
    assert_layout("a.weight", "acdb");
    assert_layout("a.weight.momentum_buffer", "acdb");
    assert_layout("b.weight", "ABcd16b16a");
    const struct node *a = graph_node(laid, node_named(laid, "a"));
    assert_int_equal(graph_value(laid, a->inputs[1])->kind, VALUE_WEIGHT_COPY);
    const struct node *sgd = graph_node(laid, node_named(laid, "a.weight.sgd"));
    assert_true(layout_equal(graph_value(laid, sgd->inputs[0])->layout, of_text("acdb")));
    drop();
    graph_free(fixed);
}

/* So that a program for another batch, whose kernels may want other layouts, finds it as it is. */
static void AStoredGradientLiesAsItsParameter(void **state) {
    (void)state;
    neap_graph *fixed;
    train_with(NULL, GRADIENTS_STORED);
    int n_reorders = count_op(laid, &op_reorder);
    assert_no_error(graph_clone(laid, &fixed));
    graph_value(fixed, value_named(fixed, "a.weight"))->layout = of_text("acdb");
    drop();
    train_with(fixed, GRADIENTS_STORED);
    const struct node *sgd = graph_node(laid, node_named(laid, "a.weight.sgd"));
    const struct value *gradient = graph_value(laid, sgd->inputs[0]);
    assert_true(gradient->persistent);
    assert_true(layout_equal(gradient->layout, of_text("acdb")));
    const struct node *store = graph_node(laid, gradient->producer);
    assert_ptr_equal(store->op, &op_reorder);
    assert_int_equal(store->phase, PHASE_BACKWARD);
    const struct value *written = graph_value(laid, store->inputs[0]);
    assert_false(written->persistent);
    assert_true(layout_equal(written->layout, of_text("ABcd16b16a")));
    assert_ptr_equal(graph_node(laid, written->producer)->op, &op_conv2d_backward_weight);
    assert_int_equal(count_op(laid, &op_reorder), n_reorders + 2); /* that, and the weight's copy */
    drop();
    graph_free(fixed);
}

static void ReordersStandRightBeforeTheirReader(void **state) {
    (void)state;
    train(NULL);
    for (node_id n = 0; n < laid->n_nodes; n++) {
        if (graph_node(laid, n)->op != &op_reorder)
            continue;
        node_id reader = n + 1;
        while (graph_node(laid, reader)->op == &op_reorder)
            reader++;
        const struct node *node = graph_node(laid, reader);
        bool reads = false;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            reads = reads || node->inputs[i] == graph_node(laid, n)->outputs[0];
        assert_true(reads);
    }
    drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ChainsOfOneLayoutHaveNoReorderInside),
        cmocka_unit_test(AParameterTakesTheLayoutOfItsFirstReader),
        cmocka_unit_test(PlainNetworksGetNoReorder),
        cmocka_unit_test(TheSameReorderIsMadeOnce),
        cmocka_unit_test(ViewsAreReadPlain),
        cmocka_unit_test(AWeightWantedOtherwiseInBackwardIsCopiedInForward),
        cmocka_unit_test(MomentsFollowTheirParameter),
        cmocka_unit_test(FixedLayoutsAreKept),
        cmocka_unit_test(AStoredGradientLiesAsItsParameter),
        cmocka_unit_test(ReordersStandRightBeforeTheirReader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
