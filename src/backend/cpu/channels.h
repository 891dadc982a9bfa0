/* Passes over an activation that need numbers per channel, in plain, channels-last and blocked
 * layouts alike.
 *
 * The activation is cut into units of some 16,384 elements. A unit is rows of `width` elements;
 * column k belongs to channel `channel` + k % `lanes`, the same in every row. So a leaf computes
 * row after row with a pattern of `width` numbers, 64 at least, and its inner loop is long enough
 * for any vector unit in any layout:
 *
 *   plain          a row is 64 neighbours of one channel                 lanes 1
 *   nChw16c        a row is 4 places of a block of channels              lanes 16
 *   channels-last  a row is a place, or a few, or 256 channels of one    lanes ≤ 256
 *
 * Units depend on shapes alone: sums are the same on any number of threads. */
#ifndef NEAP_BACKEND_CPU_CHANNELS_H
#define NEAP_BACKEND_CPU_CHANNELS_H

#include "backend/cpu/view.h"
#include "base/status.h"

enum { MAX_WIDTH = 256, MAX_PATTERNS = 5, N_SUMS = 2 };

struct channel_units {
    int64_t batch, tiles, parts; /* units in the order of memory: (batch × tiles + tile) × parts */
    int64_t batch_stride, tile_stride, part_stride;
    int64_t run;             /* elements of all parts (places, where rows are parts of them) */
    int64_t channels;        /* true ones */
    int64_t padded_channels; /* with the padding of the last block: the length of tables */
    int64_t lanes;           /* of a tile; in channels-last the last tile's may be fewer */
    int64_t width, stride;   /* of rows; the stride is larger where a row is a part of a place */
    int64_t count;           /* elements of each channel */
    int64_t pieces;          /* of a tile in a sum */
};

struct channel_unit {
    int64_t offset, rows, tail; /* first element; rows in full and elements of one more */
    int64_t width, stride;
    int64_t channel, lanes;
};

struct channel_job {
    /* One unit: pattern[t][k] is table t's number for column k. Sums, where there are any, are
     * added to sum[s][k]. */
    void (*leaf)(const struct channel_job *job, const struct channel_unit *unit,
                 float (*restrict pattern)[MAX_WIDTH], float (*restrict sum)[MAX_WIDTH]);
    const float *table[MAX_PATTERNS]; /* padded_channels numbers each */
    int n_tables;
    enum dtype dtype; /* of the activations: fp32, bf16 or fp16 */
    const void *in[3];
    void *out;
    bool relu;
};

/* False where the layout is none of the three. */
bool channel_units_of(const struct value *value, struct channel_units *out);

/* Calls the leaf for every unit, once each. */
void channels_each(const struct channel_units *units, const struct channel_job *job);

/* Adds up sum[s] of all units per channel into sums[s × padded_channels + channel], in double, in
 * an order of its own; `partials` is room for channels_partials() doubles. */
void channels_sum(const struct channel_units *units, const struct channel_job *job,
                  double *partials, double *sums);
int64_t channels_partials(const struct channel_units *units);

/* The mean of a few values of each channel: near enough to shift data by. */
void channels_estimate(const struct channel_units *units, enum dtype dtype, const void *x,
                       float *means);

#endif
