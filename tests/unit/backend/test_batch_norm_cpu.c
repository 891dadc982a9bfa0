/* batch_norm's kernels where floats are at their worst: statistics of data far from zero, and the
 * sign that backward recomputes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "backend/kernel.h"
#include "base/philox.h"
#include "ops/batch_norm.h"

extern const struct kernel kernel_batch_norm_stats_cpu, kernel_batch_norm_apply_cpu,
    kernel_batch_norm_backward_reduce_cpu;

enum { BATCH = 4, CHANNELS = 3, SIDE = 40, AREA = SIDE * SIDE, ELEMENTS = BATCH * CHANNELS * AREA };
enum { MOST_INPUTS = 6, MOST_OUTPUTS = 2 };

/* Runs a node on plain tensors: input 0 and, where `n_images` is 2, input 1 have (N,C,H,W), all
 * others (C). */
static void run(const struct kernel *kernel, const struct batch_norm_attrs *attrs, uint32_t n_in,
                uint32_t n_images, uint32_t n_out, void *const *in, void *const *out) {
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5"};
    struct shape image = shape_of(4, (int64_t[]){BATCH, CHANNELS, SIDE, SIDE});
    struct layout in_layouts[MOST_INPUTS] = {{0}}, out_layouts[MOST_OUTPUTS] = {{0}};
    value_id inputs[MOST_INPUTS];
    neap_graph *g;
    node_id node;
    assert_null(graph_create("test", &g));
    for (uint32_t i = 0; i < n_in; i++)
        assert_null(graph_add_value(
            g,
            &(struct value_spec){.name = names[i],
                                 .kind = VALUE_INPUT,
                                 .dtype = DTYPE_F32,
                                 .shape = i < n_images ? image : shape_of(1, &image.dim[1])},
            &inputs[i]));
    assert_null(graph_add_node(g,
                               &(struct node_spec){.op = kernel->op,
                                                   .name = "node",
                                                   .attrs = kernel->op->attrs ? attrs : NULL,
                                                   .inputs = inputs,
                                                   .n_inputs = n_in,
                                                   .n_outputs = n_out,
                                                   .output_kind = VALUE_ACTIVATION},
                               &node));
    struct kernel_site site = {.g = g, .node = graph_node(g, node)};
    size_t scratch_bytes = 0;
    void *kernel_state;
    assert_null(kernel->negotiate(&site, &(struct kernel_layouts){in_layouts, out_layouts}));
    assert_null(kernel->create(&site, &kernel_state, &scratch_bytes));
    void *scratch = malloc(scratch_bytes + 1);
    assert_non_null(scratch);
    assert_null(
        kernel->run(kernel_state, &(struct launch){.in = in, .out = out, .scratch = scratch}));
    free(scratch);
    free(kernel_state);
    graph_free(g);
}

static double uniform(int64_t i) {
    struct philox_block words = philox_at(11, 0, (uint64_t)i);
    return philox_double(words.word[0], words.word[1]) * 2 - 1;
}

/* Spread 0.01 around 1000: in float, x² has no digit left for the variance. */
static void statistics_keep_a_variance_that_squares_would_lose(void **state) {
    (void)state;
    static float x[ELEMENTS];
    float mean[CHANNELS], var[CHANNELS];
    for (int64_t i = 0; i < ELEMENTS; i++)
        x[i] = (float)(1000 + 0.01 * uniform(i));
    run(&kernel_batch_norm_stats_cpu, NULL, 1, 1, 2, (void *[]){x}, (void *[]){mean, var});
    for (int64_t c = 0; c < CHANNELS; c++) {
        double sum = 0, squares = 0;
        for (int64_t e = 0; e < BATCH * AREA; e++)
            sum += (double)x[(e / AREA * CHANNELS + c) * AREA + e % AREA];
        double exact = sum / (BATCH * AREA);
        for (int64_t e = 0; e < BATCH * AREA; e++) {
            double d = (double)x[(e / AREA * CHANNELS + c) * AREA + e % AREA] - exact;
            squares += d * d;
        }
        double variance = squares / (BATCH * AREA);
        assert_true(fabs((double)mean[c] - exact) <= 1000 * 0x1p-23);
        assert_true(fabs((double)var[c] - variance) <= 1e-5 * variance);
    }
}

/* Many values lie within rounding of 0. With dy = 1, dβ counts the elements that backward lets
 * through: as many as forward let through. */
static void backward_lets_through_what_forward_let_through(void **state) {
    (void)state;
    static float x[ELEMENTS], y[ELEMENTS], dy[ELEMENTS];
    float mean[CHANNELS] = {0.1f, -3, 7}, var[CHANNELS] = {1, 2, 3};
    float gamma[CHANNELS] = {1, 0.3f, -2}, beta[CHANNELS] = {0.05f, 0, 1};
    float dgamma[CHANNELS], dbeta[CHANNELS];
    const struct batch_norm_attrs attrs = {.eps = 1e-5, .relu = true};
    for (int64_t i = 0; i < ELEMENTS; i++) {
        int64_t c = i / AREA % CHANNELS;
        double zero =
            (double)mean[c] - (double)beta[c] * sqrt((double)var[c] + attrs.eps) / (double)gamma[c];
        x[i] = (float)(zero * (1 + 0x1p-22 * uniform(i)));
        dy[i] = 1;
    }
    run(&kernel_batch_norm_apply_cpu, &attrs, 5, 1, 1, (void *[]){x, mean, var, gamma, beta},
        (void *[]){y});
    run(&kernel_batch_norm_backward_reduce_cpu, &attrs, 6, 2, 2,
        (void *[]){x, dy, mean, var, gamma, beta}, (void *[]){dgamma, dbeta});
    for (int64_t c = 0; c < CHANNELS; c++) {
        int64_t open = 0;
        for (int64_t e = 0; e < BATCH * AREA; e++)
            open += y[(e / AREA * CHANNELS + c) * AREA + e % AREA] > 0;
        assert_true(open > 0 && open < BATCH * AREA);
        assert_true(dbeta[c] == (float)open);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_keep_a_variance_that_squares_would_lose),
        cmocka_unit_test(backward_lets_through_what_forward_let_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
