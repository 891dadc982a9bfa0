/* Bench: what the options ask for, group by group, and the file that keeps the results. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/bench.h"
#include "train/bench.h"
#include "train/costs.h"

static const double default_seconds = 20;

struct neap_bench {
    struct pool pool; /* texts of the machine, of measured rows and of the file's */
    struct bench_list list;
    struct neap_bench_report report;
    struct neap_bench_report kept; /* of the file: all its rows, those of this run too */
    struct neap_bench_row *rows, *kept_rows;
    size_t rows_capacity, kept_capacity;
    struct device *device;
    struct measured *measured;
};

/* ---- the file ------------------------------------------------------------------------------- */

static const struct neap_bench_row *find_kept(const struct neap_bench *b,
                                              const struct neap_bench_row *row) {
    for (size_t i = 0; i < b->kept.n_rows; i++)
        if (bench_row_same(&b->kept_rows[i], row))
            return &b->kept_rows[i];
    return NULL;
}

static neap_error *keep(struct neap_bench *b, const struct neap_bench_row *row) {
    TRY(memory_grow(&b->kept_rows, &b->kept_capacity, b->kept.n_rows + 1, sizeof *b->kept_rows));
    b->kept_rows[b->kept.n_rows++] = *row;
    b->kept.rows = b->kept_rows;
    return NULL;
}

static neap_error *load(struct neap_bench *b, const char *path) {
    struct neap_bench_report file;
    if (!path || !file_exists(path))
        return NULL;
    TRY(bench_read_json(path, &b->pool, &file));
    b->kept = file;
    b->kept.n_rows = 0;
    for (size_t i = 0; i < file.n_rows; i++)
        TRY(keep(b, &file.rows[i]));
    return NULL;
}

/* Seconds of two machines do not stand in one table. */
static neap_error *check_machine(const struct neap_bench *b, const char *path) {
    const struct neap_bench_report *kept = &b->kept, *r = &b->report;
    if (!path || !kept->n_rows ||
        (!strcmp(kept->machine, r->machine) && !strcmp(kept->version, r->version)))
        return NULL;
    return error_make(NEAP_ERROR_USAGE,
                      "%s: measured by %s on another machine or with other libraries (%s): what is "
                      "left goes to another file",
                      path, kept->version, kept->machine);
}

