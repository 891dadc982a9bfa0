/* Measuring a group: its rows are planned, then each runs alone in an arena of its own size, which
 * tells the bytes and warms up; then they take turns in one arena, so that what else the machine
 * does falls on all alike. Memory: the largest arena, a batch, and a set of weights and gradients
 * for the rows in one piece and for each that is sliced. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "train/batch.h"
#include "train/bench.h"
#include "train/engine.h"

enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 99, SPARE_BYTES = 64 << 20, TITLE_BYTES = 200 };

struct runner {
    struct neap_plan *session;
    struct engine *engine;
    double seconds[MOST_ROUNDS];
};

struct measuring {
    const struct bench_place *place;
    struct bench_group *group;
    struct runner *runners; /* by job */
    struct arena arena;
    struct batch batch;
    int64_t rounds;
};

void bench_tell(const struct neap_bench_options *bench, const char *format, ...) {
    char text[320];
    va_list args;
    if (!bench->on_progress)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bench->on_progress(bench->user, text);
}

/* "resnet18 batch 256, auto --arena 50% in slices": what a line of progress is about. */
static const char *title(const struct neap_bench_row *row, char text[TITLE_BYTES]) {
    snprintf(text, TITLE_BYTES, "%.40s batch %lld %.8s%s, %.32s%s%.40s%s", row->model,
             (long long)row->batch, row->precision,
             row->input_gradient ? ", gradient of the input" : "", row->strategy,
             *row->flags ? " " : "", row->flags, strcmp(row->slicing, "off") ? " in slices" : "");
    return text;
}

static bool is_measured(const struct bench_job *job) {
    return !*job->row.missing;
}

/* ---- planning ------------------------------------------------------------------------------- */

static neap_error *take_report(const struct measuring *m, struct bench_job *job,
                               const struct neap_plan_report *r, double store_all_seconds) {
    struct neap_bench_row *row = &job->row;
    char least[24];
    row->micro_batch = r->micro_batch;
    row->fits = r->fits;
    row->arena_planned_bytes = r->plan.arena_bytes;
    row->peak_planned_bytes = r->plan.peak_bytes;
    row->overhead_planned = r->plan.step_seconds / store_all_seconds - 1;
    row->gap = r->gap;
    row->recomputed_ops = r->recomputed_ops;
    row->plan_seconds = r->solver_seconds;
    TRY(pool_string(m->place->pool, r->worst_moment, &row->worst_moment));
    if (r->fits)
        return NULL;
    return pool_format(m->place->pool, &row->missing, "does not fit: least possible is %s",
                       report_bytes(r->smallest_budget_bytes, least));
}

