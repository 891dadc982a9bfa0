/* Checkpoints: everything that a run's future depends on, at the boundary between two updates.
 *
 *   checkpoint-<update>/model.safetensors      parameters and buffers
 *                       optimizer.safetensors  moments
 *                       state.json             the rest, with sizes and CRC-32C of the other two
 *
 * Random numbers have no state of their own: they are named by seed, update and position. */
#ifndef NEAP_TRAIN_CHECKPOINT_H
#define NEAP_TRAIN_CHECKPOINT_H

#include "base/memory.h"
#include "exec/store.h"
#include "train/scaler.h"

/* How far a run is. */
struct training_position {
    int64_t update;          /* updates done */
    int64_t epoch;           /* the one under way, from 0 */
    int64_t samples;         /* of it that have been trained on */
    int64_t update_in_epoch; /* updates of it that are done */
    int64_t counted;         /* of those, in windows that were not skipped */
    double loss, top1;       /* sums over what counts */
    int64_t skipped;         /* windows so far whose update was left out, as not finite */
    int64_t skipped_in_a_row;
    double lr; /* of the last update */
    double epoch_seconds, seconds;
    int64_t metrics_bytes; /* of metrics.csv: rows of epochs before this one */
};

/* The best evaluation so far; update 0: none. */
struct training_best {
    int64_t update;
    double loss, top1;
};

struct training_state {
    struct loss_scaler scaler;
    struct neap_options options; /* those of recorded.h */
    struct training_position position;
    struct training_best best;
    struct {
        const char *neap; /* the version */
        int threads;      /* with another number sums may be rounded otherwise */
        int64_t samples;  /* of the training data */
        int64_t updates;  /* that the run was to have */
    } made;
    struct checkpoint_file {
        int64_t size_bytes;
        uint32_t crc32c;
    } model, optimizer; /* filled by checkpoint_write */
};

/* Into a folder that is there, all of it on disk when the call returns. */
MUST_USE neap_error *checkpoint_write(const char *folder, const struct store *store,
                                      struct training_state *state);
/* The state of a checkpoint that is whole; NEAP_ERROR_DATA says what is wrong with another. Texts
 * are put in the pool. */
MUST_USE neap_error *checkpoint_read(const char *folder, struct pool *pool,
                                     struct training_state *state);
MUST_USE neap_error *checkpoint_load(const char *folder, struct store *store);

#endif
