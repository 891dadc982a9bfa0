/* The store: persistent values by name, read and written in logical order whatever their layout. */
#include "support/files.h"

#include "backend/cpu/cpu.h"
#include "exec/store.h"
#include "support/network.h"

static struct device *device;
static neap_graph *graph;
static struct store *store;

static const int64_t weight_dims[] = {20, 3, 2, 5};
enum { N_WEIGHTS = 20 * 3 * 2 * 5 };

/* One weight in the layout of this text, and values that are not persistent around it. */
static void make(const char *layout) {
    value_id id;
    assert_no_error(graph_create("g", &graph));
    const int64_t batch[] = {2, 3, 8, 8};
    struct value_spec input = {
        .name = "x", .kind = VALUE_INPUT, .shape = shape_of(4, batch), .of = ID_NONE};
    assert_no_error(graph_add_value(graph, &input, &id));
    struct value_spec weight = {
        .name = "w", .kind = VALUE_PARAMETER, .shape = shape_of(4, weight_dims), .of = ID_NONE};
    assert_no_error(layout_of_text(layout, 4, &weight.layout));
    assert_no_error(graph_add_value(graph, &weight, &id));
    struct value_spec mean = {
        .name = "mean", .kind = VALUE_BUFFER, .shape = shape_of(1, weight_dims), .of = ID_NONE};
    assert_no_error(graph_add_value(graph, &mean, &id));
    assert_no_error(store_create(device, graph, 128, &store));
}

static void drop(void) {
    store_free(store);
    graph_free(graph);
    store = NULL;
    graph = NULL;
}

static int open_device(void **state) {
    (void)state;
    device = network_device(&backend_cpu, 1);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

static const char *const layouts[] = {"abcd",    "acdb",       "cdba",     "aBcd8b",  "aBcd16b",
                                      "Abcd16a", "ABcd16b16a", "ABcd8b8a", "ABcd4a4b"};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static void ValuesComeBackInEveryLayout(void **state) {
    (void)state;
    for (int l = 0; l < N_LAYOUTS; l++) {
        float in[N_WEIGHTS], out[N_WEIGHTS], some[7];
        make(layouts[l]);
        const struct store_entry *w = store_find(store, "w");
        for (int i = 0; i < N_WEIGHTS; i++)
            in[i] = (float)(i + 1);
        for (int first = 0; first < N_WEIGHTS; first += 100)
            store_set(store, w, first, 100, in + first);
        store_get(store, w, 0, N_WEIGHTS, out);
        assert_memory_equal(out, in, sizeof in);
        store_get(store, w, 123, 7, some);
        assert_memory_equal(some, in + 123, sizeof some);
        drop();
    }
}

static void PaddingStaysZero(void **state) {
    (void)state;
    for (int l = 0; l < N_LAYOUTS; l++) {
        float in[N_WEIGHTS];
        make(layouts[l]);
        const struct store_entry *w = store_find(store, "w");
        for (int i = 0; i < N_WEIGHTS; i++)
            in[i] = 1;
        store_set(store, w, 0, N_WEIGHTS, in);
        const float *data = store_data(store, w);
        double sum = 0;
        for (int64_t i = 0; i < w->bytes / 4; i++) {
            assert_true(data[i] == 0 || data[i] == 1);
            sum += (double)data[i];
        }
        assert_true(sum == N_WEIGHTS);
        drop();
    }
}

/* oneDNN's formula for ABcd16b16a: blocks of 16 × 16, the first dimension innermost. */
static void ABlockedWeightLiesAsItsNameSays(void **state) {
    (void)state;
    float in[N_WEIGHTS];
    make("ABcd16b16a");
    const struct store_entry *w = store_find(store, "w");
    assert_int_equal(w->bytes, 4 * 32 * 16 * 2 * 5);
    for (int i = 0; i < N_WEIGHTS; i++)
        in[i] = (float)(i + 1);
    store_set(store, w, 0, N_WEIGHTS, in);
    const float *data = store_data(store, w);
    for (int a = 0; a < 20; a++)
        for (int b = 0; b < 3; b++)
            for (int cd = 0; cd < 10; cd++)
                assert_true(data[((a / 16 * 10 + cd) * 16 + b) * 16 + a % 16] ==
                            in[(a * 3 + b) * 10 + cd]);
    drop();
}

static void OnlyWhatOutlivesAStepIsThere(void **state) {
    (void)state;
    make("abcd");
    assert_int_equal(store->n_entries, 2);
    assert_null(store_find(store, "x"));
    assert_null(store_find(store, "w2"));
    assert_non_null(store_find(store, "w"));
    assert_non_null(store_find(store, "mean"));
    drop();
}

static void EntriesAreAlignedAndApart(void **state) {
    (void)state;
    make("abcd");
    const struct store_entry *w = store_find(store, "w"), *mean = store_find(store, "mean");
    assert_int_equal(w->offset % 128, 0);
    assert_int_equal(mean->offset % 128, 0);
    assert_true(mean->offset >= w->offset + w->bytes || w->offset >= mean->offset + mean->bytes);
    assert_int_equal(store->bytes, round_up(4 * N_WEIGHTS, 128) + 128);
    drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ValuesComeBackInEveryLayout),
        cmocka_unit_test(PaddingStaysZero),
        cmocka_unit_test(ABlockedWeightLiesAsItsNameSays),
        cmocka_unit_test(OnlyWhatOutlivesAStepIsThere),
        cmocka_unit_test(EntriesAreAlignedAndApart),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
