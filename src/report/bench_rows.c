/* The fields of a bench's row and their CSV: see bench.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "report/bench.h"
#include "report/csv.h"

#define FIELD(name, type, identity)                                                                \
    { #name, type, offsetof(struct neap_bench_row, name), identity }

static const struct bench_field fields[] = {
    FIELD(model, BENCH_TEXT, true),
    FIELD(batch, BENCH_INTEGER, true),
    FIELD(precision, BENCH_TEXT, true),
    FIELD(strategy, BENCH_TEXT, true),
    FIELD(limit, BENCH_TEXT, true),
    FIELD(flags, BENCH_TEXT, true),
    FIELD(slicing, BENCH_TEXT, true),
    FIELD(input_gradient, BENCH_FLAG, true),
    FIELD(setup, BENCH_TEXT, true),
    FIELD(micro_batch, BENCH_INTEGER, false),
    FIELD(fits, BENCH_FLAG, false),
    FIELD(missing, BENCH_TEXT, false),
    FIELD(arena_planned_bytes, BENCH_INTEGER, false),
    FIELD(arena_measured_bytes, BENCH_INTEGER, false),
    FIELD(peak_planned_bytes, BENCH_INTEGER, false),
    FIELD(rss_bytes, BENCH_INTEGER, false),
    FIELD(steps, BENCH_INTEGER, false),
    FIELD(seconds_median, BENCH_REAL, false),
    FIELD(seconds_min, BENCH_REAL, false),
    FIELD(images_per_second, BENCH_REAL, false),
    FIELD(overhead, BENCH_REAL, false),
    FIELD(overhead_planned, BENCH_REAL, false),
    FIELD(gap, BENCH_REAL, false),
    FIELD(recomputed_ops, BENCH_INTEGER, false),
    FIELD(plan_seconds, BENCH_REAL, false),
    FIELD(worst_moment, BENCH_TEXT, false),
};

const struct bench_field *bench_field_at(size_t index) {
    return index < sizeof fields / sizeof *fields ? &fields[index] : NULL;
}

static bool same(const struct bench_field *f, const char *a, const char *b) {
    if (f->type == BENCH_TEXT)
        return !strcmp(*(const char *const *)(const void *)(a + f->offset),
                       *(const char *const *)(const void *)(b + f->offset));
    size_t bytes = f->type == BENCH_FLAG ? sizeof(bool) : sizeof(int64_t);
    return !memcmp(a + f->offset, b + f->offset, bytes);
}

bool bench_row_same(const struct neap_bench_row *a, const struct neap_bench_row *b) {
    const struct bench_field *f;
    for (size_t i = 0; (f = bench_field_at(i)); i++)
        if (f->identity && !same(f, (const char *)a, (const char *)b))
            return false;
    return true;
}

/* Nothing where there is no number. */
static void write_field(const struct bench_field *f, const void *at, FILE *file) {
    if (f->type == BENCH_TEXT)
        csv_text(file, *(const char *const *)at);
    else if (f->type == BENCH_INTEGER)
        fprintf(file, "%" PRId64, *(const int64_t *)at);
    else if (f->type == BENCH_FLAG)
        fputs(*(const bool *)at ? "true" : "false", file);
    else if (isfinite(*(const double *)at))
        fprintf(file, "%.9g", *(const double *)at);
}

neap_error *bench_write_csv(const struct neap_bench_report *report, FILE *file) {
    const struct bench_field *f;
    for (size_t i = 0; (f = bench_field_at(i)); i++)
        fprintf(file, "%s%s", i ? "," : "", f->name);
    fputc('\n', file);
    for (size_t r = 0; r < report->n_rows; r++) {
        for (size_t i = 0; (f = bench_field_at(i)); i++) {
            if (i)
                fputc(',', file);
            write_field(f, (const char *)&report->rows[r] + f->offset, file);
        }
        fputc('\n', file);
    }
    return NULL;
}
