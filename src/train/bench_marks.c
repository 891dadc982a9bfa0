/* What a suite is to show, from its rows in one piece without the input's gradient, in fp32; and
 * what holds a network that does not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/bench.h"

static const double most_plan_seconds = 5;
static const double mib = 1 << 20;

/* A network's rows; NULL where there is none. */
struct rows {
    const struct neap_published *published;
    double scale; /* of the published bytes */
    bool planned_only;
    const struct neap_bench_row *store_all, *arena, *overhead;
};

/* ---- shares of what was published ----------------------------------------------------------- */

/* Measured, or planned where that is all there is; INFINITY where there is none. */
static double overhead_of(const struct rows *r, const struct neap_bench_row *row) {
    if (!row || !row->fits || !(row->steps || r->planned_only))
        return INFINITY;
    double overhead = r->planned_only ? row->overhead_planned : row->overhead;
    return isfinite(overhead) ? overhead : INFINITY;
}

static double overhead_share(const struct rows *r) {
    return overhead_of(r, r->arena) / r->published->overhead;
}

/* INFINITY, too, where it takes longer than the published plan. */
static double arena_share(const struct rows *r) {
    double bytes = r->scale * (double)r->published->arena_mib * mib;
    bool within = overhead_of(r, r->overhead) <= r->published->overhead;
    return within ? (double)r->overhead->arena_planned_bytes / bytes : INFINITY;
}

static double store_all_share(const struct rows *r) {
    double bytes = r->scale * (double)r->published->store_all_mib * mib;
    return r->store_all ? (double)r->store_all->arena_planned_bytes / bytes : INFINITY;
}

static double plan_share(const struct rows *r) {
    return r->arena ? r->arena->plan_seconds / most_plan_seconds : INFINITY;
}

static const struct neap_bench_row *arena_row(const struct rows *r) {
    return r->arena;
}

static const struct neap_bench_row *overhead_row(const struct rows *r) {
    return r->overhead;
}

static const struct neap_bench_row *store_all_row(const struct rows *r) {
    return r->store_all;
}

static const struct mark {
    const char *text;
    double (*share)(const struct rows *rows);
    double most; /* of the share */
    bool below;  /* equal will not do */
    int64_t needed;
    const struct neap_bench_row *(*row)(const struct rows *rows); /* that may miss it */
} marks[] = {
    {"at the published arena, at most 0.4 of the published overhead", overhead_share, 0.4, false,
     14, arena_row},
    {"at the published arena, at most 0.6 of the published overhead", overhead_share, 0.6, false,
     18, arena_row},
    {"planned at the published arena in at most 5 s", plan_share, 1, false, 18, arena_row},
    {"at no more than the published overhead, at most 0.75 of the published arena", arena_share,
     0.75, false, 12, overhead_row},
    {"at no more than the published overhead, below the published arena", arena_share, 1, true, 18,
     overhead_row},
    {"keeping everything, below the published memory of that", store_all_share, 1, true, 18,
     store_all_row},
};
enum { N_MARKS = sizeof marks / sizeof *marks };

static bool meets(const struct mark *mark, const struct rows *rows) {
    double share = mark->share(rows);
    return mark->below ? share < mark->most : share <= mark->most;
}

/* ---- the rows of a network ------------------------------------------------------------------ */

static struct rows find_rows(const struct neap_bench_report *report,
                             const struct neap_published *published) {
    struct rows rows = {
        .published = published, .scale = report->scale, .planned_only = report->planned_only};
    for (size_t i = 0; i < report->n_rows; i++) {
        const struct neap_bench_row *row = &report->rows[i];
        if (strcmp(row->model, published->network) || strcmp(row->precision, "fp32") ||
            strcmp(row->slicing, "off") || row->input_gradient)
            continue;
        if (!strcmp(row->strategy, "none"))
            rows.store_all = row;
        else if (!strcmp(row->limit, "arena"))
            rows.arena = row;
        else if (!strcmp(row->limit, "overhead"))
            rows.overhead = row;
    }
    return rows;
}

/* "resnet50 --arena 2068840448: 1973 MiB, …": what a row that misses a mark is held by. */
static neap_error *explain(const struct rows *rows, const struct neap_bench_row *row,
                           struct pool *pool, const char **out) {
    const char *network = rows->published->network;
    if (!row)
        return pool_format(pool, out, "%s misses: it has no such row", network);
    const char *what = *row->flags ? row->flags : "--recompute none";
    if (*row->missing)
        return pool_format(pool, out, "%s %s misses: %s; at the worst moment %s", network, what,
                           row->missing, row->worst_moment);
    return pool_format(pool, out,
                       "%s %s misses: %.0f MiB where %.0f were published, overhead %+.1f %% where "
                       "%+.0f %% was, %+.1f %% planned and no plan below %+.1f %%; planned in "
                       "%.1f s; at the worst moment %s",
                       network, what, (double)row->arena_planned_bytes / mib,
                       rows->scale * (double)rows->published->arena_mib, 100 * row->overhead,
                       100 * rows->published->overhead, 100 * row->overhead_planned,
                       100 * (row->overhead_planned - row->gap), row->plan_seconds,
                       row->worst_moment);
}

/* Counts the network, and explains each row that misses something once: marks stand by row. */
static neap_error *judge(struct neap_bench_report *report, struct neap_bench_mark *judged,
                         const struct rows *rows, struct pool *pool, const char **misses) {
    const struct neap_bench_row *(*explained)(const struct rows *rows) = NULL;
    for (size_t k = 0; k < N_MARKS; k++) {
        bool met = meets(&marks[k], rows);
        judged[k].of++;
        judged[k].met += met;
        if (met || marks[k].row == explained)
            continue;
        explained = marks[k].row;
        TRY(explain(rows, explained(rows), pool, &misses[report->n_misses++]));
    }
    return NULL;
}

neap_error *bench_judge(struct neap_bench_report *report, struct pool *pool) {
    struct neap_bench_mark *judged;
    const char **misses;
    const struct neap_published *published;
    TRY(pool_alloc(pool, N_MARKS, sizeof *judged, &judged));
    TRY(pool_alloc(pool, report->n_rows * N_MARKS, sizeof *misses, &misses));
    for (size_t k = 0; k < N_MARKS; k++)
        judged[k] = (struct neap_bench_mark){.text = marks[k].text, .needed = marks[k].needed};
    for (size_t i = 0; (published = neap_published_at(report->suite, i)); i++) {
        struct rows rows = find_rows(report, published);
        if (rows.store_all)
            TRY(judge(report, judged, &rows, pool, misses));
    }
    report->marks = judged;
    report->n_marks = N_MARKS;
    report->misses = misses;
    return NULL;
}
