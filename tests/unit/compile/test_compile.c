/* The compiler: its stages, the planning problem that it ends in, and networks on their kernels
 * against the same networks by reference. */
#include "support/files.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "ops/ops.h"
#include "support/network.h"
#include "support/oracle.h"

static struct device *device;

static int open_device(void **state) {
    (void)state;
    device = network_device(&backend_cpu, 0);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

static struct compiled *compile_request(const struct network_request *request) {
    struct update_options update;
    struct compiled *c;
    const struct compile_options options = network_compile_options(request, &update);
    assert_no_error(compile(&options, &c));
    return c;
}

static struct compiled *compile_model(const char *name, int64_t batch, int64_t image_size,
                                      int gradients) {
    neap_graph *model = network_model(name, 1, image_size);
    struct compiled *c = compile_request(&(struct network_request){
        .model = model, .device = device, .batch = batch, .gradients = gradients, .momentum = 0.9});
    graph_free(model);
    return c;
}

/* ---- stages
 * ---------------------------------------------------------------------------------------- */

struct seen {
    const char *stop_at;
    char names[256];
};

static bool on_stage(void *user, const char *stage, const neap_graph *g) {
    struct seen *seen = user;
    assert_true(g->n_nodes > 0);
    strcat(strcat(seen->names, stage), " ");
    return !seen->stop_at || strcmp(stage, seen->stop_at);
}

static void compile_seen(struct seen *seen, bool evaluation, struct compiled **c) {
    struct update_options update;
    neap_graph *model = network_model("mlp", 1, 28);
    struct compile_options options = network_compile_options(
        &(struct network_request){
            .model = model, .device = device, .batch = 2, .evaluation = evaluation},
        &update);
    options.on_stage = on_stage;
    options.user = seen;
    assert_no_error(compile(&options, c));
    graph_free(model);
}

static void EveryStageIsShownInOrder(void **state) {
    (void)state;
    struct compiled *c;
    char all[256] = "";
    for (size_t i = 0; compile_stage(i); i++)
        strcat(strcat(all, compile_stage(i)), " ");
    struct seen seen = {0};
    compile_seen(&seen, false, &c);
    assert_string_equal(seen.names, all);
    compiled_free(c);
    seen = (struct seen){0};
    compile_seen(&seen, true, &c);
    assert_null(strstr(seen.names, "autodiff"));
    compiled_free(c);
}

static void CompilingStopsWhereAsked(void **state) {
    (void)state;
    struct compiled *c;
    struct seen seen = {.stop_at = "autodiff"};
    compile_seen(&seen, false, &c);
    assert_true(c->stopped);
    assert_non_null(strstr(seen.names, "autodiff"));
    assert_null(strstr(seen.names, "update"));
    compiled_free(c);
}

static void TheBatchIsTheOneAskedFor(void **state) {
    (void)state;
    struct compiled *c = compile_model("lenet5", 6, 28, GRADIENTS_FUSED);
    assert_int_equal(graph_batch(c->g), 6);
    assert_int_equal(graph_value(c->g, c->g->roles.logits)->shape.dim[0], 6);
    compiled_free(c);
}

static void AModelWithoutALossIsRefused(void **state) {
    (void)state;
    static const int64_t dims[] = {2, 4};
    struct update_options update;
    struct compiled *c;
    neap_graph *g;
    assert_no_error(neap_graph_create("headless", &g));
    neap_linear(g, neap_input(g, "x", NEAP_F32, 2, dims), "fc",
                &(struct neap_linear){.out_features = 3});
    const struct compile_options options = network_compile_options(
        &(struct network_request){.model = g, .device = device, .batch = 2}, &update);
    assert_error(compile(&options, &c), NEAP_ERROR_MODEL, "'headless' has no loss");
    neap_graph_free(g);
}

/* ---- the problem
 * ------------------------------------------------------------------------------------- */

static const char *const models[] = {"mlp", "lenet5", "resnet20"};
enum { N_MODELS = 3 };

static void EveryNodeButViewsIsAnOp(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++) {
        struct compiled *c = compile_model(models[m], 3, 28, GRADIENTS_FUSED);
        uint32_t n_ops = 0;
        for (node_id n = 0; n < c->g->n_nodes; n++) {
            bool view = graph_node(c->g, n)->op->flags & OP_VIEW;
            assert_true(view == !c->kernels[n]);
            if (!view && c->primary[n] == n)
                assert_int_equal(c->node_of_op[n_ops++], n);
        }
        assert_int_equal(c->problem.n_ops, n_ops);
        compiled_free(c);
    }
}

