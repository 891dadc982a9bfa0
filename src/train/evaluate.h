/* Evaluation: loss and accuracy of the weights as they are, forward alone. */
#ifndef NEAP_TRAIN_EVALUATE_H
#define NEAP_TRAIN_EVALUATE_H

#include "data/loader.h"
#include "train/engine.h"

/* One pass over the loader's source; fills the loss, accuracies, images and seconds. */
MUST_USE neap_error *evaluate_source(struct engine *engine, struct loader *loader,
                                     struct neap_eval_report *report);

#endif
