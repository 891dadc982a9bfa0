/* Loss scaling: the option, the steps of the scale, and windows that overflow in fp16. */
#include "support/files.h"

#include <math.h>

#include "train/engine.h"

static struct loss_scaler scaler(const char *text) {
    struct loss_scaler s;
    assert_no_error(scaler_of(text, true, &s));
    return s;
}

static void the_option_names_the_start(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double scale;
        bool dynamic;
    } good[] = {{NULL, 65536, true},
                {"dynamic", 65536, true},
                {"dynamic:8", 8, true},
                {"1024", 1024, false}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(scaler(good[i].text).scale == good[i].scale);
        assert_int_equal(scaler(good[i].text).dynamic, good[i].dynamic);
    }
    static const char *const bad[] = {"",    "dynamics", "dynamic:", "dynamic:0",
                                      "0.5", "8x",       "nan",      "1e30"};
    struct loss_scaler s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_error(scaler_of(bad[i], true, &s), NEAP_ERROR_USAGE, "--loss-scale");
}

static void without_fp16_nothing_is_scaled(void **state) {
    (void)state;
    struct loss_scaler s;
    assert_no_error(scaler_of(NULL, false, &s));
    assert_true(s.scale == 1 && !s.dynamic);
    assert_error(scaler_of("dynamic", false, &s), NEAP_ERROR_USAGE, "--precision fp16");
}

static void good_updates_double_and_an_overflow_halves(void **state) {
    (void)state;
    struct loss_scaler s = scaler("dynamic:16");
    for (int i = 1; i < SCALER_PATIENCE; i++)
        assert_no_error(scaler_step(&s, true));
    assert_true(s.scale == 16);
    assert_no_error(scaler_step(&s, true));
    assert_true(s.scale == 32 && s.good_updates == 0);
    assert_no_error(scaler_step(&s, true));
    assert_no_error(scaler_step(&s, false));
    assert_true(s.scale == 16 && s.good_updates == 0);
}

static void the_scale_ends_at_one(void **state) {
    (void)state;
    struct loss_scaler s = scaler("dynamic:4");
    assert_no_error(scaler_step(&s, false));
    assert_no_error(scaler_step(&s, false));
    assert_true(s.scale == 1);
    assert_error(scaler_step(&s, false), NEAP_ERROR_DIVERGED, "loss scale");
    struct loss_scaler fixed = scaler("4");
    for (int i = 0; i < 5000; i++)
        assert_no_error(scaler_step(&fixed, i % 2));
    assert_true(fixed.scale == 4);
}

/* ---- windows ----------------------------------------------------------------------------------
 */

enum { BATCH = 8, PIXELS = 784 };

struct training {
    struct neap_plan *session;
    struct engine *engine;
};

static void start(struct training *t, const char *loss_scale, int64_t micro_batch) {
    struct neap_options options;
    neap_options_default(&options);
    options.model = "lenet5";
    options.batch = BATCH;
    options.micro_batch = micro_batch;
    options.optimizer = "adam";
    options.precision = "fp16";
    options.loss_scale = loss_scale;
    assert_no_error(session_create(&(struct session_request){.options = &options}, &t->session));
    assert_no_error(engine_create(&(struct engine_request){.session = t->session}, &t->engine));
}

static void stop(struct training *t) {
    engine_free(t->engine);
    neap_plan_free(t->session);
}

static bool window(struct training *t, int w, int64_t update, int64_t skipped) {
    float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = sinf((float)(i * (w + 1)));
    for (int i = 0; i < BATCH; i++)
        labels[i] = (i + w) % 10;
    engine_set_skipped(t->engine, skipped);
    engine_begin(t->engine, (uint64_t)update, 0.001, BATCH);
    assert_no_error(engine_batch(t->engine, images, labels, BATCH));
    assert_no_error(engine_end(t->engine));
    assert_true(isfinite(engine_take_metrics(t->engine).loss));
    return t->engine->skipped;
}

/* From a scale that overflows, against a run that starts at the scale where it stops doing so. */
static void overflows(int64_t micro_batch) {
    struct training high, right;
    char text[32];
    int64_t skipped = 0;
    start(&high, "dynamic:1099511627776", micro_batch);
    while (window(&high, 0, skipped, skipped)) {
        skipped++;
        assert_true(high.engine->scaler.scale == ldexp(1, 40 - (int)skipped));
    }
    assert_true(skipped > 3);
    snprintf(text, sizeof text, "%.17g", high.engine->scaler.scale);
    start(&right, text, micro_batch);
    assert_false(window(&right, 0, 0, 0));
    for (int w = 1; w < 4; w++) {
        assert_false(window(&high, w, w + skipped, skipped));
        assert_false(window(&right, w, w, 0));
    }
    assert_int_equal(high.engine->store->bytes, right.engine->store->bytes);
    assert_memory_equal(high.engine->store->base, right.engine->store->base,
                        (size_t)right.engine->store->bytes);
    stop(&high);
    stop(&right);
}

static void an_overflow_leaves_no_trace_and_halves_the_scale_until_there_is_none(void **state) {
    (void)state;
    overflows(0);
    overflows(3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_option_names_the_start),
        cmocka_unit_test(without_fp16_nothing_is_scaled),
        cmocka_unit_test(good_updates_double_and_an_overflow_halves),
        cmocka_unit_test(the_scale_ends_at_one),
        cmocka_unit_test(an_overflow_leaves_no_trace_and_halves_the_scale_until_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
