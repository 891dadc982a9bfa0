/* Ten updates of whole networks against PyTorch in float64, and under recompute against themselves.
 *
 * Weights, batch and labels come from closed formulas, so that nothing but the files of
 * tests/oracle is needed. Gradients are read where they are stored (the update is not fused into
 * backward). */
#include "support/files.h"

#include <math.h>

#include "support/oracle.h"
#include "train/engine.h"

/* Ten times what rounding alone did to PyTorch's float32, and a little for what it did not meet. */
static double tolerance_of(double float32_error) {
    return 10 * float32_error + 1e-6;
}

struct network {
    const char *name;
    int64_t channels, image_size;
    double arena_percent; /* of store-all's, for the auto strategy; 0: the least there is */
};
static struct network mlp = {"mlp", 1, 28, 0}, lenet5 = {"lenet5", 1, 28, 0},
                      resnet20 = {"resnet20", 1, 28, 60}, resnet18 = {"resnet18", 3, 64, 0},
                      vgg11 = {"vgg11", 3, 32, 0};

struct training {
    const struct network *network;
    struct oracle_losses expected;
    neap_graph *graph;
    struct neap_plan *session;
    struct engine *engine;
    float *images;
    int32_t *labels;
    double losses[ORACLE_LOSSES];
};

static void open_oracle(const struct network *network, struct oracle_losses *out) {
    FILE *file = oracle_open("ten_losses.txt");
    assert_non_null(file);
    assert_true(oracle_read_losses(file, network->name, out));
    fclose(file);
}

static void make_batch(struct training *t) {
    const struct network *n = t->network;
    int64_t pixels = t->expected.batch * n->channels * n->image_size * n->image_size;
    assert_no_error(memory_alloc((size_t)pixels, sizeof *t->images, &t->images));
    assert_no_error(memory_alloc((size_t)t->expected.batch, sizeof *t->labels, &t->labels));
    oracle_images(pixels, t->images);
    oracle_labels(t->expected.batch, t->labels);
}

static void start(struct training *t, const struct network *network, const char *recompute,
                  double arena_percent) {
    *t = (struct training){.network = network};
    open_oracle(network, &t->expected);
    const struct neap_model_options model = {.batch = t->expected.batch,
                                             .num_classes = 10,
                                             .image_size = network->image_size,
                                             .channels = network->channels,
                                             .dropout = 0,
                                             .dropout_set = true};
    assert_no_error(neap_graph_model(network->name, &model, &t->graph));
    struct neap_options options;
    neap_options_default(&options);
    options.graph = t->graph;
    options.batch = t->expected.batch;
    options.lr = t->expected.lr;
    options.momentum = 0.9;
    options.fuse_update = NEAP_OFF;
    options.recompute = recompute;
    if (arena_percent > 0)
        options.arena = (struct neap_size){.kind = NEAP_SIZE_PERCENT, .percent = arena_percent};
    else if (!strcmp(recompute, "auto"))
        options.memory = (struct neap_size){.kind = NEAP_SIZE_MIN};
    assert_no_error(session_create(&(struct session_request){.options = &options}, &t->session));
    assert_no_error(engine_create(&(struct engine_request){.session = t->session}, &t->engine));
    oracle_fill_store(t->engine->store);
    make_batch(t);
}

static void finish(struct training *t) {
    engine_free(t->engine);
    neap_plan_free(t->session);
    neap_graph_free(t->graph);
    free(t->images);
    free(t->labels);
}

static void update(struct training *t, int i) {
    int64_t batch = t->expected.batch;
    engine_begin(t->engine, (uint64_t)i, t->expected.lr, batch);
    assert_no_error(engine_batch(t->engine, t->images, t->labels, batch));
    assert_no_error(engine_end(t->engine));
    t->losses[i] = engine_take_metrics(t->engine).loss / (double)batch;
}

/* ---- against PyTorch
 * ------------------------------------------------------------------------------ */

/* The store's entry of a buffer, or of the gradient of a parameter. */
static const struct store_entry *entry_of(const struct training *t,
                                          const struct oracle_tensor *tensor) {
    const neap_graph *g = t->session->step->g;
    if (!tensor->gradient)
        return store_find(t->engine->store, tensor->name);
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        if (value->kind == VALUE_PARAMETER_GRADIENT && value->persistent &&
            !strcmp(graph_value(g, value->of)->name, tensor->name))
            return store_find(t->engine->store, value->name);
    }
    return NULL;
}

