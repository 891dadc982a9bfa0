/* dropout's mask: a function of seed, update, sample, layer and element, and of nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/dropout.h"
#include "ops/ops.h"
#include "support/interpret.h"

enum { SAMPLES = 8, FEATURES = 1001, N = SAMPLES * FEATURES };

/* Ones through dropout, `n` samples of the window from `first` on. */
static void drop(struct dropout_attrs attrs, struct run_params params, int64_t n, double *out) {
    struct tensor x, y;
    assert_null(tensor_alloc(DTYPE_F64, shape_of(2, (int64_t[]){n, FEATURES}), &x));
    assert_null(tensor_alloc(DTYPE_F64, x.shape, &y));
    for (int64_t i = 0; i < n * FEATURES; i++)
        tensor_set(&x, i, 1);
    op_dropout.reference(&(struct op_call){
        .attrs = &attrs, .in = &x, .out = &y, .n_in = 1, .n_out = 1, .params = &params});
    memcpy(out, y.data, tensor_bytes(&y));
    free(x.data);
    free(y.data);
}

static double share_equal(const double *a, const double *b) {
    int equal = 0;
    for (int i = 0; i < N; i++)
        equal += a[i] == b[i];
    return equal / (double)N;
}

static double a[N], b[N];

static void a_share_of_p_is_dropped_and_the_mean_kept(void **state) {
    (void)state;
    const double shares[] = {0, 0.1, 0.5, 0.9, 1};
    for (int s = 0; s < 5; s++) {
        double p = shares[s], sum = 0;
        int kept = 0;
        drop((struct dropout_attrs){.p = p, .layer = 3}, (struct run_params){.seed = 1}, SAMPLES,
             a);
        for (int i = 0; i < N; i++) {
            kept += a[i] != 0;
            sum += a[i];
            assert_true(a[i] == 0 || fabs(a[i] - 1 / (1 - p)) < 1e-12);
        }
        double deviation = sqrt(p * (1 - p) / N); /* of the share kept */
        assert_true(fabs(kept / (double)N - (1 - p)) <= 4 * deviation);
        assert_true(p == 1 || fabs(sum / N - 1) <= 4 * deviation / (1 - p));
    }
}

static void the_mask_does_not_depend_on_how_the_batch_is_cut(void **state) {
    (void)state;
    const struct dropout_attrs attrs = {.p = 0.5, .layer = 3};
    drop(attrs, (struct run_params){.seed = 1, .update = 5}, SAMPLES, a);
    for (int first = 0; first < SAMPLES; first += 2)
        drop(attrs, (struct run_params){.seed = 1, .update = 5, .first_sample = (uint64_t)first}, 2,
             b + first * FEATURES);
    assert_memory_equal(a, b, sizeof a);
}

static void every_part_of_its_name_gives_another_mask(void **state) {
    (void)state;
    const struct run_params base = {.seed = 1, .update = 5, .first_sample = 2};
    struct run_params seed = base, update = base, sample = base;
    seed.seed = 2;
    update.update = 6;
    sample.first_sample = 2 + SAMPLES;
    const struct run_params others[] = {seed, update, sample, base};
    drop((struct dropout_attrs){.p = 0.5, .layer = 3}, base, SAMPLES, a);
    for (int i = 0; i < 4; i++) {
        drop((struct dropout_attrs){.p = 0.5, .layer = i == 3 ? 4 : 3}, others[i], SAMPLES, b);
        assert_true(fabs(share_equal(a, b) - 0.5) < 4 * 0.5 / sqrt(N));
    }
}

static void samples_have_masks_of_their_own(void **state) {
    (void)state;
    drop((struct dropout_attrs){.p = 0.5, .layer = 3}, (struct run_params){.seed = 1}, SAMPLES, a);
    int equal = 0;
    for (int i = 0; i < FEATURES; i++)
        equal += a[i] == a[FEATURES + i];
    assert_true(fabs(equal / (double)FEATURES - 0.5) < 4 * 0.5 / sqrt(FEATURES));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_p_is_dropped_and_the_mean_kept),
        cmocka_unit_test(the_mask_does_not_depend_on_how_the_batch_is_cut),
        cmocka_unit_test(every_part_of_its_name_gives_another_mask),
        cmocka_unit_test(samples_have_masks_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
