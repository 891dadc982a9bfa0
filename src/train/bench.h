/* What the bench's files share: what is to be measured, in groups whose rows take turns. */
#ifndef NEAP_TRAIN_BENCH_H
#define NEAP_TRAIN_BENCH_H

#include "train/session.h"

/* A row, and the options of a session that it is measured with. */
struct bench_job {
    struct neap_options options;
    struct neap_bench_row row;
};

/* Rows of one network at one precision, the first of them store-all. */
struct bench_group {
    struct bench_job *jobs;
    size_t n, capacity;
};

struct bench_list {
    struct pool pool; /* strings of options and rows */
    struct bench_group *groups;
    size_t n, capacity;
};

/* bench_jobs.c: what the options ask for. */
MUST_USE neap_error *bench_list_make(const struct neap_options *options,
                                     const struct neap_bench_options *bench,
                                     struct bench_list *out);
void bench_list_free(struct bench_list *list);

/* bench_measure.c: plans and measures the rows of a group. Strings of the rows go to `pool`. */
struct bench_place {
    struct device *device;
    struct measured *measured; /* costs, or NULL */
    double seconds;            /* of steps, for a group */
    bool dry;                  /* plan, and measure nothing */
    struct pool *pool;
    const struct neap_bench_options *bench; /* to tell how it goes */
};
MUST_USE neap_error *bench_measure(const struct bench_place *place, struct bench_group *group);
/* printf to on_progress. */
void bench_tell(const struct neap_bench_options *bench, const char *format, ...) PRINTF_LIKE(2, 3);

/* bench_marks.c: the marks of the report's rows, into the report. */
MUST_USE neap_error *bench_judge(struct neap_bench_report *report, struct pool *pool);

#endif
