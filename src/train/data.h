/* The data of a run: what to train on and what to evaluate on, with their loaders. */
#ifndef NEAP_TRAIN_DATA_H
#define NEAP_TRAIN_DATA_H

#include "data/loader.h"
#include "ir/graph.h"

struct run_data {
    struct source *train, *eval; /* NULL where there is none */
    struct loader *train_loader, *eval_loader;
};

/* Opens the sources that the options name, the one to train on augmented. */
MUST_USE neap_error *run_data_open(const struct neap_options *options, bool train, bool eval,
                                   struct run_data *out);
/* Refuses a model that does not fit the data. */
MUST_USE neap_error *run_data_check(const struct run_data *data, const neap_graph *model);
/* Host memory: the sources' and the loaders' queues. */
int64_t run_data_bytes(const struct run_data *data, const struct neap_options *options);
MUST_USE neap_error *run_data_start(struct run_data *data, const struct neap_options *options);
void run_data_close(struct run_data *data);

#endif
