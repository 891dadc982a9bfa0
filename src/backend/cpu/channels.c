/* Cutting activations into units and adding up per channel: see channels.h. */
#include "backend/cpu/channels.h"

#include <string.h>

#include "backend/cpu/parallel.h"
#include "backend/cpu/real.h"

enum {
    ROW = 64,             /* least width: four vectors of AVX-512 */
    UNIT = 16384,         /* elements: three activations' units fit the second cache */
    MAX_FLOAT_ROWS = 256, /* rows added up in float before they go to double */
    PIECES = 32,          /* of an activation in a sum: more threads than that stand idle */
    SAMPLES = 8,          /* values that an estimate looks at */
};

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* More channels than a row holds, in channels-last: a row is a part of a place. */
static void cut_places(const struct channel_view *view, struct channel_units *u) {
    int64_t rows = UNIT / MAX_WIDTH;
    u->lanes = u->width = MAX_WIDTH;
    u->stride = view->lanes;
    u->run = view->batch * view->space;
    u->batch = divide_up(u->run, rows);
    u->batch_stride = rows * u->stride;
    u->tiles = divide_up(view->lanes, MAX_WIDTH);
    u->tile_stride = MAX_WIDTH;
    u->parts = 1;
}

/* Runs of one block of channels; with a single block, samples follow each other in one run. */
static void cut_runs(const struct channel_view *view, struct channel_units *u) {
    u->lanes = view->lanes;
    u->width = u->stride = u->lanes * divide_up(ROW, u->lanes);
    u->batch = view->blocks == 1 ? 1 : view->batch;
    u->tiles = view->blocks;
    u->run = view->batch / u->batch * view->space * view->lanes;
    u->tile_stride = u->run;
    u->batch_stride = u->run * u->tiles;
    u->part_stride = UNIT / u->width * u->width;
    u->parts = divide_up(u->run, u->part_stride);
}

bool channel_units_of(const struct value *value, struct channel_units *out) {
    struct channel_view view;
    if (!channel_view_of(value, &view))
        return false;
    *out = (struct channel_units){.channels = view.channels,
                                  .padded_channels = view.blocks * view.lanes,
                                  .count = view.batch * view.space};
    if (view.lanes > MAX_WIDTH)
        cut_places(&view, out);
    else
        cut_runs(&view, out);
    out->pieces = least(divide_up(PIECES, out->tiles), out->batch * out->parts);
    return true;
}

static struct channel_unit unit_at(const struct channel_units *u, int64_t batch, int64_t tile,
                                   int64_t part) {
    struct channel_unit unit = {.offset = batch * u->batch_stride + tile * u->tile_stride +
                                          part * u->part_stride,
                                .width = u->width,
                                .stride = u->stride,
                                .channel = tile * u->lanes,
                                .lanes = u->lanes};
    if (u->stride > u->width) {
        int64_t rows = u->batch_stride / u->stride;
        unit.rows = least(rows, u->run - batch * rows);
        unit.width = unit.lanes = least(u->width, u->padded_channels - unit.channel);
    } else {
        int64_t elements = least(u->part_stride, u->run - part * u->part_stride);
        unit.rows = elements / u->width;
        unit.tail = elements % u->width;
    }
    return unit;
}

/* The tables' numbers for each column. */
static void fill_patterns(const struct channel_job *job, const struct channel_unit *unit,
                          float (*pattern)[MAX_WIDTH]) {
    for (int t = 0; t < job->n_tables; t++) {
        const float *from = job->table[t] + unit->channel;
        if (unit->lanes == 1)
            for (int64_t k = 0; k < unit->width; k++)
                pattern[t][k] = *from;
        else
            for (int64_t k = 0; k < unit->width; k += unit->lanes)
                memcpy(&pattern[t][k], from, (size_t)unit->lanes * sizeof *from);
    }
}

/* ---- every unit ----------------------------------------------------------------------------- */

struct pass {
    const struct channel_units *units;
    const struct channel_job *job;
    double *partials;
};

static void each_range(const void *context, int64_t begin, int64_t end) {
    const struct pass *pass = context;
    const struct channel_units *u = pass->units;
    float pattern[MAX_PATTERNS][MAX_WIDTH];
    for (int64_t i = begin; i < end; i++) {
        struct channel_unit unit =
            unit_at(u, i / u->parts / u->tiles, i / u->parts % u->tiles, i % u->parts);
        fill_patterns(pass->job, &unit, pattern);
        pass->job->leaf(pass->job, &unit, pattern, NULL);
    }
}

