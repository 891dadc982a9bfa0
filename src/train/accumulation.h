/* Accumulation: how many batches make an update, the same throughout or by a schedule; and what
 * that makes of a run: windows, updates an epoch, updates in all. Everything else that changes over
 * a run is keyed to these updates. */
#ifndef NEAP_TRAIN_ACCUMULATION_H
#define NEAP_TRAIN_ACCUMULATION_H

#include "base/memory.h"
#include "base/status.h"

enum { ACCUMULATION_ENTRIES = 64 };

struct accumulation {
    struct {
        int64_t from, steps; /* from that epoch or update on */
    } entries[ACCUMULATION_ENTRIES];
    int n;
    bool by_update;     /* else by epoch */
    int64_t most_steps; /* of all entries */
};

/* "4", "0:8,4:4" (by epoch) or "s0:8,s500:4" (by update). NEAP_ERROR_USAGE. */
MUST_USE neap_error *accumulation_parse(const char *text, struct accumulation *out);
/* Batches of the window that ends with this update (both counted from 0). */
int64_t accumulation_steps(const struct accumulation *accumulation, int64_t epoch, int64_t update);

/* A run's windows: none crosses the end of an epoch, the last of an epoch may be short. */
struct calendar {
    const struct accumulation *accumulation;
    int64_t samples, batch, epochs;
};
/* Samples of the window that begins at this sample of the epoch. */
int64_t calendar_window(const struct calendar *calendar, int64_t epoch, int64_t update,
                        int64_t first_sample);
/* Updates of an epoch that begins after `update` of them. */
int64_t calendar_updates(const struct calendar *calendar, int64_t epoch, int64_t update);
/* Updates before so many epochs have passed; a part of an epoch counts in whole updates. */
int64_t calendar_updates_before(const struct calendar *calendar, double epochs);
/* Refuses entries that the run never comes to. */
MUST_USE neap_error *calendar_check(const struct calendar *calendar);
/* The schedule resolved, a line an entry; *out NULL where all windows are alike. free() it. */
MUST_USE neap_error *calendar_table(const struct calendar *calendar, char **out);

#endif
