/* Windows: however their samples are cut into batches and slices, the gradient is that of the
 * samples' mean up to rounding, and one window is one update for everything that counts updates. */
#include "support/files.h"

#include <math.h>

#include "support/oracle.h"
#include "train/engine.h"
#include "train/gradients.h"

enum { SAMPLES = 64, PIXELS = 784, UPDATES = 3 };

struct run {
    struct neap_plan *session;
    struct engine *engine;
};

static struct neap_options options_of(int64_t batch, const char *steps) {
    struct neap_options o;
    neap_options_default(&o);
    o.model = "mlp";
    o.batch = batch;
    o.grad_accum_steps = steps;
    return o;
}

static struct run open_run(const struct neap_options *o, int64_t samples) {
    struct run run;
    const struct session_request request = {
        .options = o, .channels = 1, .image_size = 28, .num_classes = 10};
    assert_no_error(session_create(&request, &run.session));
    const struct engine_request wanted = {.session = run.session, .train_samples = samples};
    assert_no_error(engine_create(&wanted, &run.engine));
    oracle_fill_store(run.engine->store);
    return run;
}

static void close_run(struct run *run) {
    engine_free(run->engine);
    neap_plan_free(run->session);
}

/* A window of the first `samples` of the formulas' images, and its update; the mean loss. */
static double window(struct run *run, int update, double lr, int64_t samples) {
    static float images[SAMPLES * PIXELS];
    static int32_t labels[SAMPLES];
    int64_t batch = run->session->options.batch;
    oracle_images(SAMPLES * PIXELS, images);
    oracle_labels(SAMPLES, labels);
    engine_begin(run->engine, (uint64_t)update, lr, samples);
    for (int64_t first = 0; first < samples; first += batch) {
        int64_t count = samples - first < batch ? samples - first : batch;
        assert_no_error(engine_batch(run->engine, images + first * PIXELS, labels + first, count));
    }
    assert_no_error(engine_end(run->engine));
    return engine_take_metrics(run->engine).loss / (double)samples;
}

/* |a − b| / |a| of a tensor that both stores have. */
static double distance(const struct run *a, const struct run *b, const char *name) {
    const struct store_entry *x = store_find(a->engine->store, name),
                             *y = store_find(b->engine->store, name);
    assert_non_null(x);
    assert_non_null(y);
    int64_t n = shape_elements(x->shape);
    float *p = malloc((size_t)n * sizeof *p), *q = malloc((size_t)n * sizeof *q);
    assert_true(p && q);
    store_get(a->engine->store, x, 0, n, p);
    store_get(b->engine->store, y, 0, n, q);
    double apart = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        apart += ((double)p[i] - (double)q[i]) * ((double)p[i] - (double)q[i]);
        size += (double)p[i] * (double)p[i];
    }
    free(p);
    free(q);
    assert_true(size > 0);
    return sqrt(apart / size);
}

static void assert_near(const struct run *a, const struct run *b, enum value_kind kind,
                        double tolerance) {
    const struct store *store = a->engine->store;
    int n = 0;
    for (size_t i = 0; i < store->n_entries; i++) {
        const struct store_entry *entry = &store->entries[i];
        if (entry->kind != kind)
            continue;
        double apart = distance(a, b, entry->name);
        if (!(apart <= tolerance))
            fail_msg("%s: %.2e apart, %.2e allowed", entry->name, apart, tolerance);
        n++;
    }
    assert_true(n > 0);
}

/* ---- one window -------------------------------------------------------------------------------
 */

/* After the first update from zero the momentum is the window's gradient. */
static void compare_gradients(struct neap_options a, struct neap_options b, int64_t samples,
                              double tolerance) {
    struct run one = open_run(&a, samples), other = open_run(&b, samples);
    double loss = window(&one, 0, 0, samples), same = window(&other, 0, 0, samples);
    assert_true(fabs(loss - same) <= 1e-6 * loss);
    assert_near(&one, &other, VALUE_OPTIMIZER_STATE, tolerance);
    close_run(&one);
    close_run(&other);
}

