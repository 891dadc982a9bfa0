/* A placement problem as CSV: a head that names the columns, then a row for each buffer. Needed, in
 * any order: `id` (any text), `lower` and `upper` (it lives from lower up to, not including,
 * upper), `size` in bytes. Other columns are carried along; fields may be quoted. */
#ifndef NEAP_FMT_PLACEMENT_CSV_H
#define NEAP_FMT_PLACEMENT_CSV_H

#include "plan/problem.h"

struct placement_csv {
    struct plan_lives lives; /* in the rows' order; a step for each time that is named */
    const char **ids;        /* as they stand in the file */
    const char *head;        /* without a column `offset`, should there be one */
    const char **rows;       /* likewise */
    struct pool pool;        /* owns the texts */
};

/* NEAP_ERROR_DATA, naming file and line, where it is malformed. */
MUST_USE neap_error *placement_csv_read(const char *path, struct placement_csv *out);

/* The same rows with a last column `offset`, from the lives. */
MUST_USE neap_error *placement_csv_write(const struct placement_csv *csv, const char *path);

void placement_csv_free(struct placement_csv *csv);

#endif