static neap_error *plan_all(struct measuring *m) {
    char text[TITLE_BYTES];
    for (size_t i = 0; i < m->group->n; i++) {
        struct bench_job *job = &m->group->jobs[i];
        bench_tell(m->place->bench, "%s: planning", title(&job->row, text));
        TRY(session_create(&(struct session_request){.options = &job->options,
                                                     .device = m->place->device,
                                                     .measured = m->place->measured,
                                                     .allow_unfit = true},
                           &m->runners[i].session));
        TRY(take_report(m, job, &m->runners[i].session->report,
                        m->runners[0].session->report.store_all.step_seconds));
    }
    if (m->place->measured)
        measured_save(m->place->measured);
    return NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

/* A step; the learning rate is 0, so that weights stay what they are however many there are. */
static neap_error *run_step(const struct measuring *m, struct engine *engine, double *seconds) {
    const struct neap_plan *s = engine->session;
    double start = process_seconds();
    engine_begin(engine, 0, 0, session_window(s));
    for (int64_t a = 0; a < s->accumulation.most_steps; a++)
        TRY(engine_batch(engine, m->batch.images, m->batch.labels, s->options.batch));
    TRY(engine_end(engine));
    *seconds = process_seconds() - start;
    return NULL;
}

/* Marks a row that this machine has no memory for. */
static neap_error *check_memory(const struct measuring *m, struct bench_job *job) {
    const struct neap_bench_row *row = &job->row;
    char needed[24], available[24];
    int64_t has = neap_available_bytes() - SPARE_BYTES;
    if (row->peak_planned_bytes <= has)
        return NULL;
    return pool_format(m->place->pool, &job->row.missing, "needs %s, and %s are available",
                       report_bytes(row->peak_planned_bytes, needed), report_bytes(has, available));
}

/* One step in an arena that is as large as planned. */
static neap_error *measure_bytes(const struct measuring *m, struct bench_job *job,
                                 struct neap_plan *session) {
    struct engine *engine;
    double seconds;
    TRY(engine_create(&(struct engine_request){.session = session}, &engine));
    neap_error *error = run_step(m, engine, &seconds);
    /* with the programs of a short last slice, if there is one */
    job->row.arena_planned_bytes = session->report.plan.arena_bytes;
    job->row.peak_planned_bytes = session->report.plan.peak_bytes;
    if (!error) {
        char text[TITLE_BYTES], arena[24];
        job->row.arena_measured_bytes = arena_measure(&engine->arena, ALIGNMENT_BYTES);
        job->row.rss_bytes = process_rss_bytes();
        bench_tell(m->place->bench, "%s: %s of arena, warm-up %.3g s", title(&job->row, text),
                   report_bytes(job->row.arena_measured_bytes, arena), seconds);
    }
    engine_free(engine);
    return error;
}

static neap_error *measure_all_bytes(struct measuring *m) {
    for (size_t i = 0; i < m->group->n; i++) {
        struct bench_job *job = &m->group->jobs[i];
        if (is_measured(job))
            TRY(check_memory(m, job));
        if (is_measured(job))
            TRY(measure_bytes(m, job, m->runners[i].session));
    }
    return NULL;
}

/* ---- taking turns --------------------------------------------------------------------------- */

static neap_error *make_arena(struct measuring *m) {
    int64_t bytes = 0;
    for (size_t i = 0; i < m->group->n; i++)
        if (is_measured(&m->group->jobs[i]) && m->group->jobs[i].row.arena_planned_bytes > bytes)
            bytes = m->group->jobs[i].row.arena_planned_bytes;
    return arena_create(m->place->device, bytes, &m->arena);
}

/* Rows in one piece are compiled alike and share their weights. */
static neap_error *make_engines(struct measuring *m) {
    struct store *store = NULL;
    for (size_t i = 0; i < m->group->n; i++) {
        const struct bench_job *job = &m->group->jobs[i];
        bool whole = job->row.micro_batch == job->row.batch;
        if (!is_measured(job))
            continue;
        TRY(engine_create(&(struct engine_request){.session = m->runners[i].session,
                                                   .arena = &m->arena,
                                                   .store = whole ? store : NULL},
                          &m->runners[i].engine));
        if (whole)
            store = m->runners[i].engine->store;
    }
    return NULL;
}

static neap_error *take_turns(struct measuring *m) {
    double start = process_seconds();
    while (m->rounds < LEAST_ROUNDS ||
           (m->rounds < MOST_ROUNDS && process_seconds() - start < m->place->seconds)) {
        for (size_t i = 0; i < m->group->n; i++)
            if (m->runners[i].engine)
                TRY(run_step(m, m->runners[i].engine, &m->runners[i].seconds[m->rounds]));
        m->rounds++;
    }
    return NULL;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void take_times(const struct measuring *m, size_t i) {
    struct neap_bench_row *row = &m->group->jobs[i].row;
    double *seconds = m->runners[i].seconds;
    size_t n = (size_t)m->rounds;
    qsort(seconds, n, sizeof *seconds, by_value);
    row->steps = m->rounds;
    row->seconds_median = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
    row->seconds_min = seconds[0];
    row->images_per_second =
        (double)(row->batch * m->runners[i].session->accumulation.most_steps) / row->seconds_median;
    const struct neap_bench_row *all = &m->group->jobs[0].row;
    row->overhead = all->steps ? row->seconds_median / all->seconds_median - 1 : NAN;
}

static neap_error *measure_times(struct measuring *m) {
    char text[TITLE_BYTES];
    TRY(make_arena(m));
    TRY(make_engines(m));
    TRY(take_turns(m));
    for (size_t i = 0; i < m->group->n; i++) {
        const struct neap_bench_row *row = &m->group->jobs[i].row;
        if (m->runners[i].engine)
            take_times(m, i);
        if (*row->missing)
            bench_tell(m->place->bench, "%s: %s", title(row, text), row->missing);
        else
            bench_tell(m->place->bench, "%s: %.4g s a step, median of %lld (%+.1f %%)",
                       title(row, text), row->seconds_median, (long long)row->steps,
                       100 * row->overhead);
    }
    return NULL;
}

neap_error *bench_measure(const struct bench_place *place, struct bench_group *group) {
    struct measuring m = {.place = place, .group = group};
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(group->n, sizeof *m.runners, &m.runners));
    TRY_GOTO(plan_all(&m));
    if (place->dry) {
        for (size_t i = 0; i < group->n; i++)
            if (is_measured(&group->jobs[i]))
                group->jobs[i].row.missing = "a dry run";
        goto done;
    }
    TRY_GOTO(batch_create(m.runners[0].session->model, group->jobs[0].row.batch, &m.batch));
    batch_fill(&m.batch, m.runners[0].session->options.seed, 0);
    TRY_GOTO(measure_all_bytes(&m));
    TRY_GOTO(measure_times(&m));
done:
    for (size_t i = group->n; m.runners && i-- > 0;) { /* the first may own what others use */
        engine_free(m.runners[i].engine);
        neap_plan_free(m.runners[i].session);
    }
    arena_free(&m.arena);
    batch_free(&m.batch);
    free(m.runners);
    return error;
}