static void SixtyFourAtOnceOrSixteenFourTimes(void **state) {
    (void)state;
    compare_gradients(options_of(64, NULL), options_of(16, "4"), 64, 1e-6);
}

static void SlicesAddUp(void **state) {
    (void)state;
    struct neap_options sliced = options_of(64, NULL);
    sliced.micro_batch = 7;
    compare_gradients(options_of(64, NULL), sliced, 64, 5e-6);
}

/* 41 samples: two batches and 9, of four batches that a window could have. Nine samples and 41 have
 * kernels of their own. */
static void AShortWindowCountsAsWhatItIs(void **state) {
    (void)state;
    compare_gradients(options_of(41, NULL), options_of(16, "4"), 41, 5e-6);
}

/* The largest entry of a schedule decides how gradients are kept, not what they are. */
static void AWindowOfAScheduleIsLikeAnyOther(void **state) {
    (void)state;
    compare_gradients(options_of(32, NULL), options_of(16, "0:4,1:2"), 32, 1e-6);
}

/* ---- updates -----------------------------------------------------------------------------------
 */

/* Moments, their bias and weight decay move once a window. */
static void compare_updates(struct neap_options a, struct neap_options b) {
    struct run one = open_run(&a, SAMPLES), other = open_run(&b, SAMPLES);
    for (int update = 0; update < UPDATES; update++) {
        window(&one, update, 0.001, SAMPLES);
        window(&other, update, 0.001, SAMPLES);
    }
    assert_near(&one, &other, VALUE_PARAMETER, 1e-5);
    close_run(&one);
    close_run(&other);
}

static void AdamWCountsUpdates(void **state) {
    (void)state;
    struct neap_options a = options_of(64, NULL), b = options_of(16, "4");
    a.optimizer = b.optimizer = "adamw";
    a.weight_decay = b.weight_decay = 10; /* once is one per cent */
    a.eps = b.eps = 1e-3;                 /* no sign of a gradient near zero decides */
    compare_updates(a, b);
}

static void SgdDecaysOnceAWindow(void **state) {
    (void)state;
    struct neap_options a = options_of(64, NULL), b = options_of(16, "4");
    a.weight_decay = b.weight_decay = 10;
    compare_updates(a, b);
}

/* ---- accumulators ------------------------------------------------------------------------------
 */

static void AccumulatorsAreFp32AndClearedByTheUpdate(void **state) {
    (void)state;
    struct neap_options o = options_of(16, "4");
    struct run run = open_run(&o, SAMPLES);
    window(&run, 0, 0.01, SAMPLES);
    const struct store *store = run.engine->store;
    int n = 0;
    for (size_t i = 0; i < store->n_entries; i++) {
        const struct store_entry *entry = &store->entries[i];
        if (entry->kind != VALUE_PARAMETER_GRADIENT)
            continue;
        assert_int_equal(entry->dtype, DTYPE_F32);
        n++;
    }
    assert_int_equal(n, 6);
    assert_true(gradients_norm(store) == 0);
    close_run(&run);
}

/* ---- clipping ---------------------------------------------------------------------------------
 */

static double norm_by_definition(const struct store *store) {
    double sum = 0;
    for (size_t i = 0; i < store->n_entries; i++) {
        const struct store_entry *entry = &store->entries[i];
        int64_t n = shape_elements(entry->shape);
        if (entry->kind != VALUE_PARAMETER_GRADIENT)
            continue;
        for (int64_t k = 0; k < n; k++) {
            float x;
            store_get(store, entry, k, 1, &x);
            sum += (double)x * (double)x;
        }
    }
    return sqrt(sum);
}

