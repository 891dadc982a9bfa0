/* The verifier: each rule, broken one at a time in a graph that keeps them all. */
#include "unit/ir/graphs.h"

static const char sound[] = "neap-graph 1 step\n"
                            "input x f32 4x8\n"
                            "parameter w f32 3x8\n"
                            "parameter_gradient w.gradient f32 3x8 persistent of=w\n"
                            "fc = linear(x, w)\n"
                            "y, y.mask = relu(fc)\n"
                            "input labels i32 4\n"
                            "loss = softmax_cross_entropy(y, labels)\n"
                            "backward d.y = relu_backward(y, y.mask)\n"
                            "backward [d.w] linear_backward_weight(x, d.y) updates w.gradient\n"
                            "update [w.sgd] sgd() updates w, w.gradient\n"
                            "roles logits=y labels=labels loss=loss\n";

static struct value *value(neap_graph *g, const char *name) {
    return graph_value(g, value_named(g, name));
}

static struct node *node(neap_graph *g, const char *name) {
    return graph_node(g, node_named(g, name));
}

static void swap_nodes(neap_graph *g, const char *a, const char *b) {
    node_id i = node_named(g, a), j = node_named(g, b);
    struct node kept = g->nodes[i];
    g->nodes[i] = g->nodes[j];
    g->nodes[j] = kept;
    for (node_id n = 0; n < g->n_nodes; n++)
        for (uint32_t o = 0; o < g->nodes[n].n_outputs; o++)
            graph_value(g, g->nodes[n].outputs[o])->producer = n;
}

/* ---- how a graph is broken ------------------------------------------------------------------- */

static void input_out_of_range(neap_graph *g) {
    node(g, "fc")->inputs[1] = 100;
}
static void output_out_of_range(neap_graph *g) {
    node(g, "fc")->outputs[0] = 100;
}
static void update_out_of_range(neap_graph *g) {
    node(g, "w.sgd")->updates[1] = ID_NONE;
}
static void of_out_of_range(neap_graph *g) {
    value(g, "w.gradient")->of = 100;
}
static void producer_out_of_range(neap_graph *g) {
    value(g, "w.gradient")->producer = 100;
}
static void role_out_of_range(neap_graph *g) {
    g->roles.loss = 100;
}
static void role_of_another_rank(neap_graph *g) {
    g->roles.logits = value_named(g, "labels");
}
static void unknown_kind(neap_graph *g) {
    value(g, "w")->kind = N_VALUE_KINDS;
}
static void unknown_phase(neap_graph *g) {
    node(g, "fc")->phase = N_PHASES;
}
static void rank_too_high(neap_graph *g) {
    value(g, "w")->shape.rank = MAX_RANK + 1;
}
static void empty_dimension(neap_graph *g) {
    value(g, "w")->shape.dim[1] = 0;
}
static void too_many_bytes(neap_graph *g) {
    value(g, "w")->shape = shape_of(3, (int64_t[]){INT32_MAX, INT32_MAX, INT32_MAX});
}
static void layout_of_another_rank(neap_graph *g) {
    value(g, "w")->layout = layout_channels_last();
}
static void layout_in_another_form(neap_graph *g) {
    value(g, "w")->layout = (struct layout){.permuted = 1, .order = {0, 1}};
}
static void parameter_that_dies(neap_graph *g) {
    value(g, "w")->persistent = false;
}
static void two_producers(neap_graph *g) {
    node(g, "d.y")->outputs[0] = value_named(g, "fc");
}
static void producer_that_is_none(neap_graph *g) {
    value(g, "w.gradient")->producer = 0;
}
static void one_output_twice(neap_graph *g) {
    node(g, "y")->outputs[1] = value_named(g, "y");
}
static void input_that_is_made(neap_graph *g) {
    value(g, "fc")->kind = VALUE_INPUT;
}
static void one_name_twice(neap_graph *g) {
    value(g, "fc")->name = "x";
}
static void too_few_inputs(neap_graph *g) {
    node(g, "fc")->n_inputs = 1;
}
static void required_input_absent(neap_graph *g) {
    node(g, "fc")->inputs[1] = ID_NONE;
}
static void too_few_outputs(neap_graph *g) {
    node(g, "fc")->n_outputs = 0;
}
static void read_before_made(neap_graph *g) {
    swap_nodes(g, "fc", "y");
}
static void read_of_itself(neap_graph *g) {
    node(g, "y")->inputs[0] = value_named(g, "y");
}
static void read_of_what_nothing_makes(neap_graph *g) {
    value(g, "w.gradient")->persistent = false;
    node(g, "d.w")->n_updates = node(g, "w.sgd")->n_updates = 0;
    node(g, "d.w")->inputs[0] = value_named(g, "w.gradient");
}
static void read_after_update(neap_graph *g) {
    swap_nodes(g, "w.sgd", "fc");
    swap_nodes(g, "fc", "y");
}
static void gradient_added_after_update(neap_graph *g) {
    swap_nodes(g, "w.sgd", "d.w");
}
static void update_of_what_dies(neap_graph *g) {
    value(g, "w.gradient")->persistent = false;
}
static void update_by_a_pure_op(neap_graph *g) {
    struct node *sgd = node(g, "w.sgd"), *y = node(g, "y");
    y->updates = sgd->updates;
    y->n_updates = 1;
}
static void one_update_twice(neap_graph *g) {
    node(g, "w.sgd")->updates[1] = value_named(g, "w");
}
static void another_shape(neap_graph *g) {
    value(g, "fc")->shape.dim[1] = 4;
}
static void another_dtype(neap_graph *g) {
    value(g, "y.mask")->dtype = DTYPE_U8;
}
static void shapes_that_do_not_fit(neap_graph *g) {
    value(g, "x")->shape.dim[1] = 9;
}

