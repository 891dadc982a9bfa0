/* What a run leaves in its folder: plan.json, metrics.csv, log.txt, best.safetensors, checkpoints.
 * Without a folder every call does nothing. */
#ifndef NEAP_TRAIN_SAVER_H
#define NEAP_TRAIN_SAVER_H

#include "report/log.h"
#include "report/metrics.h"
#include "report/tfevents.h"
#include "train/resume.h"
#include "train/run_folder.h"
#include "train/session.h"

struct saver {
    struct run_folder folder; /* its path NULL: none */
    struct metrics *metrics;
    struct log *log;
    struct tfevents *events; /* NULL: not asked for */
    int64_t interval, keep;
    int64_t saved_update; /* of the newest checkpoint; -1: none */
    char *saved;          /* its path */
    char *note;           /* of an earlier run that was put aside; NULL: there was none */
};

/* Opens the folder: for a run that goes on as its checkpoint left it, for another anew, with what
 * lay there put aside. The options are the session's. */
MUST_USE neap_error *saver_open(const struct neap_plan *session, const struct resume *resume,
                                struct saver *out);
void saver_close(struct saver *saver);

/* Into log.txt and the event file; a write that fails is told by saver_check and saver_save. */
void saver_log(struct saver *saver, const struct neap_event *event);
MUST_USE neap_error *saver_check(const struct saver *saver);
/* An epoch's row; the bytes of all rows go to the position once the epoch is whole. */
MUST_USE neap_error *saver_row(struct saver *saver, const struct neap_event *event, bool whole,
                               struct training_position *position);
/* Keeps the weights if the evaluation is the best so far: by top-1, then by loss. */
MUST_USE neap_error *saver_best(struct saver *saver, const struct neap_event *eval,
                                const struct store *store, struct training_best *best);

/* Whether a checkpoint is due after an update, or after the end of an epoch. */
bool saver_due(const struct saver *saver, int64_t update, bool epoch_ended);
/* A checkpoint, unless there is one of this update; *path is its folder, NULL where none was
 * written. */
MUST_USE neap_error *saver_save(struct saver *saver, const struct store *store,
                                struct training_state *state, const char **path);

#endif
