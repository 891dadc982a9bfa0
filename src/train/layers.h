/* The layer table of a plan. */
#ifndef NEAP_TRAIN_LAYERS_H
#define NEAP_TRAIN_LAYERS_H

#include "train/session.h"

/* Fills session->layers; the names are the graph's. */
MUST_USE neap_error *layers_list(struct neap_plan *session);

/* The plan's first step that belongs to backward; the number of steps where none does. */
uint32_t layers_border_step(const struct neap_plan *session);

#endif
