/* Training: epochs of windows, evaluation between; what is kept of it is saver.c's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "train/data.h"
#include "train/engine.h"
#include "train/evaluate.h"
#include "train/lr.h"
#include "train/saver.h"
#include "train/weights.h"

struct run {
    const struct neap_options *options;
    const struct neap_observer *observer;
    struct resume resume;
    struct run_data data;
    struct neap_plan *session;
    struct engine *engine;
    struct saver saver;
    struct training_state state; /* all that a checkpoint holds beside the store */
    struct calendar calendar;
    struct lr_schedule schedule;
    int64_t updates; /* of the whole run */
    double start_seconds, epoch_seconds;
    struct neap_event event; /* kept up to date, handed to the observer */
};

static void tell(struct run *r, enum neap_event_kind kind, const char *text) {
    r->event.kind = kind;
    r->event.text = text;
    saver_log(&r->saver, &r->event);
    if (r->observer && r->observer->on_event)
        r->observer->on_event(r->observer->user, &r->event);
    r->event.text = NULL; /* it may not outlive this call */
}

/* ---- before the first step ------------------------------------------------------------------ */

static bool wants_eval(const struct neap_options *o) {
    return o->val_data || (o->data && strcmp(o->data, "synthetic") != 0);
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

/* Files that are not trained or evaluated on, by name, and how many. */
static void tell_left_out(struct run *r, const struct source *source) {
    char count[160];
    for (int64_t i = 0; i < source->n_left_out; i++)
        tell(r, NEAP_EVENT_NOTE, neap_error_message(source->left_out[i]));
    snprintf(count, sizeof count, "left out %lld of %lld files of '%.100s'",
             (long long)source->n_left_out, (long long)(source->n_samples + source->n_left_out),
             source->name);
    if (source->n_left_out)
        tell(r, NEAP_EVENT_NOTE, count);
}

/* What was decided for the user, and what the user might decide otherwise. */
static neap_error *tell_decisions(struct run *r) {
    const struct neap_plan_report *report = &r->session->report;
    char *table;
    TRY(calendar_table(&r->calendar, &table));
    if (table)
        tell(r, NEAP_EVENT_NOTE, table);
    free(table);
    for (size_t i = 0; i < r->resume.n_notes; i++)
        tell(r, NEAP_EVENT_NOTE, r->resume.notes[i]);
    if (r->saver.note)
        tell(r, NEAP_EVENT_NOTE, r->saver.note);
    if (report->decision)
        tell(r, NEAP_EVENT_NOTE, report->decision);
    if (report->slicing)
        tell(r, NEAP_EVENT_NOTE, report->slicing->text);
    return NULL;
}

/* Where the run stands: at the start, or where its checkpoint was made. */
static neap_error *set_position(struct run *r) {
    struct training_state *state = &r->state;
    const struct training_state *recorded = &r->resume.state;
    state->options = *r->options;
    state->made.neap = neap_version();
    state->made.threads = r->session->device->threads;
    state->made.samples = r->data.train->n_samples;
    state->made.updates = r->updates;
    state->scaler = r->session->scaler;
    if (!r->resume.checkpoint)
        return NULL;
    TRY(resume_check(&r->resume, r->options, state));
    state->position = recorded->position;
    state->best = recorded->best;
    state->scaler.scale = recorded->scaler.scale;
    state->scaler.good_updates = recorded->scaler.good_updates;
    r->event.update = state->position.update;
    r->event.update_in_epoch = state->position.update_in_epoch;
    r->event.skipped = state->position.skipped;
    r->event.lr = state->position.lr;
    return NULL;
}

static neap_error *prepare(struct run *r) {
    const struct neap_options *o = r->options;
    if (o->epochs < 1)
        return error_make(NEAP_ERROR_USAGE, "%lld epochs: there must be at least one",
                          (long long)o->epochs);
    TRY(optimizer_check_updates(o));
    TRY(run_data_open(o, true, wants_eval(o), &r->data));
    const struct source *source = r->data.train;
    tell_left_out(r, source);
    if (r->data.eval)
        tell_left_out(r, r->data.eval);
    TRY(resume_explain(&r->resume,
                       session_create(&(struct session_request){.options = o,
                                                                .channels = source->shape.channels,
                                                                .image_size = source->shape.height,
                                                                .num_classes = source->n_classes,
                                                                .data = &r->data,
                                                                .advise = !r->resume.checkpoint},
                                      &r->session)));
    o = r->options = &r->session->options; /* with numbers for what was left to us */
    TRY(run_data_check(&r->data, r->session->model));
    TRY(count_updates(r));
    TRY(set_position(r));
    TRY(engine_create(
        &(struct engine_request){.session = r->session,
                                 .train_samples = source->n_samples,
                                 .eval_samples = r->data.eval ? r->data.eval->n_samples : 0,
                                 .dry = o->dry_run},
        &r->engine));
    r->engine->scaler = r->state.scaler;
    if (!o->dry_run)
        TRY(saver_open(r->session, &r->resume, &r->saver));
    TRY(tell_decisions(r));
    r->event.report = &r->session->report;
    r->event.peak_planned_bytes = r->session->report.plan.peak_bytes;
    r->event.arena_planned_bytes = r->session->report.plan.arena_bytes;
    tell(r, NEAP_EVENT_BANNER, NULL);
    return NULL;
}

static neap_error *load(struct run *r) {
    struct store *store = r->engine->store;
    if (r->resume.checkpoint)
        return checkpoint_load(r->resume.checkpoint, store);
    return r->options->pretrained ? weights_load(store, WEIGHTS_OF_MODEL, r->options->pretrained)
                                  : NULL;
}

/* ---- saving, and ending early --------------------------------------------------------------- */

static neap_error *save(struct run *r) {
    struct training_position *at = &r->state.position;
    const char *path;
    at->update = r->event.update;
    at->update_in_epoch = r->event.update_in_epoch;
    at->lr = r->event.lr;
    at->seconds = process_seconds() - r->start_seconds;
    at->epoch_seconds = process_seconds() - r->epoch_seconds;
    TRY(saver_save(&r->saver, r->engine->store, &r->state, &path));
    if (path)
        tell(r, NEAP_EVENT_SAVED, path);
    return NULL;
}

/* Asked between two updates: the caller may want to end here. */
static neap_error *check_stop(struct run *r) {
    if (!r->observer || !r->observer->stop || !r->observer->stop(r->observer->user))
        return NULL;
    TRY(save(r));
    const char *path = r->saver.saved;
    return error_make(NEAP_INTERRUPTED, "stopped after update %lld%s%s", (long long)r->event.update,
                      path ? ", saved " : "", path ? path : "");
}

/* ---- an epoch ------------------------------------------------------------------------------- */

/* A window of `left` samples, and the update that ends it. */
static neap_error *run_window(struct run *r, int64_t left) {
    r->event.lr = lr_at(&r->schedule, r->state.position.epoch, r->event.update);
    engine_set_skipped(r->engine, r->state.position.skipped);
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

/* The epoch so far, as means over the windows that count; NaN where none does. */
static void show_means(struct run *r) {
    const struct training_position *at = &r->state.position;
    r->event.images = at->samples;
    r->event.train_loss = at->loss / (double)at->counted;
    r->event.train_top1 = 100 * at->top1 / (double)at->counted;
    r->event.skipped = at->skipped;
    r->event.loss_scale = r->state.scaler.scale;
    r->event.seconds = process_seconds() - r->start_seconds;
    r->event.images_per_second = (double)at->samples / (process_seconds() - r->epoch_seconds);
    r->event.data_seconds += loader_take_seconds(r->data.train_loader);
}

/* The loss after a window, or the gradients where they are looked at, are not finite. */
static neap_error *refuse_loss(const struct run *r, double loss) {
    const char *saved = r->saver.saved;
    return error_make(
        NEAP_ERROR_DIVERGED,
        "the loss is %g at update %lld (learning rate %g): a smaller learning rate or "
        "a warm-up may help; '--on-nan skip' leaves single updates out%s%s",
        loss, (long long)r->event.update, r->event.lr, saved ? "; the newest checkpoint is " : "",
        saved ? saved : "");
}

static neap_error *count_skip(struct run *r, double loss) {
    enum { MOST_IN_A_ROW = 20 };
    const struct loss_scaler *scaler = &r->engine->scaler;
    struct training_position *at = &r->state.position;
    char text[160];
    at->skipped++;
    at->skipped_in_a_row++;
    int length = snprintf(text, sizeof text, "update %lld is left out: %s not finite (loss %g)",
                          (long long)r->event.update + 1,
                          isfinite(loss) ? "a gradient is" : "its loss is", loss);
    if (scaler->scale != r->state.scaler.scale)
        snprintf(text + length, sizeof text - (size_t)length, ", the loss scale goes to %g",
                 scaler->scale);
    tell(r, NEAP_EVENT_NOTE, text);
    bool scale_helps = scaler->dynamic && isfinite(loss);
    if (scale_helps || at->skipped_in_a_row < MOST_IN_A_ROW)
        return NULL;
    return error_make(NEAP_ERROR_DIVERGED,
                      "%d updates in a row were left out, the last was %lld (learning rate %g): "
                      "their losses or gradients are not finite, and the weights stay as they are; "
                      "a smaller learning rate or a warm-up may help",
                      MOST_IN_A_ROW, (long long)r->event.update + 1, r->event.lr);
}

static neap_error *count_window(struct run *r, int64_t count) {
    struct engine_metrics now = engine_take_metrics(r->engine);
    struct training_position *at = &r->state.position;
    neap_error *error = NULL;
    at->samples += count;
    r->event.update_loss = now.loss / (double)count;
    if (r->engine->skipped && (isfinite(now.loss) || r->options->on_nan == NEAP_NAN_SKIP)) {
        error = count_skip(r, now.loss);
    } else {
        at->counted += count;
        at->loss += now.loss;
        at->top1 += now.top1;
        at->skipped_in_a_row = 0;
        error = isfinite(now.loss) ? NULL : refuse_loss(r, now.loss);
    }
    r->state.scaler = r->engine->scaler;
    show_means(r);
    return error;
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
    return saver_best(&r->saver, &r->event, r->engine->store, &r->state.best);
}

/* After the epoch's last update, or the run's. */
static neap_error *end_epoch(struct run *r) {
    struct training_position *at = &r->state.position;
    bool whole = at->samples == r->data.train->n_samples;
    show_means(r);
    r->event.seconds = process_seconds() - r->epoch_seconds;
    measure(r);
    tell(r, NEAP_EVENT_EPOCH, NULL);
    double seconds = r->event.seconds;
    r->event.eval_loss = r->event.eval_top1 = r->event.eval_top5 = NAN;
    TRY(evaluate(r));
    r->event.seconds = seconds;
    TRY(saver_row(&r->saver, &r->event, whole, at));
    if (!whole) /* should the run be made longer, the epoch goes on from here */
        return NULL;
    *at = (struct training_position){.epoch = at->epoch + 1,
                                     .skipped = at->skipped,
                                     .skipped_in_a_row = at->skipped_in_a_row,
                                     .metrics_bytes = at->metrics_bytes};
    r->event.update_in_epoch = 0;
    r->epoch_seconds = process_seconds();
    return saver_due(&r->saver, r->event.update, true) ? save(r) : NULL;
}

/* From where the run stands to the end of the epoch. */
static neap_error *train_epoch(struct run *r) {
    struct training_position *at = &r->state.position;
    const int64_t n_samples = r->data.train->n_samples;
    r->event.epoch = at->epoch + 1;
    r->event.data_seconds = 0;
    r->event.updates_per_epoch =
        calendar_updates(&r->calendar, at->epoch, r->event.update - r->event.update_in_epoch);
    TRY(loader_seek(r->data.train_loader, at->epoch, at->samples));
    while (at->samples < n_samples && r->event.update < r->updates) {
        int64_t count = calendar_window(&r->calendar, at->epoch, r->event.update, at->samples);
        TRY(run_window(r, count));
        TRY(count_window(r, count));
        r->event.update++;
        r->event.update_in_epoch++;
        if (r->event.update % log_interval(r) == 0)
            tell(r, NEAP_EVENT_UPDATE, NULL);
        if (at->samples < n_samples && saver_due(&r->saver, r->event.update, false))
            TRY(save(r));
        TRY(check_stop(r));
    }
    return end_epoch(r);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool is_over(const struct run *r) {
    return r->state.position.epoch >= r->options->epochs || r->event.update >= r->updates;
}

static neap_error *train(struct run *r) {
    /* An epoch that was stopped after its last update still has its end before it. */
    bool over = is_over(r) && r->state.position.samples == 0;
    r->start_seconds = process_seconds() - r->state.position.seconds;
    r->epoch_seconds = process_seconds() - r->state.position.epoch_seconds;
    for (; !over; over = is_over(r)) {
        TRY(check_stop(r));
        TRY(train_epoch(r));
    }
    TRY(save(r));
    r->event.seconds = process_seconds() - r->start_seconds;
    measure(r);
    tell(r, NEAP_EVENT_DONE, NULL);
    return saver_check(&r->saver);
}

static neap_error *run_all(struct run *r, struct neap_options *options) {
    TRY(resume_open(options, &r->resume));
    r->options = options;
    TRY(prepare(r));
    if (r->options->dry_run)
        return NULL;
    TRY(load(r));
    TRY(run_data_start(&r->data, r->options));
    return train(r);
}

neap_error *neap_train(const struct neap_options *options, const struct neap_observer *observer) {
    struct run r = {.observer = observer};
    struct neap_options own = *options; /* with what a checkpoint decides */
    r.event.eval_loss = r.event.eval_top1 = r.event.eval_top5 = NAN;
    neap_error *error = run_all(&r, &own);
    saver_close(&r.saver);
    run_data_close(&r.data);
    engine_free(r.engine);
    neap_plan_free(r.session);
    resume_close(&r.resume);
    return error;
}