static neap_error *save(struct neap_bench *b, const char *path) {
    struct file_writer *writer;
    if (!path)
        return NULL;
    b->kept.version = b->report.version;
    b->kept.machine = b->report.machine;
    b->kept.scale = b->report.scale;
    TRY(file_writer_open(path, &writer));
    neap_error *error = bench_write_json(&b->kept, file_writer_stream(writer));
    if (!error)
        return file_writer_commit(writer);
    file_writer_abort(writer);
    return error;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static bool is_done(const struct neap_bench *b, const struct bench_group *group) {
    for (size_t i = 0; i < group->n; i++)
        if (!find_kept(b, &group->jobs[i].row))
            return false;
    return true;
}

static neap_error *keep_group(struct neap_bench *b, const struct bench_group *group) {
    for (size_t i = 0; i < group->n; i++) {
        struct neap_bench_row *before = (struct neap_bench_row *)find_kept(b, &group->jobs[i].row);
        if (before)
            *before = group->jobs[i].row;
        else
            TRY(keep(b, &group->jobs[i].row));
    }
    return NULL;
}

static neap_error *measure(struct neap_bench *b, const struct neap_bench_options *bench,
                           const char *path, struct bench_group *group) {
    const struct bench_place place = {.device = b->device,
                                      .measured = b->measured,
                                      .seconds =
                                          bench->seconds > 0 ? bench->seconds : default_seconds,
                                      .dry = b->report.planned_only,
                                      .pool = &b->pool,
                                      .bench = bench};
    TRY(check_machine(b, path));
    TRY(bench_measure(&place, group));
    TRY(keep_group(b, group));
    return save(b, path);
}

static neap_error *run_group(struct neap_bench *b, const struct neap_bench_options *bench,
                             const char *path, size_t i) {
    struct bench_group *group = &b->list.groups[i];
    const struct neap_bench_row *first = &group->jobs[0].row;
    bool done = is_done(b, group);
    bench_tell(bench, "%zu of %zu: %s%s", i + 1, b->list.n, first->model,
               done ? ", there already" : "");
    if (!done)
        TRY(measure(b, bench, path, group));
    for (size_t k = 0; k < group->n; k++) {
        const struct neap_bench_row *row = find_kept(b, &group->jobs[k].row);
        TRY(memory_grow(&b->rows, &b->rows_capacity, b->report.n_rows + 1, sizeof *b->rows));
        b->rows[b->report.n_rows++] = *row;
        b->report.rows = b->rows;
    }
    return NULL;
}

/* ---- together ------------------------------------------------------------------------------- */

/* The machine's lines behind neap's version, as one: "processor: …; threads: 2; …". */
static neap_error *describe(struct neap_bench *b) {
    char *lines, *rest;
    const char *text = "";
    TRY(device_describe(b->device, &lines));
    neap_error *error = pool_string(&b->pool, neap_version(), &b->report.version);
    strtok_r(lines, "\n", &rest);
    for (char *line; !error && (line = strtok_r(NULL, "\n", &rest));)
        error = pool_format(&b->pool, &text, "%s%s%s", text, *text ? "; " : "", line);
    b->report.machine = text;
    free(lines);
    return error;
}

static neap_error *open_device(struct neap_bench *b, const struct neap_options *o) {
    TRY(device_open(o->device, o->threads, &b->device));
    if (!b->device->backend->runs && !o->dry_run)
        return error_make(NEAP_ERROR_USAGE, "the device '%s' runs nothing that could be measured",
                          o->device);
    return costs_open(o, b->device, &b->measured);
}

static neap_error *build(struct neap_bench *b, const struct neap_options *options,
                         const struct neap_bench_options *bench) {
    if (options->dry_run && options->output)
        return error_make(NEAP_ERROR_USAGE, "a dry run measures nothing that could be kept in '%s'",
                          options->output);
    b->report.planned_only = options->dry_run;
    b->report.scale = bench->scale > 0 ? bench->scale : 1;
    if (bench->suite)
        TRY(pool_string(&b->pool, bench->suite, &b->report.suite));
    TRY(bench_list_make(options, bench, &b->list));
    TRY(load(b, options->output));
    TRY(open_device(b, options));
    TRY(describe(b));
    for (size_t i = 0; i < b->list.n; i++)
        TRY(run_group(b, bench, options->output, i));
    if (b->measured && measured_note(b->measured))
        bench_tell(bench, "%s", measured_note(b->measured));
    return bench->suite ? bench_judge(&b->report, &b->pool) : NULL;
}

neap_error *neap_bench_create(const struct neap_options *options,
                              const struct neap_bench_options *bench, neap_bench **out) {
    struct neap_bench *b;
    *out = NULL;
    TRY(memory_alloc(1, sizeof *b, &b));
    neap_error *error = build(b, options, bench);
    if (error)
        neap_bench_free(b);
    else
        *out = b;
    return error;
}

void neap_bench_free(neap_bench *b) {
    if (!b)
        return;
    measured_free(b->measured);
    device_close(b->device);
    free(b->rows);
    free(b->kept_rows);
    bench_list_free(&b->list);
    pool_free(&b->pool);
    free(b);
}

const struct neap_bench_report *neap_bench_get_report(const neap_bench *bench) {
    return &bench->report;
}

neap_error *neap_bench_print(const neap_bench *bench, enum neap_bench_format format, FILE *file) {
    static neap_error *(*const forms[])(const struct neap_bench_report *report, FILE *file) = {
        [NEAP_BENCH_TABLE] = bench_write_table,
        [NEAP_BENCH_CSV] = bench_write_csv,
        [NEAP_BENCH_JSON] = bench_write_json,
        [NEAP_BENCH_MARKDOWN] = bench_write_markdown,
    };
    return forms[format](&bench->report, file);
}
