/* A run that is stopped after any of its updates and resumed ends as one that was not: between
 * epochs, before and after an epoch's evaluation, before the first update. Through neap.h alone. */
#include "support/files.h"

#include "neap.h"

enum { BATCH = 200, UPDATES = 12 }; /* 1,024 samples: two epochs of six updates */

static neap_graph *build(void) {
    neap_graph *g;
    const int64_t images[] = {BATCH, 1, 8, 8};
    assert_no_error(neap_graph_create("small", &g));
    neap_value x = neap_input(g, "images", NEAP_F32, 4, images);
    x = neap_conv2d(g, x, "conv", &(struct neap_conv2d){.out_channels = 4, .kernel = {3}});
    x = neap_relu(g, neap_batch_norm(g, x, "bn", 0, 0), "relu");
    x = neap_dropout(g, neap_flatten(g, x, "flatten"), "drop", 0.2);
    neap_classifier(g, neap_linear(g, x, "fc", &(struct neap_linear){.out_features = 10}));
    assert_no_error(neap_graph_check(g));
    return g;
}

static struct neap_options options_of(const neap_graph *graph, const char *output) {
    struct neap_options options;
    neap_options_default(&options);
    options.graph = graph;
    options.data = options.val_data = "synthetic";
    options.batch = BATCH;
    options.epochs = 2;
    options.optimizer = "adam";
    options.lr = 0.01;
    options.schedule = "cosine";
    options.output = output;
    return options;
}

/* Asks for the end once so many updates are done. */
struct stopper {
    int64_t after, done;
};
static void count(void *user, const struct neap_event *event) {
    if (event->kind == NEAP_EVENT_UPDATE)
        ((struct stopper *)user)->done = event->update;
}
static bool is_enough(void *user) {
    const struct stopper *stopper = user;
    return stopper->done >= stopper->after;
}

static void assert_same_file(const char *a, const char *b, const char *name) {
    char path[64], bytes[1 << 16];
    snprintf(path, sizeof path, "%s/%s", a, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(n, 1, sizeof bytes - 1);
    snprintf(path, sizeof path, "%s/%s", b, name);
    assert_file_holds(path, bytes, n);
}

/* The rows' first eight columns: those behind are of time. */
static void read_rows(const char *run, char *rows) {
    char path[64], line[512];
    size_t used = 0;
    snprintf(path, sizeof path, "%s/metrics.csv", run);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *end = line;
        for (int column = 0; column < 8; column++)
            end = strchr(end, ',') + 1;
        memcpy(rows + used, line, (size_t)(end - line));
        used += (size_t)(end - line);
    }
    rows[used] = '\0';
    fclose(file);
}

static void stopped_after_every_update(void **state) {
    (void)state;
    neap_graph *graph = build();
    char whole[2048], resumed[2048];
    struct neap_options options = options_of(graph, "whole");
    assert_no_error(neap_train(&options, NULL));
    read_rows("whole", whole);
    for (int64_t after = 0; after <= UPDATES; after++) {
        char run[32];
        struct stopper stopper = {.after = after};
        const struct neap_observer observer = {count, is_enough, &stopper};
        snprintf(run, sizeof run, "after-%d", (int)after);
        options = options_of(graph, run);
        assert_error(neap_train(&options, &observer), NEAP_INTERRUPTED, "stopped after update");
        assert_int_equal(stopper.done, after);
        options.resume = run;
        options.output = NULL;
        assert_no_error(neap_train(&options, NULL));
        assert_same_file("whole", run, "last/model.safetensors");
        assert_same_file("whole", run, "last/optimizer.safetensors");
        assert_same_file("whole", run, "best.safetensors");
        read_rows(run, resumed);
        assert_string_equal(whole, resumed);
    }
    neap_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stopped_after_every_update)};
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
