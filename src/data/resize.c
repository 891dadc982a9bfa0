/* PIL's bilinear resize: see resize.h, and Pillow's src/libImaging/Resample.c for the definition.
 *
 * Weights are not negative and add up to 1 within a few units of the last of their 22 digits, so a
 * sum never leaves the range of a byte. The pass across makes only the rows that the pass down
 * reads. About 5 operations on 4 lanes per weight across, a third of that down. */
#include "data/resize.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"

enum { WEIGHT_BITS = 22 };

typedef int32_t lanes __attribute__((vector_size(16)));
typedef uint8_t pixel __attribute__((vector_size(4)));

/* How the outputs of one dimension come from its inputs: output o is the sum over t < count of
 * weights[t] × input[first + t]. */
struct tap_run {
    int64_t first, count;
    const int32_t *weights;
};

/* ---- weights -------------------------------------------------------------------------------- */

static double triangle(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double support_of(int64_t in, int64_t out) {
    const double scale = (double)in / (double)out;
    return scale < 1 ? 1 : scale;
}

/* More than any output has. */
static int64_t most_taps(int64_t in, int64_t out) {
    return (int64_t)ceil(support_of(in, out)) * 2 + 1;
}

/* Of output o; returns where the next weights go. */
static int32_t *set_taps(int64_t in, int64_t out, int64_t o, struct tap_run *run,
                         int32_t *weights) {
    const double scale = (double)in / (double)out, support = support_of(in, out);
    const double centre = ((double)o + 0.5) * scale, narrower = 1 / support;
    const double low = centre - support + 0.5, high = centre + support + 0.5;
    const int64_t first = low < 0 ? 0 : (int64_t)low;
    const int64_t end = (int64_t)high > in ? in : (int64_t)high;
    double sum = 0;
    for (int64_t i = first; i < end; i++)
        sum += triangle(((double)i - centre + 0.5) * narrower);
    for (int64_t i = first; i < end; i++) {
        double weight = triangle(((double)i - centre + 0.5) * narrower);
        if (sum != 0)
            weight /= sum;
        weights[i - first] = (int32_t)(0.5 + weight * (1 << WEIGHT_BITS));
    }
    *run = (struct tap_run){first, end - first, weights};
    return weights + (end - first);
}

static void set_dimension(int64_t in, int64_t out, int64_t first, int64_t n, struct tap_run *runs,
                          int32_t *weights) {
    for (int64_t i = 0; i < n; i++)
        weights = set_taps(in, out, first + i, &runs[i], weights);
}

/* ---- scratch -------------------------------------------------------------------------------- */

struct layout {
    int64_t columns, rows;                 /* tap_run of the window's columns and rows */
    int64_t column_weights, row_weights;   /* int32_t */
    int64_t in_row, across, sums, n_bytes; /* bytes, pixels and int32_t */
};

static int64_t place(int64_t *end, int64_t bytes) {
    const int64_t at = *end;
    *end += round_up(bytes, 16);
    return at;
}

static struct layout layout_of(int64_t in_height, int64_t in_width, const struct resize *resize) {
    const struct box *window = &resize->window;
    const int64_t run_bytes = (int64_t)sizeof(struct tap_run), weight_bytes = sizeof(int32_t);
    const int64_t row_bytes = window->width * RESIZED_PIXEL_BYTES;
    struct layout l = {0};
    l.columns = place(&l.n_bytes, window->width * run_bytes);
    l.rows = place(&l.n_bytes, window->height * run_bytes);
    l.column_weights =
        place(&l.n_bytes, window->width * most_taps(in_width, resize->width) * weight_bytes);
    l.row_weights =
        place(&l.n_bytes, window->height * most_taps(in_height, resize->height) * weight_bytes);
    l.in_row = place(&l.n_bytes, in_width * RESIZED_PIXEL_BYTES);
    l.across = place(&l.n_bytes, in_height * row_bytes);
    l.sums = place(&l.n_bytes, row_bytes * (int64_t)sizeof(int32_t));
    return l;
}

int64_t resize_scratch_bytes(int64_t in_height, int64_t in_width, const struct resize *resize) {
    return layout_of(in_height, in_width, resize).n_bytes;
}

/* ---- across --------------------------------------------------------------------------------- */

SIMD static void row_across(const uint8_t *row, int64_t step, const struct tap_run *runs, int64_t n,
                            uint8_t *out) {
    const int32_t half = 1 << (WEIGHT_BITS - 1);
    for (int64_t o = 0; o < n; o++) {
        const uint8_t *from = row + runs[o].first * step;
        lanes sum = {half, half, half, half};
        for (int64_t t = 0; t < runs[o].count; t++) {
            pixel p;
            memcpy(&p, from + t * step, sizeof p);
            sum += __builtin_convertvector(p, lanes) * runs[o].weights[t];
        }
        const pixel result = __builtin_convertvector(sum >> WEIGHT_BITS, pixel);
        memcpy(out + o * RESIZED_PIXEL_BYTES, &result, sizeof result);
    }
}

/* A row as pixels of RESIZED_PIXEL_BYTES, from wherever its bytes lie. */
static void gather_row(const struct image *in, int64_t y, uint8_t *out) {
    const uint8_t *from = in->bytes + y * in->row_step;
    memset(out, 0, (size_t)(in->width * RESIZED_PIXEL_BYTES));
    for (int64_t x = 0; x < in->width; x++, from += in->column_step)
        for (int64_t c = 0; c < in->channels; c++)
            out[x * RESIZED_PIXEL_BYTES + c] = from[c * in->channel_step];
}

static void across(const struct image *in, const struct tap_run *runs, int64_t n_out,
                   int64_t first_row, int64_t end_row, uint8_t *in_row, uint8_t *out) {
    const bool packed = in->channels == 3 && in->channel_step == 1 && in->column_step == 3;
    for (int64_t y = first_row; y < end_row; y++) {
        if (!packed)
            gather_row(in, y, in_row);
        row_across(packed ? in->bytes + y * in->row_step : in_row, packed ? 3 : RESIZED_PIXEL_BYTES,
                   runs, n_out, out + (y - first_row) * n_out * RESIZED_PIXEL_BYTES);
    }
}

/* ---- down ----------------------------------------------------------------------------------- */

SIMD static void row_down(const uint8_t *rows, int64_t row_bytes, const struct tap_run *run,
                          int32_t *restrict sums, uint8_t *restrict out) {
    for (int64_t i = 0; i < row_bytes; i++)
        sums[i] = 1 << (WEIGHT_BITS - 1);
    for (int64_t t = 0; t < run->count; t++) {
        const uint8_t *row = rows + t * row_bytes;
        const int32_t weight = run->weights[t];
        for (int64_t i = 0; i < row_bytes; i++)
            sums[i] += row[i] * weight;
    }
    for (int64_t i = 0; i < row_bytes; i++)
        out[i] = (uint8_t)(sums[i] >> WEIGHT_BITS);
}

/* ---- together ------------------------------------------------------------------------------- */

struct image resize_bilinear(const struct image *in, const struct resize *resize, void *scratch,
                             uint8_t *out) {
    const struct box *window = &resize->window;
    const struct layout l = layout_of(in->height, in->width, resize);
    uint8_t *base = scratch;
    struct tap_run *columns = (struct tap_run *)(base + l.columns);
    struct tap_run *rows = (struct tap_run *)(base + l.rows);
    set_dimension(in->width, resize->width, window->left, window->width, columns,
                  (int32_t *)(base + l.column_weights));
    set_dimension(in->height, resize->height, window->top, window->height, rows,
                  (int32_t *)(base + l.row_weights));
    const struct tap_run *last = &rows[window->height - 1];
    const int64_t first_row = rows[0].first, end_row = last->first + last->count;
    const int64_t row_bytes = window->width * RESIZED_PIXEL_BYTES;
    across(in, columns, window->width, first_row, end_row, base + l.in_row, base + l.across);
    for (int64_t y = 0; y < window->height; y++)
        row_down(base + l.across + (rows[y].first - first_row) * row_bytes, row_bytes, &rows[y],
                 (int32_t *)(base + l.sums), out + y * row_bytes);
    return (struct image){out, in->channels, window->height,     window->width,
                          1,   row_bytes,    RESIZED_PIXEL_BYTES};
}
