/* Building, copying and asking graphs. */
#include "unit/ir/graphs.h"

static neap_graph *empty(void) {
    neap_graph *g;
    assert_no_error(graph_create("test", &g));
    return g;
}

static value_id add(neap_graph *g, const char *name, enum value_kind kind, int64_t n) {
    value_id id;
    assert_no_error(graph_add_value(
        g,
        &(struct value_spec){
            .name = name, .kind = kind, .shape = shape_of(2, (int64_t[]){n, 8}), .of = ID_NONE},
        &id));
    return id;
}

static node_id add_relu(neap_graph *g, const char *name, value_id x, uint32_t n_outputs) {
    node_id id;
    assert_no_error(graph_add_node(g,
                                   &(struct node_spec){.op = &op_relu,
                                                       .name = name,
                                                       .inputs = &x,
                                                       .n_inputs = 1,
                                                       .n_outputs = n_outputs,
                                                       .output_kind = VALUE_ACTIVATION},
                                   &id));
    return id;
}

static void names_are_copied(void **state) {
    (void)state;
    neap_graph *g = empty();
    char name[] = "x";
    value_id x = add(g, name, VALUE_INPUT, 2);
    name[0] = 'y';
    assert_string_equal(graph_value(g, x)->name, "x");
    graph_free(g);
}

static void state_outlives_the_step_by_its_kind(void **state) {
    (void)state;
    neap_graph *g = empty();
    assert_false(graph_value(g, add(g, "x", VALUE_INPUT, 2))->persistent);
    assert_false(graph_value(g, add(g, "dw", VALUE_PARAMETER_GRADIENT, 2))->persistent);
    assert_true(graph_value(g, add(g, "w", VALUE_PARAMETER, 2))->persistent);
    assert_true(graph_value(g, add(g, "running", VALUE_BUFFER, 2))->persistent);
    assert_true(graph_value(g, add(g, "moment", VALUE_OPTIMIZER_STATE, 2))->persistent);
    graph_free(g);
}

static void outputs_are_named_after_their_node_and_typed(void **state) {
    (void)state;
    neap_graph *g = empty();
    node_id relu = add_relu(g, "r", add(g, "x", VALUE_INPUT, 2), 2);
    const struct value *y = node_output(g, graph_node(g, relu), 0);
    const struct value *mask = node_output(g, graph_node(g, relu), 1);
    assert_string_equal(y->name, "r");
    assert_string_equal(mask->name, "r.1");
    assert_int_equal(y->producer, relu);
    assert_int_equal(mask->dtype, DTYPE_BIT);
    assert_true(shape_equal(mask->shape, shape_of(2, (int64_t[]){2, 8})));
    graph_free(g);
}

static void an_output_can_be_added_later(void **state) {
    (void)state;
    neap_graph *g = empty();
    value_id x = add(g, "x", VALUE_INPUT, 2), mask;
    node_id relu = add_relu(g, "r", x, 1);
    value_id y = graph_node(g, relu)->outputs[0];
    assert_no_error(
        graph_add_output(g, relu, "mask", VALUE_SAVED, DTYPE_BIT, graph_value(g, x)->shape, &mask));
    assert_int_equal(graph_node(g, relu)->n_outputs, 2);
    assert_int_equal(graph_node(g, relu)->outputs[0], y);
    assert_int_equal(graph_node(g, relu)->outputs[1], mask);
    assert_string_equal(graph_value(g, mask)->name, "r.mask");
    assert_no_error(graph_verify(g, "adding an output"));
    graph_free(g);
}

static void a_node_can_write_into_values_that_are_there(void **state) {
    (void)state;
    neap_graph *g = empty();
    value_id x = add(g, "x", VALUE_INPUT, 2), y = add(g, "y", VALUE_ACTIVATION, 1);
    node_id relu;
    assert_no_error(graph_add_node(
        g,
        &(struct node_spec){
            .op = &op_relu, .name = "r", .inputs = &x, .n_inputs = 1, .n_outputs = 1, .into = &y},
        &relu));
    assert_int_equal(g->n_values, 2);
    assert_int_equal(graph_value(g, y)->producer, relu);
    assert_int_equal(graph_value(g, y)->shape.dim[0], 2);
    graph_free(g);
}

