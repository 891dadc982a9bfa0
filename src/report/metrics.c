/* metrics.csv: see metrics.h. */
#include "report/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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
    {"loss_scale", offsetof(struct neap_event, loss_scale)},
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static neap_error *cannot_write(const char *path) {
    return file_error(NEAP_ERROR_RUNTIME, errno, "cannot write '%s'", path);
}

static neap_error *flush(const struct metrics *m) {
    return fflush(m->file) || ferror(m->file) ? cannot_write(m->path) : NULL;
}

/* Cuts the file off behind keep_bytes; *size_bytes is what is left. */
static neap_error *cut(const struct metrics *m, int64_t keep_bytes, int64_t *size_bytes) {
    if (fseeko(m->file, 0, SEEK_END))
        return cannot_write(m->path);
    *size_bytes = ftello(m->file);
    if (*size_bytes <= keep_bytes)
        return NULL;
    *size_bytes = keep_bytes;
    if (ftruncate(fileno(m->file), keep_bytes) || fseeko(m->file, keep_bytes, SEEK_SET))
        return cannot_write(m->path);
    return NULL;
}

static neap_error *write_header(struct metrics *m) {
    fputs("epoch,update", m->file);
    for (int i = 0; i < N_NUMBERS; i++)
        fprintf(m->file, ",%s", numbers[i].name);
    fputc('\n', m->file);
    return flush(m);
}

neap_error *metrics_open(const char *path, int64_t keep_bytes, struct metrics **out) {
    struct metrics *m;
    int64_t size_bytes = 0;
    TRY(memory_alloc(1, sizeof *m, &m));
    neap_error *error = memory_string(path, &m->path);
    if (!error) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        m->file = fd < 0 ? NULL : fdopen(fd, "w");
        error = m->file ? cut(m, keep_bytes, &size_bytes) : cannot_write(path);
    }
    if (!error && size_bytes == 0)
        error = write_header(m);
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

neap_error *metrics_sync(struct metrics *m, int64_t *size_bytes) {
    *size_bytes = ftello(m->file);
    return *size_bytes < 0 || fsync(fileno(m->file)) ? cannot_write(m->path) : NULL;
}

void metrics_close(struct metrics *m) {
    if (!m)
        return;
    if (m->file)
        fclose(m->file);
    free(m->path);
    free(m);
}
