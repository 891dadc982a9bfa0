/* Initial values: a function of seed, name and logical index, distributed as asked. */
#include "support/files.h"

#include <math.h>
#include <omp.h>

#include "backend/cpu/cpu.h"
#include "exec/store.h"
#include "support/network.h"

enum { ROWS = 250, COLUMNS = 400, N = ROWS * COLUMNS };
static const int64_t dims[] = {ROWS, COLUMNS};
static struct device *device;
static float values[N];

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

/* The initial values of one tensor, in logical order. */
static void draw_as(enum value_kind kind, const char *name, const char *layout,
                    struct neap_init init, uint64_t seed, int threads, float *out) {
    neap_graph *g;
    struct store *store;
    value_id id;
    assert_no_error(graph_create("g", &g));
    struct value_spec spec = {
        .name = name, .kind = kind, .shape = shape_of(2, dims), .of = ID_NONE, .init = init};
    assert_no_error(layout_of_text(layout, 2, &spec.layout));
    assert_no_error(graph_add_value(g, &spec, &id));
    assert_no_error(store_create(device, g, 128, &store));
    omp_set_num_threads(threads);
    store_init(store, seed);
    store_get(store, &store->entries[0], 0, N, out);
    store_free(store);
    graph_free(g);
}

static void draw(struct neap_init init, uint64_t seed, float *out) {
    draw_as(VALUE_PARAMETER, "w", "ab", init, seed, 1, out);
}

static const struct neap_init uniform = {NEAP_INIT_UNIFORM, 0.25};
static const struct neap_init normal = {NEAP_INIT_NORMAL, 0.25};
static const struct neap_init constant = {NEAP_INIT_CONSTANT, 0.75};

static void LayoutAndThreadsDoNotMatter(void **state) {
    (void)state;
    static const struct neap_init inits[] = {{NEAP_INIT_UNIFORM, 0.25}, {NEAP_INIT_NORMAL, 2}};
    static float other[N];
    for (int i = 0; i < 2; i++) {
        draw(inits[i], 3, values);
        draw_as(VALUE_PARAMETER, "w", "ab", inits[i], 3, 3, other);
        assert_memory_equal(values, other, sizeof values);
        draw_as(VALUE_PARAMETER, "w", "ba", inits[i], 3, 1, other);
        assert_memory_equal(values, other, sizeof values);
        draw_as(VALUE_PARAMETER, "w", "AB16b16a", inits[i], 3, 3, other);
        assert_memory_equal(values, other, sizeof values);
    }
}

static int64_t count_equal(const float *a, const float *b) {
    int64_t n = 0;
    for (int i = 0; i < N; i++)
        n += a[i] == b[i];
    return n;
}

static void AnotherSeedOrNameGivesOtherNumbers(void **state) {
    (void)state;
    static float other[N];
    draw(uniform, 0, values);
    draw(uniform, 1, other);
    assert_true(count_equal(values, other) < N / 1000);
    draw_as(VALUE_PARAMETER, "v", "ab", uniform, 0, 1, other);
    assert_true(count_equal(values, other) < N / 1000);
    draw(uniform, (uint64_t)1 << 40, other);
    assert_true(count_equal(values, other) < N / 1000);
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov's distance to a distribution; by chance it exceeds 2 / √n once in 1500 times. */
static void assert_distributed(double (*cumulative)(double x)) {
    double most = 0;
    qsort(values, N, sizeof *values, by_value);
    for (int i = 0; i < N; i++) {
        double c = cumulative((double)values[i]);
        most = fmax(most, fmax(fabs(c - (double)i / N), fabs(c - (double)(i + 1) / N)));
    }
    assert_true(most < 2 / sqrt(N));
}

static double uniform_cumulative(double x) {
    return (x + 0.25) / 0.5;
}
static double normal_cumulative(double x) {
    return 0.5 * (1 + erf(x / 0.25 / sqrt(2)));
}

static void UniformNumbersFillTheirInterval(void **state) {
    (void)state;
    draw(uniform, 0, values);
    assert_distributed(uniform_cumulative);
    assert_true(values[0] >= -0.25f && values[0] < -0.2499f);
    assert_true(values[N - 1] < 0.25f && values[N - 1] > 0.2499f);
}

static void NormalNumbersHaveTheirDeviation(void **state) {
    (void)state;
    draw(normal, 0, values);
    assert_distributed(normal_cumulative);
    assert_true(values[0] < -0.9f && values[N - 1] > 0.9f); /* tails reach 3.6 deviations */
    assert_true(isfinite(values[0]) && isfinite(values[N - 1]));
}

static void NeighboursAreIndependent(void **state) {
    (void)state;
    static const struct neap_init inits[] = {{NEAP_INIT_UNIFORM, 1}, {NEAP_INIT_NORMAL, 1}};
    for (int i = 0; i < 2; i++) {
        double products = 0, squares = 0;
        draw(inits[i], 5, values);
        for (int k = 0; k + 1 < N; k++) {
            products += (double)values[k] * (double)values[k + 1];
            squares += (double)values[k] * (double)values[k];
        }
        assert_true(fabs(products / squares) < 4 / sqrt(N));
    }
}

static void ConstantsAreConstant(void **state) {
    (void)state;
    draw_as(VALUE_BUFFER, "w", "AB16b16a", constant, 9, 2, values);
    for (int i = 0; i < N; i++)
        assert_true(values[i] == 0.75f);
}

static void OptimizerStateStaysZero(void **state) {
    (void)state;
    draw_as(VALUE_OPTIMIZER_STATE, "w", "ab", constant, 9, 1, values);
    for (int i = 0; i < N; i++)
        assert_true(values[i] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(LayoutAndThreadsDoNotMatter),
        cmocka_unit_test(AnotherSeedOrNameGivesOtherNumbers),
        cmocka_unit_test(UniformNumbersFillTheirInterval),
        cmocka_unit_test(NormalNumbersHaveTheirDeviation),
        cmocka_unit_test(NeighboursAreIndependent),
        cmocka_unit_test(ConstantsAreConstant),
        cmocka_unit_test(OptimizerStateStaysZero),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
