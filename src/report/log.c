/* log.txt: see log.h. */
#include "report/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"

struct log {
    FILE *file;
    char *path;
    int64_t interval;
    int failure; /* errno of the first write that failed */
};

static void print_banner(const struct log *log, const struct neap_event *event) {
    const struct neap_plan_report *r = event->report;
    fprintf(log->file,
            "%s: %s, %lld parameters, %s, %s, batch %lld in %lld x accumulation %lld, strategy %s, "
            "peak %lld bytes, arena %lld bytes\n",
            neap_version(), r->model, (long long)r->parameters, r->precision, r->optimizer,
            (long long)r->batch, (long long)r->micro_batches, (long long)r->grad_accum_steps,
            r->strategy, (long long)r->plan.peak_bytes, (long long)r->plan.arena_bytes);
}

static void print_text(const struct log *log, const struct neap_event *event) {
    fprintf(log->file, "%s\n", event->text);
}

static void print_progress(const struct log *log, const struct neap_event *event) {
    fprintf(log->file,
            "epoch %lld/%lld update %lld/%lld loss %.6g top1 %.2f%% lr %.6g %.0f images/s %.1f s\n",
            (long long)event->epoch, (long long)event->epochs, (long long)event->update,
            (long long)event->updates, event->train_loss, event->train_top1, event->lr,
            event->images_per_second, event->seconds);
}

static void print_update(const struct log *log, const struct neap_event *event) {
    if (event->update % log->interval == 0)
        print_progress(log, event);
}

static void print_epoch(const struct log *log, const struct neap_event *event) {
    fputs("end of ", log->file);
    print_progress(log, event);
}

static void print_eval(const struct log *log, const struct neap_event *event) {
    fprintf(log->file, "evaluation at update %lld: loss %.6g top1 %.2f%% top5 %.2f%%\n",
            (long long)event->update, event->eval_loss, event->eval_top1, event->eval_top5);
}

static void print_saved(const struct log *log, const struct neap_event *event) {
    fprintf(log->file, "saved %s\n", event->text);
}

static void print_done(const struct log *log, const struct neap_event *event) {
    fprintf(log->file, "done: %lld updates in %.1f s, peak %lld bytes measured, rss %lld bytes\n",
            (long long)event->update, event->seconds, (long long)event->peak_measured_bytes,
            (long long)event->rss_bytes);
}

static void (*const printers[])(const struct log *log, const struct neap_event *event) = {
    [NEAP_EVENT_BANNER] = print_banner, [NEAP_EVENT_NOTE] = print_text,
    [NEAP_EVENT_UPDATE] = print_update, [NEAP_EVENT_EPOCH] = print_epoch,
    [NEAP_EVENT_EVAL] = print_eval,     [NEAP_EVENT_SAVED] = print_saved,
    [NEAP_EVENT_DONE] = print_done,
};

neap_error *log_open(const char *path, int64_t interval, struct log **out) {
    struct log *log;
    TRY(memory_alloc(1, sizeof *log, &log));
    log->interval = interval;
    neap_error *error = memory_string(path, &log->path);
    log->file = error ? NULL : fopen(path, "a");
    if (!error && !log->file)
        error = file_error(NEAP_ERROR_RUNTIME, errno, "cannot write '%s'", path);
    if (error)
        log_close(log);
    else
        *out = log;
    return error;
}

void log_event(struct log *log, const struct neap_event *event) {
    errno = 0;
    printers[event->kind](log, event);
    if ((fflush(log->file) || ferror(log->file)) && !log->failure)
        log->failure = errno ? errno : EIO;
}

neap_error *log_check(const struct log *log) {
    if (!log || !log->failure)
        return NULL;
    return file_error(NEAP_ERROR_RUNTIME, log->failure, "cannot write '%s'", log->path);
}

void log_close(struct log *log) {
    if (!log)
        return;
    if (log->file)
        fclose(log->file);
    free(log->path);
    free(log);
}
