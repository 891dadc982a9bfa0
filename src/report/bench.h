/* Forms of a bench's report. */
#ifndef NEAP_REPORT_BENCH_H
#define NEAP_REPORT_BENCH_H

#include <stddef.h>

#include "base/memory.h"

/* The fields of a row, in the order in which they are written. */
enum bench_type { BENCH_TEXT, BENCH_INTEGER, BENCH_REAL, BENCH_FLAG };
struct bench_field {
    const char *name;
    enum bench_type type;
    size_t offset;
    bool identity; /* with the others so marked, what tells a row from another */
};
/* NULL past the last. */
const struct bench_field *bench_field_at(size_t index);
/* Do both say what is measured in the same words? */
bool bench_row_same(const struct neap_bench_row *a, const struct neap_bench_row *b);

MUST_USE neap_error *bench_write_table(const struct neap_bench_report *report, FILE *file);
MUST_USE neap_error *bench_write_markdown(const struct neap_bench_report *report, FILE *file);
MUST_USE neap_error *bench_write_csv(const struct neap_bench_report *report, FILE *file);
MUST_USE neap_error *bench_write_json(const struct neap_bench_report *report, FILE *file);

/* What bench_write_json wrote: version, machine and rows, which live in the pool. */
MUST_USE neap_error *bench_read_json(const char *path, struct pool *pool,
                                     struct neap_bench_report *out);

#endif
