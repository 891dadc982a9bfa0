/* Training: epochs of windows, evaluation between, weights and metrics at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "report/metrics.h"
#include "train/data.h"
#include "train/engine.h"
#include "train/evaluate.h"
#include "train/lr.h"
#include "train/weights.h"

struct run {
    const struct neap_options *options;
    const struct neap_observer *observer;
    struct run_data data;
    struct neap_plan *session;
    struct engine *engine;
    struct metrics *metrics;
    struct calendar calendar;
    struct lr_schedule schedule;
    int64_t updates; /* of the whole run */
    double start_seconds, epoch_seconds;
    struct neap_event event; /* kept up to date, handed to the observer */
};

static void tell(struct run *r, enum neap_event_kind kind, const char *text) {
    r->event.kind = kind;
    r->event.text = text;
    if (r->observer && r->observer->on_event)
        r->observer->on_event(r->observer->user, &r->event);
}

static bool stopped(const struct run *r) {
    return r->observer && r->observer->stop && r->observer->stop(r->observer->user);
}

/* ---- before the first step ------------------------------------------------------------------ */

static bool wants_eval(const struct neap_options *o) {
    return o->val_data || (o->data && strcmp(o->data, "synthetic") != 0);
}

static neap_error *open_folder(struct run *r) {
    const char *folder = r->options->output;
    char *path;
    if (!folder)
        return NULL;
    TRY(file_make_directory(folder));
    TRY(file_check_writable(folder));
    TRY(memory_format(&path, "%s/plan.json", folder));
    neap_error *error = neap_plan_save(r->session, path);
    free(path);
    if (!error)
        error = memory_format(&path, "%s/metrics.csv", folder);
    if (error)
        return error;
    error = metrics_open(path, &r->metrics);
    free(path);
    return error;
}

static neap_error *count_updates(struct run *r) {
    const struct neap_options *o = r->options;
    r->calendar = (struct calendar){.accumulation = &r->session->accumulation,
                                    .samples = r->data.train->n_samples,
                                    .batch = o->batch,
                                    .epochs = o->epochs};
    TRY(calendar_check(&r->calendar));
    r->updates = calendar_updates_before(&r->calendar, (double)o->epochs);
    if (o->max_updates && o->max_updates < r->updates)
        r->updates = o->max_updates;
    r->event.epochs = o->epochs;
    r->event.updates = r->updates;
    r->event.updates_per_epoch = calendar_updates(&r->calendar, 0, 0);
    return lr_schedule_of(o, &r->calendar, r->updates, &r->schedule);
}

/* What was decided for the user, and what the user might decide otherwise. */
static neap_error *tell_decisions(struct run *r) {
    const struct neap_plan_report *report = &r->session->report;
    char *table;
    TRY(calendar_table(&r->calendar, &table));
    if (table)
        tell(r, NEAP_EVENT_NOTE, table);
    free(table);
    if (report->decision)
        tell(r, NEAP_EVENT_NOTE, report->decision);
    if (report->slicing)
        tell(r, NEAP_EVENT_NOTE, report->slicing->text);
    return NULL;
}

static neap_error *prepare(struct run *r) {
    const struct neap_options *o = r->options;
    if (o->epochs < 1)
        return error_make(NEAP_ERROR_USAGE, "%lld epochs: there must be at least one",
                          (long long)o->epochs);
    TRY(run_data_open(o, true, wants_eval(o), &r->data));
    const struct source *source = r->data.train;
    TRY(session_create(&(struct session_request){.options = o,
                                                 .channels = source->shape.channels,
                                                 .image_size = source->shape.height,
                                                 .num_classes = source->n_classes,
                                                 .data = &r->data,
                                                 .advise = true},
                       &r->session));
    o = r->options = &r->session->options; /* with numbers for what was left to us */
    TRY(run_data_check(&r->data, r->session->model));
    TRY(count_updates(r));
    TRY(engine_create(
        &(struct engine_request){.session = r->session,
                                 .train_samples = source->n_samples,
                                 .eval_samples = r->data.eval ? r->data.eval->n_samples : 0,
                                 .dry = o->dry_run},
        &r->engine));
    if (!o->dry_run)
        TRY(open_folder(r));
    TRY(tell_decisions(r));
    r->event.report = &r->session->report;
    r->event.peak_planned_bytes = r->session->report.plan.peak_bytes;
    r->event.arena_planned_bytes = r->session->report.plan.arena_bytes;
    tell(r, NEAP_EVENT_BANNER, NULL);
    return NULL;
}

/* ---- an epoch ------------------------------------------------------------------------------- */

/* A window of `left` samples, and the update that ends it. */
static neap_error *run_window(struct run *r, int64_t epoch, int64_t left) {
    r->event.lr = lr_at(&r->schedule, epoch, r->event.update);
    engine_begin(r->engine, (uint64_t)r->event.update, r->event.lr, left);
    while (left > 0) {
        struct loader_batch batch;
        TRY(loader_next(r->data.train_loader, &batch));
        TRY(engine_batch(r->engine, batch.images, batch.labels, batch.count));
        left -= batch.count;
    }
    TRY(engine_end(r->engine));
    r->event.gradient_norm = r->engine->gradient_norm;
    return NULL;
}

