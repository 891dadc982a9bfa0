/* `neap train`: shows the events of a run, as lines for people or as JSON lines, and turns signals
 * into a clean end after the current update. */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t signal_received;

static void on_signal(int number) {
    signal_received = number;
}

/* Once each: a second signal ends the process as usual. SIGUSR1 is what batch systems send some
 * time before they kill. */
static void catch_signals(void) {
    static const int caught[] = {SIGINT, SIGTERM, SIGUSR1};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaction(caught[i], &action, NULL);
}

struct run {
    const struct settings *settings;
    struct progress progress;
    int failed;         /* exit code of what went wrong on this side, 0 for nothing */
    bool epoch_pending; /* an epoch's line waits for its evaluation */
    struct neap_event epoch;
};

/* ---- for people ----------------------------------------------------------------------------- */

static void end_epoch(struct run *run, const struct neap_event *eval) {
    if (!run->epoch_pending)
        return;
    run->epoch_pending = false;
    const struct neap_event *epoch = &run->epoch;
    printf("epoch %lld/%lld  loss %.4f  top1 %.2f%%", (long long)epoch->epoch,
           (long long)epoch->epochs, epoch->train_loss, epoch->train_top1);
    if (eval)
        printf("  val loss %.4f  top1 %.2f%%  top5 %.2f%%", eval->eval_loss, eval->eval_top1,
               eval->eval_top5);
    printf("  lr %.4g  %.0f images/s  %s (%.1f %% waiting for data)\n", epoch->lr,
           epoch->images_per_second, seconds_text(epoch->seconds).s,
           100 * epoch->data_seconds / epoch->seconds);
}

static void print_banner(struct run *run, const struct neap_event *event) {
    const struct neap_plan_report *report = event->report;
    const struct settings *settings = run->settings;
    if (report && settings->run.dry_run) /* the plan is the result */
        summary_table(stdout, report);
    if (settings->quiet || settings->run.dry_run || !report)
        return;
    long long batch = report->batch,
              steps = report->grad_accum_steps > 0 ? report->grad_accum_steps : 1;
    fprintf(stderr, "%s, %s parameters, %s, %s on %s\n", report->model,
            count_text(report->parameters).s, report->precision, report->optimizer, report->device);
    bool varies = settings->run.grad_accum_steps && strchr(settings->run.grad_accum_steps, ':');
    fprintf(stderr, "batch %lld x accumulation %s%lld = %lld samples an update", batch,
            varies ? "of at most " : "", steps, batch * steps);
    if (report->micro_batches > 1)
        fprintf(stderr, ", run in slices of %lld", (long long)report->micro_batch);
    fprintf(stderr, "\npeak %s, arena %s (store-all: %s, %s)",
            bytes_text(report->plan.peak_bytes).s, bytes_text(report->plan.arena_bytes).s,
            bytes_text(report->store_all.peak_bytes).s,
            bytes_text(report->store_all.arena_bytes).s);
    if (report->budget_bytes > 0)
        fprintf(stderr, "; budget %s of %s", exact_bytes_text(report->budget_bytes).s,
                report->budget_is_arena ? "arena" : "peak");
    fprintf(stderr, "\nstrategy %s, %s ops recomputed, %s time\n", report->strategy,
            count_text(report->recomputed_ops).s, percent_text(report->overhead).s);
    if (report->update)
        fprintf(stderr, "update %s\n", report->update);
    if (settings->verbose) {
        putc('\n', stderr);
        summary_table(stderr, report);
    }
}

static void print_note(struct run *run, const struct neap_event *event) {
    if (!run->settings->quiet && event->text)
        note("%s", event->text);
}

static void print_update(struct run *run, const struct neap_event *event) {
    progress_show(&run->progress, event);
}

static void print_epoch(struct run *run, const struct neap_event *event) {
    run->epoch = *event;
    run->epoch_pending = true;
}

static void print_eval(struct run *run, const struct neap_event *event) {
    if (run->epoch_pending)
        end_epoch(run, event);
    else
        printf("eval  loss %.4f  top1 %.2f%%  top5 %.2f%%\n", event->eval_loss, event->eval_top1,
               event->eval_top5);
}

static void print_saved(struct run *run, const struct neap_event *event) {
    if (!run->settings->quiet && event->text)
        note("saved %s", event->text);
}

static void print_done(struct run *run, const struct neap_event *event) {
    (void)run;
    printf("done: %s updates in %s; peak planned %s, measured %s; rss %s\n",
           count_text(event->update).s, seconds_text(event->seconds).s,
           bytes_text(event->peak_planned_bytes).s, bytes_text(event->peak_measured_bytes).s,
           bytes_text(event->rss_bytes).s);
}

/* ---- for programs --------------------------------------------------------------------------- */

static void banner_json(struct emit *out, const struct neap_event *event) {
    if (event->report)
        summary_json(out, event->report);
}

