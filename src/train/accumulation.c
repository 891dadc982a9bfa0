/* Accumulation schedules and the updates that they make: see accumulation.h. */
#include "train/accumulation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

static neap_error *refuse(const char *text, const char *why) {
    return error_make(NEAP_ERROR_USAGE,
                      "accumulation '%s': %s; there are N, by epoch 0:8,4:4 and by update "
                      "s0:8,s500:4",
                      text, why);
}

/* Digits at *at, which then stands behind them. */
static bool read_whole(const char **at, int64_t *out) {
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *out = strtoll(*at, &end, 10);
    *at = end;
    return !errno;
}

/* "FROM:STEPS" or "sFROM:STEPS" at *at. */
static neap_error *read_entry(const char *text, const char **at, struct accumulation *a) {
    int64_t from, steps;
    bool by_update = **at == 's';
    *at += by_update;
    if (!read_whole(at, &from) || **at != ':')
        return refuse(text, "an entry is FROM:STEPS, in whole numbers");
    ++*at;
    if (!read_whole(at, &steps) || steps < 1)
        return refuse(text, "steps are whole numbers of at least 1");
    if (a->n && by_update != a->by_update)
        return refuse(text, "it is by epoch or by update, not both");
    if (a->n ? from <= a->entries[a->n - 1].from : from != 0)
        return refuse(text, "entries start at 0 and rise");
    if (a->n == ACCUMULATION_ENTRIES)
        return refuse(text, "there are too many entries");
    a->by_update = by_update;
    a->entries[a->n].from = from;
    a->entries[a->n++].steps = steps;
    return NULL;
}

static neap_error *read_entries(const char *text, struct accumulation *a) {
    const char *at = text;
    for (;;) {
        TRY(read_entry(text, &at, a));
        if (!*at)
            return NULL;
        if (*at++ != ',')
            return refuse(text, "entries are separated by commas");
    }
}

neap_error *accumulation_parse(const char *text, struct accumulation *out) {
    const char *at = text;
    *out = (struct accumulation){0};
    if (read_whole(&at, &out->entries[0].steps) && !*at) {
        out->n = 1;
        if (out->entries[0].steps < 1)
            return refuse(text, "steps are whole numbers of at least 1");
    } else {
        TRY(read_entries(text, out));
    }
    for (int i = 0; i < out->n; i++)
        if (out->entries[i].steps > out->most_steps)
            out->most_steps = out->entries[i].steps;
    if (out->most_steps > 1000000000)
        return refuse(text, "a billion steps are the most");
    return NULL;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int entry_at(const struct accumulation *a, int64_t epoch, int64_t update) {
    int64_t now = a->by_update ? update : epoch;
    int i = 0;
    while (i + 1 < a->n && a->entries[i + 1].from <= now)
        i++;
    return i;
}

int64_t accumulation_steps(const struct accumulation *a, int64_t epoch, int64_t update) {
    return a->entries[entry_at(a, epoch, update)].steps;
}

int64_t calendar_window(const struct calendar *c, int64_t epoch, int64_t update,
                        int64_t first_sample) {
    int64_t left = c->samples - first_sample;
    int64_t window = c->batch * accumulation_steps(c->accumulation, epoch, update);
    return left < window ? left : window;
}

/* Entry by entry: within one all windows are alike. */
int64_t calendar_updates(const struct calendar *c, int64_t epoch, int64_t update) {
    const struct accumulation *a = c->accumulation;
    int64_t left = c->samples, updates = 0;
    for (int i = entry_at(a, epoch, update); left > 0; i++) {
        int64_t window = c->batch * a->entries[i].steps, n = (left + window - 1) / window;
        bool ends = a->by_update && i + 1 < a->n;
        if (ends && a->entries[i + 1].from - (update + updates) < n)
            n = a->entries[i + 1].from - (update + updates);
        updates += n;
        left -= n * window;
    }
    return updates;
}

/* Once the last entry holds, all epochs are alike. */
int64_t calendar_updates_before(const struct calendar *c, double epochs) {
    int64_t whole = (int64_t)epochs, updates = 0, epoch = 0;
    while (epoch < whole && entry_at(c->accumulation, epoch, updates) + 1 < c->accumulation->n)
        updates += calendar_updates(c, epoch++, updates);
    updates += (whole - epoch) * calendar_updates(c, whole, updates);
    double part = epochs - (double)whole;
    return updates + (int64_t)(part * (double)calendar_updates(c, whole, updates));
}

neap_error *calendar_check(const struct calendar *c) {
    const struct accumulation *a = c->accumulation;
    const char *unit = a->by_update ? "update" : "epoch";
    int64_t end = a->by_update ? calendar_updates_before(c, (double)c->epochs) : c->epochs;
    for (int i = 1; i < a->n; i++)
        if (a->entries[i].from >= end)
            return error_make(NEAP_ERROR_USAGE,
                              "accumulation from %s %lld on: the run ends with %s %lld, both "
                              "counted from 0",
                              unit, (long long)a->entries[i].from, unit, (long long)end - 1);
    return NULL;
}

/* ---- in words ------------------------------------------------------------------------------- */

/* "0-3", "4" for one alone, "5-" for the last, which the run's end ends. */
static const char *range_text(const struct accumulation *a, int i, char text[48]) {
    long long first = a->entries[i].from, last = i + 1 < a->n ? a->entries[i + 1].from - 1 : -1;
    if (last < 0)
        snprintf(text, 48, "%lld-", first);
    else if (last == first)
        snprintf(text, 48, "%lld", first);
    else
        snprintf(text, 48, "%lld-%lld", first, last);
    return text;
}

neap_error *calendar_table(const struct calendar *c, char **out) {
    const struct accumulation *a = c->accumulation;
    size_t length = 0;
    char *text = NULL;
    *out = NULL;
    if (a->n == 1)
        return NULL;
    neap_error *error = NULL;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return error_memory(1);
    fprintf(file, "accumulation by %s, counted from 0, batch %lld\n",
            a->by_update ? "update" : "epoch", (long long)c->batch);
    fprintf(file, "  %-20s %10s %20s %18s", a->by_update ? "updates" : "epochs", "steps",
            "samples an update", "updates an epoch");
    for (int i = 0; i < a->n; i++) {
        char range[48];
        int64_t steps = a->entries[i].steps, window = c->batch * steps;
        fprintf(file, "\n  %-20s %10lld %20lld %18lld", range_text(a, i, range), (long long)steps,
                (long long)window, (long long)((c->samples + window - 1) / window));
    }
    if (fclose(file)) {
        error = error_memory(length);
        free(text);
    } else {
        *out = text;
    }
    return error;
}
