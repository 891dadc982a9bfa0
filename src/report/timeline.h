/* A plan's memory over its steps, as a figure and as numbers. */
#ifndef NEAP_REPORT_TIMELINE_H
#define NEAP_REPORT_TIMELINE_H

#include "base/status.h"

/* What bytes are for; the figure has a colour for each. */
enum timeline_kind {
    TIMELINE_INPUT,
    TIMELINE_KEPT,       /* made in forward, lives into backward */
    TIMELINE_PASSING,    /* made in forward, gone before backward */
    TIMELINE_RECOMPUTED, /* made again */
    TIMELINE_GRADIENT,
    TIMELINE_PARAMETER_GRADIENT,
    TIMELINE_WEIGHT_COPY,
    TIMELINE_SCRATCH,
    N_TIMELINE_KINDS
};

struct timeline_life {
    uint32_t first_step, last_step; /* inclusive */
    int64_t offset, bytes;
    enum timeline_kind kind;
    const char *name;
};

struct timeline_step {
    const char *op;
    bool recompute, update_part;
    double seconds;
    int64_t live_bytes;
};

struct timeline {
    const char *title;
    const struct timeline_life *lives;
    const struct timeline_step *steps;
    size_t n_lives, n_steps;
    uint32_t border_step; /* the first of backward; n_steps: there is none */
    uint32_t worst_step;
    int64_t arena_bytes, store_all_bytes;
};

MUST_USE neap_error *timeline_write_svg(const struct timeline *timeline, const char *path);
/* step,op,part,recompute,seconds,live_bytes */
MUST_USE neap_error *timeline_write_csv(const struct timeline *timeline, const char *path);

#endif