void channels_each(const struct channel_units *units, const struct channel_job *job) {
    int64_t elements = units->parts > 1               ? units->part_stride
                       : units->stride > units->width ? UNIT
                                                      : units->run;
    parallel_for(units->batch * units->tiles * units->parts, divide_up(UNIT, elements), each_range,
                 &(struct pass){units, job, NULL});
}

/* ---- sums ----------------------------------------------------------------------------------- */

struct sums {
    float fast[N_SUMS][MAX_WIDTH];
    double whole[N_SUMS][MAX_WIDTH];
    int64_t rows; /* added to `fast` since it was last emptied */
};

/* From float to double, columns to lanes. */
static void empty_fast(struct sums *sums, int64_t width, int64_t lanes) {
    for (int s = 0; s < N_SUMS; s++)
        for (int64_t first = 0; first < width; first += lanes)
            for (int64_t lane = 0; lane < lanes; lane++)
                sums->whole[s][lane] += (double)sums->fast[s][first + lane];
    memset(sums->fast, 0, sizeof sums->fast);
    sums->rows = 0;
}

/* One piece of one tile. */
static void sum_piece(const struct pass *pass, int64_t tile, int64_t piece) {
    const struct channel_units *u = pass->units;
    int64_t n = u->batch * u->parts, end = n * (piece + 1) / u->pieces;
    struct channel_unit unit = unit_at(u, 0, tile, 0);
    float pattern[MAX_PATTERNS][MAX_WIDTH];
    struct sums sums = {.rows = 0};
    fill_patterns(pass->job, &unit, pattern);
    for (int64_t i = n * piece / u->pieces; i < end; i++) {
        unit = unit_at(u, i / u->parts, tile, i % u->parts);
        pass->job->leaf(pass->job, &unit, pattern, sums.fast);
        sums.rows += unit.rows + 1;
        if (sums.rows >= MAX_FLOAT_ROWS || i + 1 == end)
            empty_fast(&sums, unit.width, unit.lanes);
    }
    for (int s = 0; s < N_SUMS; s++)
        memcpy(pass->partials + (piece * N_SUMS + s) * u->padded_channels + unit.channel,
               sums.whole[s], (size_t)unit.lanes * sizeof(double));
}

static void sum_range(const void *context, int64_t begin, int64_t end) {
    const struct pass *pass = context;
    for (int64_t i = begin; i < end; i++)
        sum_piece(pass, i / pass->units->pieces, i % pass->units->pieces);
}

int64_t channels_partials(const struct channel_units *units) {
    return units->pieces * N_SUMS * units->padded_channels;
}

void channels_sum(const struct channel_units *units, const struct channel_job *job,
                  double *partials, double *sums) {
    int64_t n = N_SUMS * units->padded_channels, tasks = units->tiles * units->pieces;
    int64_t elements = units->count * units->padded_channels;
    parallel_for(tasks, divide_up(tasks * UNIT, elements), sum_range,
                 &(struct pass){units, job, partials});
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t piece = 0; piece < units->pieces; piece++)
        for (int64_t i = 0; i < n; i++)
            sums[i] += partials[piece * n + i];
}

/* ---- estimates ------------------------------------------------------------------------------ */

struct estimate {
    const struct channel_units *units;
    enum dtype dtype;
    const void *x;
    float *means;
};

/* The value in the middle of each of a few units. */
static void estimate_range(const void *context, int64_t begin, int64_t end) {
    const struct estimate *e = context;
    const struct channel_units *u = e->units;
    int64_t n = u->batch * u->parts, samples = least(n, SAMPLES);
    for (int64_t tile = begin; tile < end; tile++) {
        float sum[MAX_WIDTH] = {0};
        struct channel_unit unit = unit_at(u, 0, tile, 0);
        for (int64_t i = 0; i < samples; i++) {
            int64_t at = n * i / samples;
            unit = unit_at(u, at / u->parts, tile, at % u->parts);
            int64_t middle = unit.offset + unit.rows / 2 * unit.stride;
            for (int64_t lane = 0; lane < unit.lanes; lane++)
                sum[lane] += real_load(e->dtype, e->x, middle + lane) / (float)samples;
        }
        memcpy(e->means + unit.channel, sum, (size_t)unit.lanes * sizeof *sum);
    }
}

void channels_estimate(const struct channel_units *units, enum dtype dtype, const void *x,
                       float *means) {
    parallel_for(units->tiles, divide_up(1024, units->lanes), estimate_range,
                 &(struct estimate){units, dtype, x, means});
}