static void impossible_nodes_are_refused(void **state) {
    (void)state;
    neap_graph *g = empty();
    node_id id;
    const value_id in[] = {add(g, "x", VALUE_INPUT, 2), add(g, "y", VALUE_INPUT, 3)};
    struct node_spec spec = {
        .op = &op_add, .name = "a", .inputs = in, .n_inputs = 1, .n_outputs = 1};
    assert_error(graph_add_node(g, &spec, &id), NEAP_ERROR_MODEL, "2");
    spec.n_inputs = 2;
    assert_error(graph_add_node(g, &spec, &id), NEAP_ERROR_MODEL, "add 'a'");
    graph_free(g);
}

static void a_clone_is_the_same_and_shares_nothing(void **state) {
    (void)state;
    neap_graph *clone;
    neap_graph *g = graph_from("neap-graph 1 a\ninput x f32 4x8\nparameter w f32 3x8\n"
                               "[fc] y: saved = linear(x, w, _) relu=1\n"
                               "buffer b f32 3\n"
                               "update [s] sgd(b) updates b\nroles logits=y\n");
    char *before = text_of(g);
    assert_no_error(graph_clone(g, &clone));
    assert_ptr_not_equal(graph_node(clone, 0)->attrs, graph_node(g, 0)->attrs);
    graph_node(g, 0)->inputs[0] = 3;
    graph_free(g);
    char *after = text_of(clone);
    assert_string_equal(after, before);
    free(before);
    free(after);
    graph_free(clone);
}

static void views_share_their_inputs_storage(void **state) {
    (void)state;
    neap_graph *g = graph_from("neap-graph 1 a\ninput x f32 4x2x2x2\nr = relu(x)\n"
                               "f = flatten(r)\nv = reshape(f) dims=8,4\ns = relu(v)\n");
    assert_int_equal(graph_root(g, value_named(g, "v")), value_named(g, "r"));
    assert_int_equal(graph_root(g, value_named(g, "f")), value_named(g, "r"));
    assert_int_equal(graph_root(g, value_named(g, "s")), value_named(g, "s"));
    assert_int_equal(graph_root(g, value_named(g, "x")), value_named(g, "x"));
    graph_free(g);
}

static void readers_are_inputs_and_updates(void **state) {
    (void)state;
    uint32_t *counts;
    neap_graph *g = graph_from("neap-graph 1 a\ninput x f32 4x8\nparameter w f32 3x8\n"
                               "y = linear(x, w, _)\nz = mul(y, y)\n"
                               "gradient left f32 2\n"
                               "buffer dw f32 3x8\nupdate [s] sgd(dw) updates w\n");
    assert_no_error(graph_count_readers(g, &counts));
    assert_int_equal(counts[value_named(g, "x")], 1);
    assert_int_equal(counts[value_named(g, "w")], 2);
    assert_int_equal(counts[value_named(g, "y")], 2);
    assert_int_equal(counts[value_named(g, "z")], 0);
    assert_int_equal(counts[value_named(g, "left")], 0);
    free(counts);
    graph_free(g);
}

static void another_batch_changes_all_that_depends_on_it(void **state) {
    (void)state;
    neap_graph *g = graph_from("neap-graph 1 a\ninput x f32 4x2x2x2\ninput labels i32 4\n"
                               "f = flatten(x)\nparameter w f32 3x8\nfc = linear(f, w)\n"
                               "loss = softmax_cross_entropy(fc, labels)\n");
    assert_int_equal(graph_batch(g), 4);
    assert_no_error(graph_rebatch(g, 7));
    assert_int_equal(graph_batch(g), 7);
    assert_int_equal(graph_value(g, value_named(g, "labels"))->shape.dim[0], 7);
    assert_int_equal(graph_value(g, value_named(g, "fc"))->shape.dim[0], 7);
    assert_int_equal(graph_value(g, value_named(g, "w"))->shape.dim[0], 3);
    assert_no_error(graph_verify(g, "rebatch"));
    graph_free(g);
}

static void freeing_nothing_is_fine(void **state) {
    (void)state;
    graph_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_copied),
        cmocka_unit_test(state_outlives_the_step_by_its_kind),
        cmocka_unit_test(outputs_are_named_after_their_node_and_typed),
        cmocka_unit_test(an_output_can_be_added_later),
        cmocka_unit_test(a_node_can_write_into_values_that_are_there),
        cmocka_unit_test(impossible_nodes_are_refused),
        cmocka_unit_test(a_clone_is_the_same_and_shares_nothing),
        cmocka_unit_test(views_share_their_inputs_storage),
        cmocka_unit_test(readers_are_inputs_and_updates),
        cmocka_unit_test(another_batch_changes_all_that_depends_on_it),
        cmocka_unit_test(freeing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
