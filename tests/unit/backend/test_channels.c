/* channels: units cover an activation once, columns know their channels, sums are the same bits at
 * any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/channels.h"
#include "base/philox.h"

static const int64_t shapes[][4] = {{2, 3, 4, 5},   {3, 20, 7, 7},  {1, 5, 1, 1},
                                    {2, 300, 3, 3}, {1, 8, 90, 91}, {2, 515, 17, 9}};
static const char *const layouts[] = {"abcd", "acdb", "aBcd8b", "aBcd16b"};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, N_LAYOUTS = 4 };

static struct value activation(int s, int l) {
    struct value value = {.dtype = DTYPE_F32, .shape = shape_of(4, shapes[s])};
    assert_null(layout_of_text(layouts[l], 4, &value.layout));
    return value;
}

static void *room(int64_t n, size_t bytes) {
    void *memory = calloc((size_t)n, bytes);
    assert_non_null(memory);
    return memory;
}

/* Adds 1 to each element, and its channel's number to the element's. */
static void visit(const struct channel_job *job, const struct channel_unit *unit,
                  float (*restrict pattern)[MAX_WIDTH], float (*restrict sum)[MAX_WIDTH]) {
    (void)sum;
    for (int64_t row = 0; row <= unit->rows; row++)
        for (int64_t k = 0; k < (row < unit->rows ? unit->width : unit->tail); k++)
            ((float *)job->out)[unit->offset + row * unit->stride + k] += 1 + pattern[0][k];
}

static void every_element_is_visited_once_with_its_channel(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int l = 0; l < N_LAYOUTS; l++) {
            struct value value = activation(s, l);
            struct channel_units units;
            assert_true(channel_units_of(&value, &units));
            float *table = room(units.padded_channels, sizeof *table);
            float *out = room(layout_elements(value.layout, value.shape), sizeof *out);
            for (int64_t c = 0; c < units.padded_channels; c++)
                table[c] = (float)c;
            struct channel_job job = {
                .leaf = visit, .dtype = DTYPE_F32, .table = {table}, .n_tables = 1, .out = out};
            channels_each(&units, &job);
            for (int64_t i = 0; i < shape_elements(value.shape); i++) {
                const int64_t *d = value.shape.dim;
                int64_t c = i / (d[2] * d[3]) % d[1];
                int64_t index[4] = {i / (d[1] * d[2] * d[3]), c, i / d[3] % d[2], i % d[3]};
                int64_t at = layout_offset(value.layout, value.shape, index);
                assert_true(out[at] == (float)(1 + c));
            }
            free(table);
            free(out);
        }
}

/* sum[0]: the elements, sum[1]: how many there are. */
static void add(const struct channel_job *job, const struct channel_unit *unit,
                float (*restrict pattern)[MAX_WIDTH], float (*restrict sum)[MAX_WIDTH]) {
    (void)pattern;
    for (int64_t row = 0; row <= unit->rows; row++)
        for (int64_t k = 0; k < (row < unit->rows ? unit->width : unit->tail); k++) {
            sum[0][k] += ((const float *)job->in[0])[unit->offset + row * unit->stride + k];
            sum[1][k] += 1;
        }
}

static void sums_count_each_channel_and_do_not_depend_on_threads(void **state) {
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int l = 0; l < N_LAYOUTS; l++) {
            struct value value = activation(s, l);
            struct channel_units units;
            assert_true(channel_units_of(&value, &units));
            int64_t n = layout_elements(value.layout, value.shape);
            float *x = room(n, sizeof *x);
            for (int64_t i = 0; i < n; i++)
                x[i] = philox_float(philox_at(5, 0, (uint64_t)i).word[0]);
            double *partials = room(channels_partials(&units), sizeof *partials);
            int64_t n_sums = N_SUMS * units.padded_channels;
            double *first = room(n_sums, sizeof *first), *sums = room(n_sums, sizeof *sums);
            struct channel_job job = {.leaf = add, .dtype = DTYPE_F32, .in = {x}};
            for (int threads = 1; threads <= 4; threads++) {
                omp_set_num_threads(threads);
                channels_sum(&units, &job, partials, threads == 1 ? first : sums);
                if (threads > 1)
                    assert_memory_equal(sums, first, (size_t)n_sums * sizeof *sums);
            }
            for (int64_t c = 0; c < units.channels; c++)
                assert_true(first[units.padded_channels + c] == (double)units.count);
            free(x);
            free(partials);
            free(first);
            free(sums);
        }
}

static void other_layouts_are_refused(void **state) {
    (void)state;
    struct value value = activation(0, 0);
    struct channel_units units;
    assert_null(layout_of_text("ABcd4b4a", 4, &value.layout));
    assert_false(channel_units_of(&value, &units));
    value.shape.rank = 3;
    value.layout = (struct layout){0};
    assert_false(channel_units_of(&value, &units));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_visited_once_with_its_channel),
        cmocka_unit_test(sums_count_each_channel_and_do_not_depend_on_threads),
        cmocka_unit_test(other_layouts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
