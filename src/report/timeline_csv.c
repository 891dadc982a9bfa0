/* The numbers behind the timeline: a row a step. */
#include <inttypes.h>

#include "base/file.h"
#include "report/csv.h"
#include "report/timeline.h"

neap_error *timeline_write_csv(const struct timeline *t, const char *path) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    FILE *file = file_writer_stream(writer);
    fputs("step,op,part,recompute,seconds,live_bytes\n", file);
    for (size_t i = 0; i < t->n_steps; i++) {
        const struct timeline_step *step = &t->steps[i];
        fprintf(file, "%zu,", i);
        csv_text(file, step->op);
        fprintf(file, ",%s,%d,%.9g,%" PRId64 "\n", step->update_part ? "update" : "micro",
                step->recompute, step->seconds, step->live_bytes);
    }
    return file_writer_commit(writer);
}