/* The ReLUs behind residual sums; those fused into a batch norm or a layer have no backward of
 * their own, or no mask. */
static void AReluWithAMaskHasAnAlternativeThatReadsItsOutput(void **state) {
    (void)state;
    static const uint32_t wanted[N_MODELS] = {0, 2, 9};
    for (int m = 0; m < N_MODELS; m++) {
        struct compiled *c = compile_model(models[m], 3, 28, GRADIENTS_FUSED);
        const struct plan_problem *p = &c->problem;
        assert_int_equal(p->n_alternatives, wanted[m]);
        for (uint32_t a = p->n_ops; a < p->n_ops + p->n_alternatives; a++) {
            const struct plan_op *op = &p->ops[a], *primary = &p->ops[op->alternative_of];
            const struct node *node = graph_node(c->g, c->node_of_op[a]);
            const struct node *first = graph_node(c->g, c->node_of_op[op->alternative_of]);
            assert_ptr_equal(node->op, &op_relu_backward);
            assert_ptr_equal(first->op, &op_relu_backward);
            assert_int_equal(node->outputs[0], first->outputs[0]);
            assert_int_equal(p->ids[op->outputs.first], p->ids[primary->outputs.first]);
            assert_int_equal(op->phase, PLAN_BACKWARD);
            assert_int_equal(op->n_overwrites, 1); /* of the gradient, as the primary */
            assert_int_equal(node_input(c->g, first, 1)->dtype, DTYPE_BIT);
            assert_int_equal(node_input(c->g, node, 1)->dtype, DTYPE_F32);
            assert_int_equal(node_input(c->g, node, 1)->producer,
                             node_input(c->g, first, 1)->producer);
            assert_true(op->seconds > primary->seconds); /* as it reads more */
        }
        compiled_free(c);
    }
}

static void ViewsShareTheirRootsStorage(void **state) {
    (void)state;
    struct compiled *c = compile_model("lenet5", 3, 28, GRADIENTS_FUSED);
    int n_views = 0;
    for (node_id n = 0; n < c->g->n_nodes; n++) {
        const struct node *node = graph_node(c->g, n);
        if (!(node->op->flags & OP_VIEW))
            continue;
        n_views++;
        assert_int_equal(c->plan_of_value[node->outputs[0]], c->plan_of_value[node->inputs[0]]);
    }
    assert_true(n_views >= 2); /* flatten, and its gradient */
    compiled_free(c);
}

static void ValuesHaveTheirAlignedBytesAndProducers(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++) {
        struct compiled *c = compile_model(models[m], 3, 28, GRADIENTS_FUSED);
        const struct plan_problem *p = &c->problem;
        for (uint32_t v = 0; v < p->n_values; v++) {
            const struct plan_value *value = &p->values[v];
            assert_int_equal(value->bytes % ALIGNMENT_BYTES, 0);
            assert_true(value->bytes > 0);
            if (c->value_of_plan[v] == ID_NONE) /* scratch */
                continue;
            const struct value *of = graph_value(c->g, c->value_of_plan[v]);
            assert_int_equal(value->bytes, round_up(value_bytes(of), ALIGNMENT_BYTES));
            assert_int_equal(value->persistent, of->persistent);
            assert_int_equal(value->input, of->kind == VALUE_INPUT);
            if (value->producer != PLAN_NONE)
                assert_int_equal(c->node_of_op[value->producer], of->producer);
        }
        compiled_free(c);
    }
}

static void ActivationsGrowWithTheBatchAndWeightsDoNot(void **state) {
    (void)state;
    struct compiled *one = compile_model("resnet20", 8, 28, GRADIENTS_STORED);
    struct compiled *two = compile_model("resnet20", 16, 28, GRADIENTS_STORED);
    assert_int_equal(one->problem.n_ops, two->problem.n_ops);
    value_id v = value_named(one->g, "layer2.0.conv2"), w = value_named(two->g, "layer2.0.conv2");
    assert_int_equal(2 * one->problem.values[one->plan_of_value[v]].bytes,
                     two->problem.values[two->plan_of_value[w]].bytes);
    assert_int_equal(one->persistent.weights, two->persistent.weights);
    assert_int_equal(one->persistent.buffers, two->persistent.buffers);
    compiled_free(one);
    compiled_free(two);
}

