/* Precision: which values get 16 bits, and where the casts stand. */
#include "support/files.h"

#include "ops/ops.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "support/network.h"

static const int64_t images[] = {2, 3, 8, 8};
static neap_graph *model, *mixed;

/* Two convolutions of one weight, batch norm, a linear layer, a loss. */
static void convert(enum dtype dtype) {
    neap_graph *expanded;
    assert_no_error(neap_graph_create("g", &model));
    neap_value x = neap_input(model, "x", NEAP_F32, 4, images), out;
    neap_value w = neap_parameter(model, "w", 4, (int64_t[]){3, 3, 3, 3}, (struct neap_init){0});
    x = neap_op(model, "conv2d", "a", (neap_value[]){x, w}, 2, "padding=1", &out, 1);
    x = neap_op(model, "conv2d", "b", (neap_value[]){x, w}, 2, "padding=1", &out, 1);
    x = neap_batch_norm(model, x, "bn", 0, 0);
    x = neap_flatten(model, neap_relu(model, x, "relu"), "flat");
    x = neap_linear(model, x, "fc", &(struct neap_linear){.out_features = 10});
    neap_classifier(model, x);
    assert_no_error(neap_graph_check(model));
    assert_no_error(pass_expand(model, true, &expanded));
    assert_no_error(pass_precision(expanded, dtype, &mixed));
    if (mixed)
        assert_no_error(graph_verify(mixed, "precision"));
    graph_free(expanded);
}

static void drop(void) {
    graph_free(model);
    graph_free(mixed);
}

static void assert_type(const char *value, enum dtype dtype) {
    assert_string_equal(dtype_name(graph_value(mixed, value_named(mixed, value))->dtype),
                        dtype_name(dtype));
}

static void InFp32NothingChanges(void **state) {
    (void)state;
    convert(DTYPE_F32);
    assert_null(mixed);
    drop();
}

static void ActivationsAreIn16BitsAndWhatSumsInFp32(void **state) {
    (void)state;
    convert(DTYPE_BF16);
    static const char *const half[] = {"a", "b", "bn", "relu", "flat", "fc"};
    static const char *const wide[] = {"x",         "w",       "bn.stats",       "bn.weight",
                                       "fc.weight", "fc.bias", "bn.running_var", "loss"};
    for (size_t i = 0; i < sizeof half / sizeof *half; i++)
        assert_type(half[i], DTYPE_BF16);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        assert_type(wide[i], DTYPE_F32);
    drop();
}

static void AValueIsCastOnceAndAWeightsCastIsACopy(void **state) {
    (void)state;
    convert(DTYPE_BF16);
    /* x, w, fc.weight, and back for the loss and both counts of right answers: the logits */
    assert_int_equal(count_op(mixed, &op_cast), 4);
    const struct value *copy = graph_value(mixed, value_named(mixed, "w.bf16"));
    assert_int_equal(copy->kind, VALUE_WEIGHT_COPY);
    assert_int_equal(copy->of, value_named(mixed, "w"));
    assert_int_equal(graph_node(mixed, node_named(mixed, "a"))->inputs[1],
                     value_named(mixed, "w.bf16"));
    assert_int_equal(graph_node(mixed, node_named(mixed, "b"))->inputs[1],
                     value_named(mixed, "w.bf16"));
    drop();
}

static void WeightsAreReadInFp32BesideFp16(void **state) {
    (void)state;
    convert(DTYPE_F16);
    assert_type("a", DTYPE_F16);
    assert_int_equal(count_op(mixed, &op_cast), 2);
    assert_int_equal(graph_node(mixed, node_named(mixed, "a"))->inputs[1], value_named(mixed, "w"));
    drop();
}

static void GradientsOfParametersAreFp32AndOfActivations16Bits(void **state) {
    (void)state;
    convert(DTYPE_BF16);
    value_id *gradients;
    assert_no_error(memory_alloc(mixed->n_values, sizeof *gradients, &gradients));
    uint32_t n_values = mixed->n_values;
    assert_no_error(autodiff_run(mixed, mixed->roles.loss, true, gradients));
    assert_no_error(graph_verify(mixed, "autodiff"));
    for (value_id v = 0; v < n_values; v++) {
        const struct value *value = graph_value(mixed, v);
        if (gradients[v] == ID_NONE || value->kind == VALUE_WEIGHT_COPY)
            continue;
        assert_string_equal(dtype_name(graph_value(mixed, gradients[v])->dtype),
                            dtype_name(value->dtype));
    }
    free(gradients);
    drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(InFp32NothingChanges),
        cmocka_unit_test(ActivationsAreIn16BitsAndWhatSumsInFp32),
        cmocka_unit_test(AValueIsCastOnceAndAWeightsCastIsACopy),
        cmocka_unit_test(WeightsAreReadInFp32BesideFp16),
        cmocka_unit_test(GradientsOfParametersAreFp32AndOfActivations16Bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
