/* What a run goes on from: which checkpoint `--resume` names, and what it holds the run to. */
#ifndef NEAP_TRAIN_RESUME_H
#define NEAP_TRAIN_RESUME_H

#include "train/checkpoint.h"

struct resume {
    struct pool pool;             /* owns all below */
    const char *checkpoint, *run; /* folders; NULL: a run starts */
    struct training_state state;
    const char **notes; /* what the user should know, in order */
    size_t n_notes;
};

/* Looks for the checkpoint and puts into the options what they leave open: output, batch and
 * slices. An option that says otherwise than was recorded is NEAP_ERROR_USAGE; where the checkpoint
 * named is torn, or none is whole, NEAP_ERROR_DATA. `auto` passes over those that are torn, and
 * starts where there is none. */
MUST_USE neap_error *resume_open(struct neap_options *options, struct resume *out);
void resume_close(struct resume *resume);

/* The rest of what the run must share with its checkpoint, once that is known (`now` without its
 * position): other data, or a run that ends before the checkpoint, is an error; what may change a
 * bit becomes a note. */
MUST_USE neap_error *resume_check(struct resume *resume, const struct neap_options *options,
                                  const struct training_state *now);
/* Says of an error of the budget that batch and slices are the checkpoint's. */
neap_error *resume_explain(const struct resume *resume, neap_error *error);

#endif
