/* A run's folder: args.json plan.json log.txt metrics.csv, checkpoint-<update>/, `last` (a link to
 * the newest of them) and best.safetensors.
 *
 * A checkpoint gets its name once all of it is on disk, `last` is renamed over, and what is not
 * needed any more goes last: whenever the process ends, what the names lead to is whole. One
 * process at a time has the folder. */
#ifndef NEAP_TRAIN_RUN_FOLDER_H
#define NEAP_TRAIN_RUN_FOLDER_H

#include "train/checkpoint.h"

struct run_folder {
    const char *path; /* NULL: the run has none */
    int lock;         /* open while the run goes on; -1: no lock */
};

/* Makes the folder and takes away what a killed process left half done. `path` is borrowed. */
MUST_USE neap_error *run_folder_open(const char *path, struct run_folder *out);
void run_folder_close(struct run_folder *folder);

/* A run that is there already moves into a folder inside, "earlier-1" or the next number; its path
 * goes to *moved (free it), NULL where there are no checkpoints. */
MUST_USE neap_error *run_folder_put_aside(const struct run_folder *folder, char **moved);

/* Checkpoints by name, in the order of their updates. */
struct run_checkpoint {
    int64_t update;
    const char *path;
};
struct run_checkpoints {
    struct run_checkpoint *at;
    size_t n;
};
MUST_USE neap_error *run_folder_list(const char *path, struct pool *pool,
                                     struct run_checkpoints *out);

/* A checkpoint at the state's update, and `last` leading there; of those up to it the newest `keep`
 * stay. Its path goes to *path (free it). */
MUST_USE neap_error *run_folder_save(const struct run_folder *folder, const struct store *store,
                                     struct training_state *state, int64_t keep, char **path);

#endif
