/* A run's folder over time: see saver.h. */
#include "train/saver.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/folder.h"
#include "train/weights.h"

enum { DEFAULT_KEEP = 3, DEFAULT_LOG_INTERVAL = 50 };

/* ---- opening -------------------------------------------------------------------------------- */

/* The first `most_bytes` of a file of the run that is gone on from; one that it has not is fine. */
static neap_error *copy_file(const char *from, const char *to, int64_t most_bytes) {
    struct file_map map;
    struct file_writer *writer;
    if (!file_exists(from))
        return NULL;
    TRY(file_map_open(from, NEAP_ERROR_DATA, &map));
    neap_error *error = file_writer_open(to, &writer);
    if (!error) {
        int64_t bytes = map.size_bytes < most_bytes ? map.size_bytes : most_bytes;
        fwrite(map.data, 1, (size_t)bytes, file_writer_stream(writer));
        error = file_writer_commit(writer);
    }
    file_map_close(&map);
    return error;
}

/* Rows and best weights of a run that goes on in another folder. */
static neap_error *bring_along(const struct resume *resume, const char *folder, struct pool *pool) {
    const struct {
        const char *name;
        int64_t most_bytes;
    } files[] = {{"metrics.csv", resume->state.position.metrics_bytes},
                 {"best.safetensors", INT64_MAX}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *from, *to;
        TRY(pool_format(pool, &from, "%s/%s", resume->run, files[i].name));
        TRY(pool_format(pool, &to, "%s/%s", folder, files[i].name));
        TRY(copy_file(from, to, files[i].most_bytes));
    }
    return NULL;
}

static neap_error *put_aside(struct saver *s) {
    char *moved;
    TRY(run_folder_put_aside(&s->folder, &moved));
    neap_error *error = moved ? memory_format(&s->note, "the run that was in '%s' is now in '%s'",
                                              s->folder.path, moved)
                              : NULL;
    free(moved);
    return error;
}

static neap_error *open_files(struct saver *s, const struct neap_plan *session,
                              const struct resume *resume, struct pool *pool) {
    const struct neap_options *o = &session->options;
    const char *folder = s->folder.path, *plan, *metrics, *log;
    bool goes_on = resume->run && folder_same(resume->run, folder);
    if (!goes_on)
        TRY(put_aside(s));
    if (!goes_on && resume->run)
        TRY(bring_along(resume, folder, pool));
    if (goes_on) {
        s->saved_update = resume->state.position.update;
        TRY(memory_string(resume->checkpoint, &s->saved));
    }
    TRY(pool_format(pool, &plan, "%s/plan.json", folder));
    TRY(pool_format(pool, &metrics, "%s/metrics.csv", folder));
    TRY(pool_format(pool, &log, "%s/log.txt", folder));
    TRY(neap_plan_save(session, plan));
    TRY(metrics_open(metrics, resume->run ? resume->state.position.metrics_bytes : 0, &s->metrics));
    TRY(log_open(log, o->log_interval ? o->log_interval : DEFAULT_LOG_INTERVAL, &s->log));
    return o->tensorboard ? tfevents_open(folder, resume->state.position.update,
                                          o->log_interval ? o->log_interval : 1, &s->events)
                          : NULL;
}

neap_error *saver_open(const struct neap_plan *session, const struct resume *resume,
                       struct saver *out) {
    const struct neap_options *o = &session->options;
    *out = (struct saver){
        .saved_update = -1, .interval = o->save_interval, .keep = o->keep ? o->keep : DEFAULT_KEEP};
    if (!o->output && (o->save_interval || o->keep || o->tensorboard))
        return error_make(NEAP_ERROR_USAGE, "'--%s' needs a folder to save to: '-o DIR'",
                          o->keep            ? "keep"
                          : o->save_interval ? "save-interval"
                                             : "tensorboard");
    if (!o->output)
        return NULL;
    struct pool pool = {0};
    neap_error *error = run_folder_open(o->output, &out->folder);
    if (!error)
        error = open_files(out, session, resume, &pool);
    pool_free(&pool);
    return error;
}

void saver_close(struct saver *s) {
    metrics_close(s->metrics);
    log_close(s->log);
    tfevents_close(s->events);
    free(s->saved);
    free(s->note);
    run_folder_close(&s->folder);
    *s = (struct saver){0};
}

/* ---- while the run goes on ------------------------------------------------------------------ */

void saver_log(struct saver *s, const struct neap_event *event) {
    if (s->log)
        log_event(s->log, event);
    if (s->events)
        tfevents_add(s->events, event);
}

neap_error *saver_check(const struct saver *s) {
    TRY(log_check(s->log));
    return tfevents_check(s->events);
}

neap_error *saver_row(struct saver *s, const struct neap_event *event, bool whole,
                      struct training_position *position) {
    int64_t size_bytes;
    if (!s->folder.path)
        return NULL;
    TRY(metrics_row(s->metrics, event));
    TRY(metrics_sync(s->metrics, &size_bytes));
    if (whole)
        position->metrics_bytes = size_bytes;
    return NULL;
}

neap_error *saver_best(struct saver *s, const struct neap_event *eval, const struct store *store,
                       struct training_best *best) {
    bool better = best->update == 0 || eval->eval_top1 > best->top1 ||
                  (eval->eval_top1 == best->top1 && eval->eval_loss < best->loss);
    char *path;
    if (!s->folder.path || !better)
        return NULL;
    TRY(memory_format(&path, "%s/best.safetensors", s->folder.path));
    neap_error *error = weights_save(store, WEIGHTS_OF_MODEL, path);
    free(path);
    if (!error)
        *best = (struct training_best){eval->update, eval->eval_loss, eval->eval_top1};
    return error;
}

bool saver_due(const struct saver *s, int64_t update, bool epoch_ended) {
    return s->interval ? update % s->interval == 0 : epoch_ended;
}

neap_error *saver_save(struct saver *s, const struct store *store, struct training_state *state,
                       const char **path) {
    *path = NULL;
    if (!s->folder.path)
        return NULL;
    TRY(saver_check(s));
    if (s->saved_update == state->position.update)
        return NULL;
    char *saved;
    TRY(run_folder_save(&s->folder, store, state, s->keep, &saved));
    free(s->saved);
    *path = s->saved = saved;
    s->saved_update = state->position.update;
    return NULL;
}