static void EffectsAndUpdatesAreMarked(void **state) {
    (void)state;
    struct compiled *c = compile_model("resnet20", 2, 28, GRADIENTS_STORED);
    for (uint32_t o = 0; o < c->problem.n_ops; o++) {
        const struct plan_op *op = &c->problem.ops[o];
        const struct node *node = graph_node(c->g, c->node_of_op[o]);
        assert_int_equal(op->update_part, node->phase == PHASE_UPDATE);
        assert_true(!node->n_updates || op->effect);
        assert_true(op->seconds > 0);
    }
    compiled_free(c);
    c = compile_model("resnet20", 2, 28, GRADIENTS_FUSED);
    for (uint32_t o = 0; o < c->problem.n_ops; o++)
        assert_false(c->problem.ops[o].update_part);
    compiled_free(c);
}

static void AnOutputMayOverwriteOnlyItsLike(void **state) {
    (void)state;
    struct compiled *c = compile_model("resnet20", 2, 28, GRADIENTS_FUSED);
    assert_true(c->problem.n_overwrites > 0);
    for (uint32_t i = 0; i < c->problem.n_overwrites; i++) {
        const struct plan_value *from = &c->problem.values[c->problem.overwrites[i].input];
        const struct plan_value *to = &c->problem.values[c->problem.overwrites[i].output];
        assert_int_equal(from->bytes, to->bytes);
        assert_false(from->persistent || to->persistent);
    }
    compiled_free(c);
}

/* ---- persistent bytes
 * ------------------------------------------------------------------------------------ */

static int64_t bytes_of_kind(const neap_graph *g, enum value_kind kind) {
    int64_t bytes = 0;
    for (value_id v = 0; v < g->n_values; v++)
        if (graph_value(g, v)->kind == kind && graph_value(g, v)->persistent)
            bytes += round_up(value_bytes(graph_value(g, v)), ALIGNMENT_BYTES);
    return bytes;
}

static void GradientsCountWhereTheyPersist(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++) {
        struct compiled *fused = compile_model(models[m], 2, 28, GRADIENTS_FUSED);
        struct compiled *stored = compile_model(models[m], 2, 28, GRADIENTS_STORED);
        struct compiled *added = compile_model(models[m], 2, 28, GRADIENTS_ACCUMULATED);
        assert_int_equal(fused->persistent.gradients, 0);
        assert_int_equal(added->persistent.gradients, added->persistent.weights);
        assert_int_equal(stored->persistent.gradients, stored->persistent.weights);
        assert_int_equal(fused->persistent.optimizer, fused->persistent.weights);
        assert_int_equal(fused->persistent.weights, bytes_of_kind(fused->g, VALUE_PARAMETER));
        assert_int_equal(fused->persistent.weights, added->persistent.weights);
        compiled_free(fused);
        compiled_free(stored);
        compiled_free(added);
    }
}

/* An accumulating step's problem says nothing of how often it runs: its peak is that of any N. */
static void AccumulatingTakesOneTemporaryAConvolution(void **state) {
    (void)state;
    struct compiled *c = compile_model("lenet5", 2, 28, GRADIENTS_ACCUMULATED);
    for (node_id n = 0; n < c->g->n_nodes; n++) {
        const struct node *node = graph_node(c->g, n);
        if (node->op != &op_conv2d_backward_weight)
            continue;
        for (uint32_t i = 0; i < node->n_outputs; i++)
            assert_false(graph_value(c->g, node->outputs[i])->persistent);
    }
    compiled_free(c);
}

/* ---- kernels against references
 * ----------------------------------------------------------------------- */