static void progress_json(struct emit *out, const struct neap_event *event) {
    emit_integer(out, "epoch", event->epoch);
    emit_integer(out, "update", event->update);
    emit_real(out, "train_loss", event->train_loss);
    emit_real(out, "train_top1", event->train_top1);
    emit_real(out, "lr", event->lr);
    if (event->gradient_norm > 0)
        emit_real(out, "gradient_norm", event->gradient_norm);
    emit_integer(out, "skipped", event->skipped);
    emit_real(out, "loss_scale", event->loss_scale);
    emit_real(out, "seconds", event->seconds);
    emit_real(out, "images_per_second", event->images_per_second);
}

static void update_json(struct emit *out, const struct neap_event *event) {
    progress_json(out, event);
    emit_real(out, "update_loss", event->update_loss);
}

static void epoch_json(struct emit *out, const struct neap_event *event) {
    progress_json(out, event);
    emit_real(out, "data_seconds", event->data_seconds);
    emit_integer(out, "arena_bytes", event->arena_measured_bytes);
    emit_integer(out, "rss_bytes", event->rss_bytes);
}

static void eval_json(struct emit *out, const struct neap_event *event) {
    emit_integer(out, "epoch", event->epoch);
    emit_integer(out, "update", event->update);
    emit_real(out, "loss", event->eval_loss);
    emit_real(out, "top1", event->eval_top1);
    emit_real(out, "top5", event->eval_top5);
    emit_integer(out, "images", event->images);
}

static void saved_json(struct emit *out, const struct neap_event *event) {
    emit_string(out, "path", event->text);
}

static void done_json(struct emit *out, const struct neap_event *event) {
    emit_integer(out, "peak_planned_bytes", event->peak_planned_bytes);
    emit_integer(out, "peak_measured_bytes", event->peak_measured_bytes);
    emit_integer(out, "arena_planned_bytes", event->arena_planned_bytes);
    emit_integer(out, "arena_measured_bytes", event->arena_measured_bytes);
    emit_integer(out, "rss_bytes", event->rss_bytes);
    emit_integer(out, "updates", event->update);
    emit_real(out, "seconds", event->seconds);
}

/* ---- the run's record ----------------------------------------------------------------------- */

/* With the batch and the slices that were found, so that a run from it has the same. */
static int write_arguments(const struct settings *settings, const struct neap_plan_report *report) {
    struct settings found = *settings;
    found.run.batch = report->batch;
    if (found.run.micro_batch == NEAP_MICRO_BATCH_AUTO)
        found.run.micro_batch = report->micro_batches > 1 ? report->micro_batch : 0;
    return config_write(&found, settings->run.output);
}

/* ---- events --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*print)(struct run *run, const struct neap_event *event);
    void (*json)(struct emit *out, const struct neap_event *event); /* NULL: on stderr as text */
} events[] = {
    [NEAP_EVENT_BANNER] = {"banner", print_banner, banner_json},
    [NEAP_EVENT_NOTE] = {"note", print_note, NULL},
    [NEAP_EVENT_UPDATE] = {"update", print_update, update_json},
    [NEAP_EVENT_EPOCH] = {"epoch", print_epoch, epoch_json},
    [NEAP_EVENT_EVAL] = {"eval", print_eval, eval_json},
    [NEAP_EVENT_SAVED] = {"saved", print_saved, saved_json},
    [NEAP_EVENT_DONE] = {"done", print_done, done_json},
};

static void show_json(struct run *run, const struct neap_event *event) {
    struct emit out = {.file = stdout, .lines = true};
    emit_open(&out, NULL, '{');
    emit_string(&out, "event", events[event->kind].name);
    events[event->kind].json(&out, event);
    emit_close(&out, '}');
    if (event->kind == NEAP_EVENT_UPDATE)
        progress_show(&run->progress, event);
}

static void on_event(void *user, const struct neap_event *event) {
    struct run *run = user;
    const struct settings *settings = run->settings;
    if (event->kind != NEAP_EVENT_UPDATE)
        progress_clear(&run->progress);
    if (event->kind != NEAP_EVENT_EVAL)
        end_epoch(run, NULL);
    /* The folder is there from the banner on; a dry run leaves nothing behind. */
    bool records = settings->run.output && !settings->run.dry_run;
    if (event->kind == NEAP_EVENT_BANNER && records)
        run->failed = write_arguments(settings, event->report);
    if (settings->json && events[event->kind].json)
        show_json(run, event);
    else
        events[event->kind].print(run, event);
    if (!run->failed)
        run->failed = output_flush();
}

/* A result that cannot be written ends the run too, rather than training for nobody. */
static bool stop(void *user) {
    const struct run *run = user;
    return signal_received || run->failed;
}

int command_train(struct settings *settings) {
    struct run run = {.settings = settings};
    struct neap_observer observer = {on_event, stop, &run};
    progress_start(&run.progress, settings);
    catch_signals();
    neap_error *error = neap_train(&settings->run, &observer);
    progress_clear(&run.progress);
    end_epoch(&run, NULL);
    if (run.failed) { /* it was told, and what came of it need not be */
        neap_error_free(error);
        return run.failed;
    }
    if (neap_error_code(error) != NEAP_INTERRUPTED)
        return fail_with(error);
    note("%s", neap_error_message(error));
    neap_error_free(error);
    return 128 + signal_received;
}