/* Sums of the epoch so far into the event's means. */
static neap_error *count_window(struct run *r, struct engine_metrics *sums, int64_t samples) {
    struct engine_metrics now = engine_take_metrics(r->engine);
    sums->loss += now.loss;
    sums->top1 += now.top1;
    r->event.images = samples;
    r->event.train_loss = sums->loss / (double)samples;
    r->event.train_top1 = 100 * sums->top1 / (double)samples;
    r->event.seconds = process_seconds() - r->start_seconds;
    r->event.images_per_second = (double)samples / (process_seconds() - r->epoch_seconds);
    if (isfinite(now.loss))
        return NULL;
    return error_make(NEAP_ERROR_DIVERGED,
                      "the loss is %g at update %lld (learning rate %g): a smaller learning rate "
                      "or a warm-up may help",
                      now.loss, (long long)r->event.update, r->event.lr);
}

static int64_t log_interval(const struct run *r) {
    return r->options->log_interval ? r->options->log_interval : 1;
}

static void measure(struct run *r) {
    r->event.arena_measured_bytes = arena_measure(&r->engine->arena, ALIGNMENT_BYTES);
    r->event.peak_measured_bytes = engine_measured_peak(r->engine);
    r->event.rss_bytes = process_peak_rss_bytes();
}

static neap_error *evaluate(struct run *r) {
    struct neap_eval_report report;
    if (!r->data.eval)
        return NULL;
    TRY(evaluate_source(r->engine, r->data.eval_loader, &report));
    r->event.eval_loss = report.loss;
    r->event.eval_top1 = report.top1;
    r->event.eval_top5 = report.top5;
    r->event.images = report.images;
    r->event.seconds = report.seconds;
    tell(r, NEAP_EVENT_EVAL, NULL);
    return NULL;
}

static neap_error *train_epoch(struct run *r, int64_t epoch) {
    struct engine_metrics sums = {0};
    int64_t samples = 0;
    r->epoch_seconds = process_seconds();
    r->event.epoch = epoch + 1;
    r->event.update_in_epoch = 0;
    r->event.updates_per_epoch = calendar_updates(&r->calendar, epoch, r->event.update);
    TRY(loader_start_epoch(r->data.train_loader, epoch));
    while (samples < r->data.train->n_samples && r->event.update < r->updates) {
        int64_t count = calendar_window(&r->calendar, epoch, r->event.update, samples);
        TRY(run_window(r, epoch, count));
        samples += count;
        TRY(count_window(r, &sums, samples));
        r->event.update++;
        r->event.update_in_epoch++;
        if (r->event.update % log_interval(r) == 0)
            tell(r, NEAP_EVENT_UPDATE, NULL);
        if (stopped(r))
            return error_make(NEAP_INTERRUPTED, "stopped after update %lld",
                              (long long)r->event.update);
    }
    r->event.seconds = process_seconds() - r->epoch_seconds;
    measure(r);
    tell(r, NEAP_EVENT_EPOCH, NULL);
    double seconds = r->event.seconds;
    r->event.eval_loss = r->event.eval_top1 = r->event.eval_top5 = NAN;
    TRY(evaluate(r));
    r->event.seconds = seconds;
    return r->metrics ? metrics_row(r->metrics, &r->event) : NULL;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* checkpoint-<update>/model.safetensors, and `last` pointing there. */
static neap_error *save(struct run *r) {
    char *folder = NULL, *path = NULL, *last = NULL, *temporary = NULL, *name = NULL;
    neap_error *error = NULL;
    const char *output = r->options->output;
    if (!output)
        return NULL;
    TRY_GOTO(memory_format(&name, "checkpoint-%lld", (long long)r->event.update));
    TRY_GOTO(memory_format(&folder, "%s/%s", output, name));
    TRY_GOTO(memory_format(&path, "%s/model.safetensors", folder));
    TRY_GOTO(memory_format(&last, "%s/last", output));
    TRY_GOTO(memory_format(&temporary, "%s/last.tmp", output));
    TRY_GOTO(file_make_directory(folder));
    TRY_GOTO(weights_save(r->engine->store, path));
    unlink(temporary);
    if (symlink(name, temporary) || rename(temporary, last))
        error = error_make(NEAP_ERROR_RUNTIME, "cannot make '%s' point to '%s'", last, name);
    if (!error)
        tell(r, NEAP_EVENT_SAVED, path);
done:
    free(name);
    free(folder);
    free(path);
    free(last);
    free(temporary);
    return error;
}

static neap_error *run_all(struct run *r) {
    TRY(prepare(r));
    if (r->options->dry_run)
        return NULL;
    if (r->options->pretrained)
        TRY(weights_load(r->engine->store, r->options->pretrained));
    TRY(run_data_start(&r->data, r->options));
    r->start_seconds = process_seconds();
    for (int64_t epoch = 0; epoch < r->options->epochs && r->event.update < r->updates; epoch++)
        TRY(train_epoch(r, epoch));
    TRY(save(r));
    r->event.seconds = process_seconds() - r->start_seconds;
    measure(r);
    tell(r, NEAP_EVENT_DONE, NULL);
    return NULL;
}

neap_error *neap_train(const struct neap_options *options, const struct neap_observer *observer) {
    struct run r = {.options = options, .observer = observer};
    r.event.eval_loss = r.event.eval_top1 = r.event.eval_top5 = NAN;
    neap_error *error = run_all(&r);
    metrics_close(r.metrics);
    run_data_close(&r.data);
    engine_free(r.engine);
    neap_plan_free(r.session);
    return error;
}