/* Three updates on the CPU's kernels in their layouts, and by reference in plain ones. */
static void assert_kernels_agree(const struct network_request *request, double tolerance) {
    struct network fast, slow;
    struct network_request by_reference = *request;
    by_reference.device = network_device(&backend_reference_only, 1);
    network_open(request, &fast);
    network_open(&by_reference, &slow);
    for (uint64_t update = 0; update < 3; update++) {
        network_update(&fast, update);
        network_update(&slow, update);
    }
    for (size_t i = 0; i < slow.store->n_entries; i++) {
        const struct store_entry *a = &slow.store->entries[i];
        const struct store_entry *b = store_find(fast.store, a->name);
        if (a->dtype != DTYPE_F32 || a->kind == VALUE_PARAMETER_GRADIENT)
            continue;
        assert_non_null(b);
        int64_t n = shape_elements(a->shape);
        float *x = test_malloc((size_t)n * sizeof *x), *y = test_malloc((size_t)n * sizeof *y);
        store_get(slow.store, a, 0, n, x);
        store_get(fast.store, b, 0, n, y);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs((double)x[k] - (double)y[k]) <= tolerance))
                fail_msg("%s[%lld]: %g by reference, %g", a->name, (long long)k, (double)x[k],
                         (double)y[k]);
        test_free(x);
        test_free(y);
    }
    network_close(&fast);
    network_close(&slow);
    device_close(by_reference.device);
}

static void KernelsInTheirLayoutsAgreeWithReferences(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int64_t batch, image_size;
        int gradients;
        double tolerance;
    } cases[] = {
        {"mlp", 5, 28, GRADIENTS_STORED, 1e-5},
        {"lenet5", 3, 28, GRADIENTS_ACCUMULATED, 1e-5},
        {"lenet5", 2, 28, GRADIENTS_STORED, 1e-5},
        {"resnet20", 3, 8, GRADIENTS_FUSED, 1e-4},
        {"resnet20", 2, 8, GRADIENTS_ACCUMULATED, 1e-4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        neap_graph *model = network_model(cases[i].model, 1, cases[i].image_size);
        assert_kernels_agree(&(struct network_request){.model = model,
                                                       .device = device,
                                                       .batch = cases[i].batch,
                                                       .gradients = cases[i].gradients,
                                                       .momentum = 0.9},
                             cases[i].tolerance);
        graph_free(model);
    }
}

/* ---- other batches in the same store
 * ---------------------------------------------------------------------- */

static void OtherBatchesAndEvaluationKeepTheStoresLayouts(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++)
        for (int gradients = GRADIENTS_STORED; gradients <= GRADIENTS_FUSED; gradients++) {
            struct compiled *whole = compile_model(models[m], 16, 28, gradients);
            neap_graph *model = network_model(models[m], 1, 28);
            for (int batch = 2; batch <= 9; batch += 7)
                for (int evaluation = 0; evaluation < 2; evaluation++) {
                    struct compiled *other =
                        compile_request(&(struct network_request){.model = model,
                                                                  .device = device,
                                                                  .batch = batch,
                                                                  .evaluation = evaluation,
                                                                  .gradients = gradients,
                                                                  .momentum = 0.9,
                                                                  .fixed = whole->g});
                    for (value_id v = 0; v < other->g->n_values; v++) {
                        const struct value *value = graph_value(other->g, v);
                        if (!value->persistent)
                            continue;
                        value_id w = value_named(whole->g, value->name);
                        assert_true(layout_equal(value->layout, graph_value(whole->g, w)->layout));
                    }
                    compiled_free(other);
                }
            graph_free(model);
            compiled_free(whole);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EveryStageIsShownInOrder),
        cmocka_unit_test(CompilingStopsWhereAsked),
        cmocka_unit_test(TheBatchIsTheOneAskedFor),
        cmocka_unit_test(AModelWithoutALossIsRefused),
        cmocka_unit_test(EveryNodeButViewsIsAnOp),
        cmocka_unit_test(AReluWithAMaskHasAnAlternativeThatReadsItsOutput),
        cmocka_unit_test(ViewsShareTheirRootsStorage),
        cmocka_unit_test(ValuesHaveTheirAlignedBytesAndProducers),
        cmocka_unit_test(ActivationsGrowWithTheBatchAndWeightsDoNot),
        cmocka_unit_test(EffectsAndUpdatesAreMarked),
        cmocka_unit_test(AnOutputMayOverwriteOnlyItsLike),
        cmocka_unit_test(GradientsCountWhereTheyPersist),
        cmocka_unit_test(AccumulatingTakesOneTemporaryAConvolution),
        cmocka_unit_test(KernelsInTheirLayoutsAgreeWithReferences),
        cmocka_unit_test(OtherBatchesAndEvaluationKeepTheStoresLayouts),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
