/* A window that is not finite is skipped: what comes after it is as if it had not been. */
#include "support/files.h"

#include <math.h>

#include "train/engine.h"

enum { BATCH = 8, PIXELS = 64, N_WINDOWS = 4 };

static void build(neap_graph *g) {
    const int64_t images[] = {BATCH, 1, 8, 8};
    neap_value x = neap_input(g, "images", NEAP_F32, 4, images);
    x = neap_conv2d(g, x, "conv", &(struct neap_conv2d){.out_channels = 4, .kernel = {3}});
    x = neap_relu(g, neap_batch_norm(g, x, "bn", 0, 0), "relu");
    x = neap_flatten(g, x, "flatten");
    neap_classifier(g, neap_linear(g, x, "fc", &(struct neap_linear){.out_features = 10}));
    assert_no_error(neap_graph_check(g));
}

struct training {
    neap_graph *graph;
    struct neap_plan *session;
    struct engine *engine;
};

static void start(struct training *t, const char *optimizer, int64_t micro_batch) {
    struct neap_options options;
    neap_options_default(&options);
    assert_no_error(neap_graph_create("guarded", &t->graph));
    build(t->graph);
    options.graph = t->graph;
    options.batch = BATCH;
    options.micro_batch = micro_batch;
    options.optimizer = optimizer;
    options.lr = 0.01;
    options.on_nan = NEAP_NAN_SKIP;
    assert_no_error(session_create(&(struct session_request){.options = &options}, &t->session));
    assert_no_error(engine_create(&(struct engine_request){.session = t->session}, &t->engine));
}

static void stop(struct training *t) {
    engine_free(t->engine);
    neap_plan_free(t->session);
    neap_graph_free(t->graph);
}

/* Window `w`'s batch, with `bad` in one pixel of its last sample. */
static bool window(struct training *t, int w, int64_t update, int64_t skipped, float bad) {
    float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = sinf((float)(i * (w + 1)));
    for (int i = 0; i < BATCH; i++)
        labels[i] = (i + w) % 10;
    if (bad != 0)
        images[BATCH * PIXELS - 1] = bad;
    engine_set_skipped(t->engine, skipped);
    engine_begin(t->engine, (uint64_t)update, 0.01, BATCH);
    assert_no_error(engine_batch(t->engine, images, labels, BATCH));
    assert_no_error(engine_end(t->engine));
    engine_take_metrics(t->engine);
    return t->engine->skipped;
}

static void skips(const char *optimizer, int64_t micro_batch, float bad) {
    struct training with, without;
    start(&with, optimizer, micro_batch);
    start(&without, optimizer, micro_batch);
    int64_t update = 0, skipped = 0;
    for (int w = 0; w < N_WINDOWS; w++) {
        assert_false(window(&without, w, w, 0, 0));
        assert_false(window(&with, w, update++, skipped, 0));
        if (w == 0 || w == 2) {
            assert_true(window(&with, w, update++, skipped, bad));
            skipped++;
        }
    }
    assert_int_equal(with.engine->store->bytes, without.engine->store->bytes);
    assert_memory_equal(with.engine->store->base, without.engine->store->base,
                        (size_t)with.engine->store->bytes);
    stop(&with);
    stop(&without);
}

static void a_skip_leaves_no_trace(void **state) {
    (void)state;
    static const char *const optimizers[] = {"sgd", "adam", "adamw"};
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        skips(optimizers[i], 0, NAN);
        skips(optimizers[i], 4, NAN); /* sums over slices, of which the first was finite */
        skips(optimizers[i], 0, INFINITY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_skip_leaves_no_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
