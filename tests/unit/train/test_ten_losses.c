/* Ten updates of whole networks against PyTorch in float64, and under recompute against themselves.
 *
 * Weights, batch and labels come from closed formulas, so that nothing but the files of
 * tests/oracle is needed. The gradients of every network are compared in models/test_pytorch.c. */
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
    double arena_percent; /* of store-all's, for the auto strategy; 0: the least there is */
};
static struct network mlp = {"mlp", 0}, lenet5 = {"lenet5", 0}, resnet20 = {"resnet20", 60},
                      resnet18 = {"resnet18", 0}, vgg11 = {"vgg11", 0};

struct training {
    const struct network *network;
    struct oracle_losses expected;
    int64_t batch, channels, image_size;
    neap_graph *graph;
    struct neap_plan *session;
    struct engine *engine;
    float *images;
    int32_t *labels;
    double losses[ORACLE_LOSSES];
};

static void read_expected(struct training *t) {
    struct oracle_network network;
    FILE *file = oracle_open("ten_losses.txt");
    assert_non_null(file);
    assert_true(oracle_read_losses(file, t->network->name, &t->expected));
    fclose(file);
    assert_true(oracle_read_network(t->network->name, &network));
    t->batch = network.batch;
    t->channels = network.channels;
    t->image_size = network.image_size;
    free(network.tensors);
}

static void make_batch(struct training *t) {
    int64_t pixels = t->batch * t->channels * t->image_size * t->image_size;
    assert_no_error(memory_alloc((size_t)pixels, sizeof *t->images, &t->images));
    assert_no_error(memory_alloc((size_t)t->batch, sizeof *t->labels, &t->labels));
    oracle_images(pixels, t->images);
    oracle_labels(t->batch, t->labels);
}

static void start(struct training *t, const struct network *network, const char *recompute,
                  double arena_percent) {
    *t = (struct training){.network = network};
    read_expected(t);
    const struct neap_model_options model = {.batch = t->batch,
                                             .num_classes = 10,
                                             .image_size = t->image_size,
                                             .channels = t->channels,
                                             .dropout = 0,
                                             .dropout_set = true};
    assert_no_error(neap_graph_model(network->name, &model, &t->graph));
    struct neap_options options;
    neap_options_default(&options);
    options.graph = t->graph;
    options.batch = t->batch;
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

static void train(struct training *t) {
    for (int i = 0; i < ORACLE_LOSSES; i++) {
        engine_begin(t->engine, (uint64_t)i, t->expected.lr, t->batch);
        assert_no_error(engine_batch(t->engine, t->images, t->labels, t->batch));
        assert_no_error(engine_end(t->engine));
        t->losses[i] = engine_take_metrics(t->engine).loss / (double)t->batch;
    }
}

static void assert_losses_agree(const struct training *t) {
    double tolerance = tolerance_of(t->expected.float32_error);
    for (int i = 0; i < ORACLE_LOSSES; i++)
        if (!(fabs(t->losses[i] - t->expected.losses[i]) <= tolerance))
            fail_msg("%s: loss %d is %.9f, float64 has %.9f; %.1e allowed", t->network->name, i,
                     t->losses[i], t->expected.losses[i], tolerance);
}

/* Runs the strategy and demands store-all's losses, bit for bit. */
static void assert_strategy_changes_nothing(const struct training *all, const char *recompute,
                                            double arena_percent) {
    struct training t;
    start(&t, all->network, recompute, arena_percent);
    train(&t);
    assert_memory_equal(t.losses, all->losses, sizeof t.losses);
    if (!strcmp(recompute, "auto"))
        assert_true(t.session->plan.arena_bytes <= all->session->plan.arena_bytes);
    finish(&t);
}

static void LossesAreFloat64sAndRecomputeChangesNoBitOfThem(void **state) {
    const struct network *network = *state;
    struct training all;
    start(&all, network, "none", 0);
    train(&all);
    assert_losses_agree(&all);
    assert_strategy_changes_nothing(&all, "all", 0);
    assert_strategy_changes_nothing(&all, "auto", network->arena_percent);
    finish(&all);
}

#define TEST_OF(network)                                                                           \
    { #network, LossesAreFloat64sAndRecomputeChangesNoBitOfThem, NULL, NULL, &network }

int main(void) {
    const struct CMUnitTest small[] = {TEST_OF(mlp), TEST_OF(lenet5), TEST_OF(resnet20)};
    const struct CMUnitTest large[] = {TEST_OF(resnet18), TEST_OF(vgg11)};
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