static void assert_tensor_agrees(const struct training *t, const struct oracle_tensor *tensor) {
    const struct store_entry *entry = entry_of(t, tensor);
    char why[256];
    float *values;
    if (!entry)
        fail_msg("%s %s is not in the store", tensor->gradient ? "gradient of" : "buffer",
                 tensor->name);
    assert_int_equal(shape_elements(entry->shape), tensor->n);
    assert_no_error(memory_alloc((size_t)tensor->n, sizeof *values, &values));
    store_get(t->engine->store, entry, 0, tensor->n, values);
    if (!oracle_tensor_agrees(tensor, values, tolerance_of(tensor->float32_error), why))
        fail_msg("%s", why);
    free(values);
}

/* After the first update: every gradient and every running statistic. */
static void assert_tensors_agree(const struct training *t) {
    char name[64];
    struct oracle_tensor tensor;
    int n_gradients = 0, n_parameters = 0;
    snprintf(name, sizeof name, "%s_gradients.txt", t->network->name);
    FILE *file = oracle_open(name);
    assert_non_null(file);
    while (oracle_read_tensor(file, &tensor)) {
        assert_tensor_agrees(t, &tensor);
        n_gradients += tensor.gradient;
    }
    fclose(file);
    for (size_t i = 0; i < t->engine->store->n_entries; i++)
        n_parameters += t->engine->store->entries[i].kind == VALUE_PARAMETER;
    assert_int_equal(n_gradients, n_parameters);
}

static void assert_losses_agree(const struct training *t) {
    double tolerance = tolerance_of(t->expected.float32_error);
    for (int i = 0; i < ORACLE_LOSSES; i++)
        if (!(fabs(t->losses[i] - t->expected.losses[i]) <= tolerance))
            fail_msg("%s: loss %d is %.9f, float64 has %.9f; %.1e allowed", t->network->name, i,
                     t->losses[i], t->expected.losses[i], tolerance);
}

/* ---- the tests
 * ------------------------------------------------------------------------------------ */

static void train_store_all(const struct network *network, struct training *t) {
    start(t, network, "none", 0);
    for (int i = 0; i < ORACLE_LOSSES; i++) {
        update(t, i);
        if (i == 0)
            assert_tensors_agree(t);
    }
}

/* Runs the strategy and demands store-all's losses, bit for bit. */
static void assert_strategy_changes_nothing(const struct training *all, const char *recompute,
                                            double arena_percent) {
    struct training t;
    start(&t, all->network, recompute, arena_percent);
    for (int i = 0; i < ORACLE_LOSSES; i++)
        update(&t, i);
    assert_memory_equal(t.losses, all->losses, sizeof t.losses);
    if (!strcmp(recompute, "auto"))
        assert_true(t.session->plan.arena_bytes <= all->session->plan.arena_bytes);
    finish(&t);
}

static void LossesGradientsAndStatisticsAreFloat64sWithinRounding(void **state) {
    struct training t;
    train_store_all(*state, &t);
    assert_losses_agree(&t);
    finish(&t);
}

static void RecomputeChangesNoBitOfTenLosses(void **state) {
    const struct network *network = *state;
    struct training t;
    train_store_all(network, &t);
    assert_strategy_changes_nothing(&t, "all", 0);
    assert_strategy_changes_nothing(&t, "auto", network->arena_percent);
    finish(&t);
}

#define TESTS_OF(network)                                                                          \
    {#network ": losses, gradients and statistics are float64's within rounding",                  \
     LossesGradientsAndStatisticsAreFloat64sWithinRounding, NULL, NULL, &network},                 \
    {                                                                                              \
#network ": recompute changes no bit of ten losses", RecomputeChangesNoBitOfTenLosses,     \
            NULL, NULL, &network                                                                   \
    }

int main(void) {
    const struct CMUnitTest small[] = {TESTS_OF(mlp), TESTS_OF(lenet5), TESTS_OF(resnet20)};
    const struct CMUnitTest large[] = {TESTS_OF(resnet18), TESTS_OF(vgg11)};
    FILE *file = oracle_open("ten_losses.txt");
    if (!file) {
        puts("tests/oracle is not at hand: SOURCE_DIR must name the sources");
        return 77;
    }
    fclose(file);
    int failed = cmocka_run_group_tests_name("small networks", small, NULL, NULL);
    if (getenv("NEAP_SANITIZE")) {
        puts("resnet18 and vgg11 are left out: minutes and gigabytes under a sanitizer");
        return failed;
    }
    return failed + cmocka_run_group_tests_name("large networks", large, NULL, NULL);
}
