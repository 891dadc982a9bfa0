/* Fifty updates of the MLP against PyTorch in float64 (tests/oracle/training.txt): schedules,
 * clipping, label smoothing and what decays. */
#include "support/files.h"

#include <math.h>

#include "support/oracle.h"
#include "train/engine.h"
#include "train/lr.h"

enum { BATCH = 16, UPDATES = 50, PER_EPOCH = 10, PIXELS = 784, LINE = 4096 };

struct training {
    struct neap_options options;
    struct neap_plan *session;
    struct engine *engine;
    struct lr_schedule schedule;
    float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    double losses[UPDATES], norms[UPDATES], rates[UPDATES];
};

/* ---- a case's options ------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    size_t number; /* offset of a double in the options; 0: */
    size_t text;   /* offset of a string */
} fields[] = {
    {"lr", offsetof(struct neap_options, lr), 0},
    {"weight-decay", offsetof(struct neap_options, weight_decay), 0},
    {"clip-grad", offsetof(struct neap_options, clip_grad), 0},
    {"label-smoothing", offsetof(struct neap_options, label_smoothing), 0},
    {"min-lr", offsetof(struct neap_options, min_lr), 0},
    {"decay-rate", offsetof(struct neap_options, decay_rate), 0},
    {"warmup-epochs", offsetof(struct neap_options, warmup_epochs), 0},
    {"opt", 0, offsetof(struct neap_options, optimizer)},
    {"sched", 0, offsetof(struct neap_options, schedule)},
    {"decay-milestones", 0, offsetof(struct neap_options, decay_milestones)},
};

static void set(struct neap_options *o, const char *name, const char *value) {
    bool known = !strcmp(name, "decay-epochs") || !strcmp(name, "decay-norms");
    if (!strcmp(name, "decay-epochs"))
        o->decay_epochs = atoll(value);
    if (!strcmp(name, "decay-norms"))
        o->decay_norms = strcmp(value, "0") != 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(name, fields[i].name))
            continue;
        known = true;
        if (fields[i].text)
            *(const char **)((char *)o + fields[i].text) = value;
        else
            *(double *)((char *)o + fields[i].number) = atof(value);
    }
    if (!known)
        fail_msg("the test does not know the option '%s'", name);
}

/* "lr=0.01 sched=cosine": the options keep pointers into it. */
static void read_options(char *words, struct neap_options *o) {
    neap_options_default(o);
    o->model = "mlp";
    o->batch = BATCH;
    o->epochs = UPDATES / PER_EPOCH;
    for (char *save, *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = 0;
        set(o, word, value);
    }
}

/* ---- a run ------------------------------------------------------------------------------------
 */

static void train(struct training *t) {
    const struct session_request request = {
        .options = &t->options, .channels = 1, .image_size = 28, .num_classes = 10};
    assert_no_error(session_create(&request, &t->session));
    assert_no_error(engine_create(&(struct engine_request){.session = t->session}, &t->engine));
    const struct calendar calendar = {.accumulation = &t->session->accumulation,
                                      .samples = BATCH * PER_EPOCH,
                                      .batch = BATCH,
                                      .epochs = UPDATES / PER_EPOCH};
    assert_int_equal(calendar_updates_before(&calendar, UPDATES / PER_EPOCH), UPDATES);
    assert_no_error(lr_schedule_of(&t->session->options, &calendar, UPDATES, &t->schedule));
    oracle_fill_store(t->engine->store);
    oracle_images(BATCH * PIXELS, t->images);
    oracle_labels(BATCH, t->labels);
    for (int u = 0; u < UPDATES; u++) {
        t->rates[u] = lr_at(&t->schedule, u / PER_EPOCH, u);
        engine_begin(t->engine, (uint64_t)u, t->rates[u], BATCH);
        assert_no_error(engine_batch(t->engine, t->images, t->labels, BATCH));
        assert_no_error(engine_end(t->engine));
        t->losses[u] = engine_take_metrics(t->engine).loss / BATCH;
        t->norms[u] = t->engine->gradient_norm;
    }
    engine_free(t->engine);
    neap_plan_free(t->session);
}

static void agrees(const char *words, const char *what, int update, double got, double want,
                   double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%s: %s of update %d is %.12g, PyTorch says %.12g; %.1e allowed", words, what,
                 update, got, want, tolerance);
}

/* "options | rounding | update loss norm … | fifty rates" */
static void check_line(char *line) {
    static struct training t;
    char words[LINE], *end;
    t = (struct training){0};
    char *error = strstr(line, " | "), *shown = strstr(error + 3, " | "),
         *rates = strstr(shown + 3, " | ");
    *error = 0;
    snprintf(words, sizeof words, "%s", line);
    double tolerance = 10 * atof(error + 3) + 1e-6;
    read_options(line, &t.options);
    train(&t);
    for (char *at = shown + 3; at < rates; at = end) {
        int update = (int)strtol(at, &end, 10);
        double loss = strtod(end, &end), norm = strtod(end, &end);
        agrees(words, "the loss", update, t.losses[update - 1], loss, tolerance);
        agrees(words, "the norm", update, t.norms[update - 1], norm,
               tolerance * fmax(1, 10 * norm));
    }
    char *at = rates + 3;
    for (int u = 0; u < UPDATES; u++, at = end) {
        double rate = strtod(at, &end);
        assert_true(end != at);
        agrees(words, "the rate", u, t.rates[u], rate, 1e-12);
    }
}

static void fifty_updates_agree(void **state) {
    (void)state;
    char line[LINE];
    int n = 0;
    FILE *file = oracle_open("training.txt");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        check_line(line);
        n++;
    }
    fclose(file);
    assert_true(n > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fifty_updates_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
