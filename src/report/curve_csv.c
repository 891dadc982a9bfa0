/* The numbers of the curve's figure, a row for everything that is drawn. */
#include <inttypes.h>

#include "base/file.h"
#include "report/curve.h"

static void write_point(FILE *file, const char *series, const struct neap_curve_point *p) {
    fprintf(file, "%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.9g,%.9g,%" PRId64 "\n", series,
            p->strategy, p->peak_bytes, p->arena_bytes, p->live_peak_bytes, p->overhead,
            p->overhead_lower_bound, p->recomputed_ops);
}

/* A row that has bytes of one kind and perhaps a bound. */
static void write_bytes(FILE *file, const struct neap_curve_report *c, const char *series,
                        int64_t bytes) {
    if (c->of_live_peak)
        fprintf(file, "%s,,,,%" PRId64 ",,", series, bytes);
    else
        fprintf(file, "%s,,,%" PRId64 ",,,", series, bytes);
}

neap_error *curve_write_csv(const struct neap_curve_report *c, const char *path) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    FILE *file = file_writer_stream(writer);
    fputs("series,strategy,peak_bytes,arena_bytes,live_peak_bytes,overhead,overhead_lower_bound,"
          "recomputed_ops\n",
          file);
    for (size_t i = 0; i < c->n_points; i++)
        write_point(file, "neap", &c->points[i]);
    for (size_t i = 0; i < c->n_strategies; i++)
        write_point(file, "strategy", &c->strategies[i]);
    for (size_t i = 0; i < c->n_bounds; i++) {
        write_bytes(file, c, "bound", c->bounds[i].bytes);
        fprintf(file, "%.9g,\n", c->bounds[i].overhead);
    }
    write_bytes(file, c, "floor", c->floor_bytes);
    fputs(",\n", file);
    return file_writer_commit(writer);
}