static void TheNormIsThatOfAllGradients(void **state) {
    (void)state;
    struct neap_options o = options_of(16, NULL);
    o.clip_grad = 0.25;
    struct run run = open_run(&o, 16);
    window(&run, 0, 0, 16);
    double norm = norm_by_definition(run.engine->store);
    assert_true(norm > 0.25);
    assert_true(fabs(run.engine->gradient_norm / norm - 1) < 1e-12);
    close_run(&run);
}

static void TheNormIsTheSameForAnyNumberOfThreads(void **state) {
    (void)state;
    struct neap_options o = options_of(16, NULL);
    o.clip_grad = 1;
    struct run run = open_run(&o, 16);
    window(&run, 0, 0, 16);
    double norm = gradients_norm(run.engine->store);
    for (int threads = 1; threads <= 4; threads++) {
        struct device *device;
        assert_no_error(device_open("cpu", threads, &device));
        assert_true(gradients_norm(run.engine->store) == norm);
        device_close(device);
    }
    close_run(&run);
}

/* Clipping sees the mean over the window: the cut into batches makes no difference. */
static void ClippingComesBehindTheDivision(void **state) {
    (void)state;
    struct neap_options a = options_of(64, NULL), b = options_of(16, "4");
    a.clip_grad = b.clip_grad = 0.1;
    compare_gradients(a, b, 64, 1e-6);
    compare_gradients(a, b, 41, 5e-6);
    a.clip_grad = 0.1;
    b.clip_grad = 0;
    struct run clipped = open_run(&a, 64), plain = open_run(&b, 64);
    window(&clipped, 0, 0, 64);
    window(&plain, 0, 0, 64);
    double factor = 0.1 / (clipped.engine->gradient_norm + 1e-6);
    assert_true(factor < 0.5);
    double apart = distance(&plain, &clipped, "linear_relu_stack.0.weight.momentum_buffer");
    assert_true(fabs(apart - (1 - factor)) < 1e-5);
    close_run(&clipped);
    close_run(&plain);
}

static void AGradientThatIsNotFiniteIsNoUpdate(void **state) {
    (void)state;
    struct neap_options o = options_of(16, NULL);
    o.clip_grad = 1;
    struct run run = open_run(&o, 16);
    const struct store_entry *weight = store_find(run.engine->store, "linear_relu_stack.0.weight");
    float nan_image[16 * PIXELS];
    int32_t labels[16] = {0};
    for (int i = 0; i < 16 * PIXELS; i++)
        nan_image[i] = NAN;
    float before, after;
    store_get(run.engine->store, weight, 5, 1, &before);
    engine_begin(run.engine, 7, 0.1, 16);
    assert_no_error(engine_batch(run.engine, nan_image, labels, 16));
    assert_error(engine_end(run.engine), NEAP_ERROR_DIVERGED, "norm is nan at update 7");
    store_get(run.engine->store, weight, 5, 1, &after);
    assert_true(before == after);
    close_run(&run);
}

static void TheFactorIsPyTorchs(void **state) {
    (void)state;
    assert_true(gradients_clip(0.5, 1) == 1);
    assert_true(gradients_clip(0, 1) == 1);
    assert_true(gradients_clip(4, 1) == 1 / (4 + 1e-6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(SixtyFourAtOnceOrSixteenFourTimes),
        cmocka_unit_test(SlicesAddUp),
        cmocka_unit_test(AShortWindowCountsAsWhatItIs),
        cmocka_unit_test(AWindowOfAScheduleIsLikeAnyOther),
        cmocka_unit_test(AdamWCountsUpdates),
        cmocka_unit_test(SgdDecaysOnceAWindow),
        cmocka_unit_test(AccumulatorsAreFp32AndClearedByTheUpdate),
        cmocka_unit_test(TheNormIsThatOfAllGradients),
        cmocka_unit_test(TheNormIsTheSameForAnyNumberOfThreads),
        cmocka_unit_test(ClippingComesBehindTheDivision),
        cmocka_unit_test(AGradientThatIsNotFiniteIsNoUpdate),
        cmocka_unit_test(TheFactorIsPyTorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