static const struct {
    const char *rule;
    void (*break_it)(neap_graph *g);
    const char *message;
} broken[] = {
    {"inputs in range", input_out_of_range, "node 'fc' reads value 100, and there are 9"},
    {"outputs in range", output_out_of_range, "node 'fc' makes value 100, and there are 9"},
    {"updates in range", update_out_of_range, "node 'w.sgd' updates value 4294967295"},
    {"of in range", of_out_of_range, "value 'w.gradient' is of value 100"},
    {"producer in range", producer_out_of_range, "value 'w.gradient' is made by node 100"},
    {"roles in range", role_out_of_range, "loss is value 100"},
    {"ranks of roles", role_of_another_rank, "logits 'labels' has rank 1 instead of 2"},
    {"kinds", unknown_kind, "value 'w' has kind 11"},
    {"phases", unknown_phase, "node 'fc' is in phase 3"},
    {"ranks", rank_too_high, "value 'w' has rank 7"},
    {"dimensions", empty_dimension, "value 'w': dimension 1 is 0"},
    {"bytes", too_many_bytes, "value 'w' has more bytes than can be counted"},
    {"layouts fit ranks", layout_of_another_rank, "value 'w' has a layout that is none of rank 2"},
    {"layouts have one form", layout_in_another_form, "value 'w' has a layout that is none"},
    {"parameters outlive the step", parameter_that_dies, "parameter 'w' does not outlive the step"},
    {"one producer", two_producers, "node 'd.y' makes 'fc', which has another producer"},
    {"a producer makes it", producer_that_is_none,
     "value 'w.gradient' is not among the outputs of node 'fc'"},
    {"outputs differ", one_output_twice, "node 'y' makes 'y' twice"},
    {"inputs come from outside", input_that_is_made, "input 'fc' is made by a node"},
    {"unique names", one_name_twice, "both named 'x'"},
    {"input counts", too_few_inputs, "node 'fc': linear has 2 to 3 inputs, not 1"},
    {"required inputs", required_input_absent, "node 'fc': input 1 of linear is absent"},
    {"output counts", too_few_outputs, "node 'fc': linear has 1 outputs, not 0"},
    {"reads after writes", read_before_made, "node 'y' reads 'fc' before node 'fc' makes it"},
    {"no node reads itself", read_of_itself, "node 'y' reads 'y' before node 'y' makes it"},
    {"reads of something", read_of_what_nothing_makes,
     "node 'd.w' reads 'w.gradient', which nothing makes"},
    {"forward before updates", read_after_update, "forward node 'fc' reads 'w' after its update"},
    {"gradients before updates", gradient_added_after_update,
     "backward node 'd.w' reads 'w.gradient' after its update"},
    {"updates of what lasts", update_of_what_dies,
     "updates 'w.gradient', which does not outlive the step"},
    {"effects where declared", update_by_a_pure_op, "node 'y' updates values, which relu does not"},
    {"updates differ", one_update_twice, "node 'w.sgd' updates 'w' twice"},
    {"shapes as inferred", another_shape,
     "node 'fc' makes 'fc' as f32 4x4, but its linear makes f32 4x3"},
    {"dtypes as inferred", another_dtype, "'y.mask' as u8 4x3, but its relu makes bit 4x3"},
    {"shapes that fit", shapes_that_do_not_fit, "linear 'fc': input 4x9 does not fit weight 3x8"},
};

static void every_broken_rule_is_found_and_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        neap_graph *g = graph_from(sound);
        assert_no_error(graph_verify(g, "reading"));
        broken[i].break_it(g);
        neap_error *error = graph_verify(g, "some pass");
        if (!error)
            print_error("not found: %s\n", broken[i].rule);
        assert_non_null(error);
        assert_int_equal(strncmp(neap_error_message(error), "after 'some pass': ", 19), 0);
        assert_error(error, NEAP_ERROR_INTERNAL, broken[i].message);
        graph_free(g);
    }
}

static void values_that_nothing_makes_may_stand_unread(void **state) {
    (void)state;
    neap_graph *g = graph_from("neap-graph 1 a\ninput x f32 2\ngradient left f32 2 of=x\n");
    assert_no_error(graph_verify(g, "reading"));
    graph_free(g);
}

static void nodes_may_share_a_name(void **state) {
    (void)state;
    neap_graph *g = graph_from("neap-graph 1 a\ninput x f32 2\n[r] y = relu(x)\n[r] z = relu(x)\n");
    assert_no_error(graph_verify(g, "reading"));
    graph_free(g);
}

static neap_error *infer_nothing(neap_graph *g, node_id id) {
    (void)g;
    (void)id;
    return NULL;
}

static void an_op_that_leaves_an_output_without_a_type_is_found(void **state) {
    (void)state;
    const struct op_def forgetful = {
        .name = "forgetful", .min_outputs = 1, .max_outputs = 1, .infer = infer_nothing};
    neap_graph *g;
    node_id id;
    assert_no_error(graph_create("a", &g));
    assert_no_error(graph_add_node(
        g,
        &(struct node_spec){
            .op = &forgetful, .name = "y", .n_outputs = 1, .output_kind = VALUE_ACTIVATION},
        &id));
    assert_error(graph_verify(g, "x"), NEAP_ERROR_INTERNAL,
                 "forgetful gives its output 'y' no type");
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_broken_rule_is_found_and_named),
        cmocka_unit_test(values_that_nothing_makes_may_stand_unread),
        cmocka_unit_test(nodes_may_share_a_name),
        cmocka_unit_test(an_op_that_leaves_an_output_without_a_type_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
