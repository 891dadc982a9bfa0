/* The loader: batches of a source, read ahead by threads, in an order that only the seed decides.
 *
 * The sequence of samples is a function of (seed, epoch) and the position in it, whatever the
 * number of threads, so training can be stopped and taken up at any sample. All memory is allocated
 * and touched by loader_create. One thread calls the functions below. */
#ifndef NEAP_DATA_LOADER_H
#define NEAP_DATA_LOADER_H

#include "data/source.h"

struct loader_options {
    const struct source *source; /* outlives the loader */
    int64_t batch;
    uint64_t seed;
    bool shuffle;
    bool drop_last; /* leaves out the last batch where it is not whole */
    int n_threads;  /* 0: batches are read when they are asked for */
    int depth;      /* batches in memory, the one being used included; 0: 2 (without threads: 1) */
};

struct loader_batch {
    const float *images;   /* (count,C,H,W) */
    const int32_t *labels; /* (count) */
    int64_t count;         /* less than a batch at the epoch's end; 0 once it is over */
    int64_t first_index;   /* position of its first sample in the epoch's sequence */
};

struct loader;

/* Bytes of host memory that a loader with these options takes, with what libraries take in its
 * threads. LOADER_MOST_BYTES stands for that and all above: sums of a few do not overflow. */
#define LOADER_MOST_BYTES (INT64_C(1) << 59)
int64_t loader_options_bytes(const struct loader_options *options);

MUST_USE neap_error *loader_create(const struct loader_options *options, struct loader **out);
void loader_free(struct loader *loader); /* at any time; NULL is fine */
int64_t loader_bytes(const struct loader *loader);

/* Starts an epoch at its first sample, or at any other; also while one is under way. Until then
 * there is nothing to load. */
MUST_USE neap_error *loader_start_epoch(struct loader *loader, int64_t epoch);
MUST_USE neap_error *loader_seek(struct loader *loader, int64_t epoch, int64_t first_sample);

/* The next batch, valid until the next call. A batch that cannot be read is an error in its place
 * in the sequence; the call after goes on behind it. */
MUST_USE neap_error *loader_next(struct loader *loader, struct loader_batch *out);

/* Seconds that loader_next has taken since this was last asked: how long training waited for data.
 */
double loader_take_seconds(struct loader *loader);

#endif
