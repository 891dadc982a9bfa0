/* metrics.csv: see metrics.h. */
#include "report/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"

struct metrics {
    FILE *file;
    char *path;
};

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"train_loss", offsetof(struct neap_event, train_loss)},
    {"train_top1", offsetof(struct neap_event, train_top1)},
    {"eval_loss", offsetof(struct neap_event, eval_loss)},
    {"eval_top1", offsetof(struct neap_event, eval_top1)},
    {"eval_top5", offsetof(struct neap_event, eval_top5)},
    {"lr", offsetof(struct neap_event, lr)},
    {"seconds", offsetof(struct neap_event, seconds)},
    {"images_per_second", offsetof(struct neap_event, images_per_second)},
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static neap_error *flush(struct metrics *m) {
    if (!fflush(m->file) && !ferror(m->file))
        return NULL;
    return file_error(NEAP_ERROR_RUNTIME, errno, "cannot write '%s'", m->path);
}

neap_error *metrics_open(const char *path, struct metrics **out) {
    struct metrics *m;
    TRY(memory_alloc(1, sizeof *m, &m));
    neap_error *error = memory_string(path, &m->path);
    m->file = error ? NULL : fopen(path, "w");
    if (!error && !m->file)
        error = file_error(NEAP_ERROR_RUNTIME, errno, "cannot write '%s'", path);
    if (!error) {
        fputs("epoch,update", m->file);
        for (int i = 0; i < N_NUMBERS; i++)
            fprintf(m->file, ",%s", numbers[i].name);
        fputc('\n', m->file);
        error = flush(m);
    }
    if (error)
        metrics_close(m);
    else
        *out = m;
    return error;
}

neap_error *metrics_row(struct metrics *m, const struct neap_event *event) {
    fprintf(m->file, "%lld,%lld", (long long)event->epoch, (long long)event->update);
    for (int i = 0; i < N_NUMBERS; i++) {
        double number = *(const double *)((const char *)event + numbers[i].offset);
        if (isnan(number))
            fputc(',', m->file);
        else
            fprintf(m->file, ",%.9g", number);
    }
    fputc('\n', m->file);
    return flush(m);
}

void metrics_close(struct metrics *m) {
    if (!m)
        return;
    if (m->file)
        fclose(m->file);
    free(m->path);
    free(m);
}
