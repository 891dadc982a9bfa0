/* Which checkpoint to go on from: see resume.h. */
#include "train/resume.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "train/lr.h"
#include "train/options.h"
#include "train/recorded.h"
#include "train/run_folder.h"

enum { MOST_NOTES = 64 };

static neap_error *add_note(struct resume *resume, const char *format, ...) PRINTF_LIKE(2, 3);

static neap_error *add_note(struct resume *resume, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!resume->notes)
        TRY(pool_alloc(&resume->pool, MOST_NOTES, sizeof *resume->notes, &resume->notes));
    if (resume->n_notes == MOST_NOTES)
        return NULL;
    return pool_string(&resume->pool, text, &resume->notes[resume->n_notes++]);
}

/* ---- which ---------------------------------------------------------------------------------- */

/* The newest checkpoint of the run that is whole; resume->checkpoint stays NULL where none is. */
static neap_error *find_newest(const char *run, struct resume *resume) {
    struct run_checkpoints checkpoints;
    TRY(run_folder_list(run, &resume->pool, &checkpoints));
    for (size_t i = checkpoints.n; i-- > 0;) {
        const char *path = checkpoints.at[i].path;
        neap_error *torn = checkpoint_read(path, &resume->pool, &resume->state);
        if (!torn) {
            resume->checkpoint = path;
            return pool_string(&resume->pool, run, &resume->run);
        }
        neap_error *error =
            neap_error_code(torn) == NEAP_ERROR_DATA
                ? add_note(resume, "'%s' is torn and skipped: %s", path, neap_error_message(torn))
                : torn;
        if (error != torn)
            neap_error_free(torn);
        TRY(error);
    }
    return NULL;
}

static neap_error *find_auto(const struct neap_options *options, struct resume *resume) {
    if (!options->output)
        return error_make(NEAP_ERROR_USAGE,
                          "'--resume auto' looks in the run's folder: name it with '-o DIR'");
    TRY(find_newest(options->output, resume));
    return resume->checkpoint
               ? NULL
               : add_note(resume, "no checkpoint in '%s' to go on from: starting anew",
                          options->output);
}

/* Newer ones that are whole would be what `auto` takes next time. */
static neap_error *check_newest(const struct neap_options *options, const struct resume *resume) {
    struct resume newest = {0};
    if (options->output && !folder_same(options->output, resume->run))
        return NULL;
    neap_error *error = find_newest(resume->run, &newest);
    if (!error && newest.checkpoint && newest.state.position.update > resume->state.position.update)
        error = error_make(NEAP_ERROR_USAGE,
                           "'%s' is newer than '%s': go on from that, remove it, or write to "
                           "another folder with '-o DIR'",
                           newest.checkpoint, resume->checkpoint);
    resume_close(&newest);
    return error;
}

static neap_error *find_checkpoint(const struct neap_options *options, const char *path,
                                   struct resume *resume) {
    TRY(pool_string(&resume->pool, path, &resume->checkpoint));
    char *slash = strrchr(resume->checkpoint, '/');
    TRY(pool_format(&resume->pool, &resume->run, "%.*s", (int)(slash - resume->checkpoint),
                    resume->checkpoint));
    TRY(error_prefix(checkpoint_read(path, &resume->pool, &resume->state), "cannot resume '%s'",
                     path));
    return check_newest(options, resume);
}

static neap_error *find_named(const struct neap_options *options, struct resume *resume) {
    char path[PATH_MAX];
    const char *state;
    if (!file_is_directory(options->resume))
        return error_make(NEAP_ERROR_DATA, "cannot resume '%s': there is no such folder",
                          options->resume);
    TRY(pool_format(&resume->pool, &state, "%s/state.json", options->resume));
    if (file_exists(state) && realpath(options->resume, path))
        return find_checkpoint(options, path, resume);
    TRY(find_newest(options->resume, resume));
    return resume->checkpoint
               ? NULL
               : error_make(NEAP_ERROR_DATA,
                            "cannot resume '%s': there is no checkpoint in it that is whole",
                            options->resume);
}

/* ---- what it holds the run to --------------------------------------------------------------- */

/* Without a folder of its own the run goes on in the one it began in. */
static neap_error *choose_output(struct neap_options *options, struct resume *resume) {
    const char *metrics;
    if (options->output)
        return NULL;
    TRY(pool_format(&resume->pool, &metrics, "%s/metrics.csv", resume->run));
    if (!file_exists(metrics))
        return error_make(NEAP_ERROR_USAGE,
                          "'%s' does not lie in a run's folder: name one to write to with '-o DIR'",
                          resume->checkpoint);
    options->output = resume->run;
    return NULL;
}

static neap_error *apply(struct neap_options *options, struct resume *resume) {
    const struct neap_options *recorded = &resume->state.options;
    const struct training_position *at = &resume->state.position;
    recorded_keep(options, recorded);
    TRY(options_complete(options, &resume->pool));
    TRY(recorded_compare(options, recorded, resume->checkpoint));
    TRY(choose_output(options, resume));
    return add_note(resume, "resumed from '%s': update %lld, after %lld epochs and %lld samples",
                    resume->checkpoint, (long long)at->update, (long long)at->epoch,
                    (long long)at->samples);
}

static neap_error *find(const struct neap_options *options, struct resume *out) {
    *out = (struct resume){0};
    if (!options->resume)
        return NULL;
    return strcmp(options->resume, "auto") ? find_named(options, out) : find_auto(options, out);
}

neap_error *resume_open(struct neap_options *options, struct resume *out) {
    TRY(find(options, out));
    return out->checkpoint ? apply(options, out) : NULL;
}

neap_error *neap_resume_folder(const struct neap_options *options, char **out) {
    struct resume resume;
    *out = NULL;
    neap_error *error = find(options, &resume);
    if (!error && resume.run)
        error = memory_string(resume.run, out);
    resume_close(&resume);
    return error;
}

/* ---- what is known later -------------------------------------------------------------------- */

static neap_error *check_length(const struct resume *resume, const struct neap_options *options) {
    const struct training_position *at = &resume->state.position;
    int64_t epochs = at->epoch + (at->samples > 0);
    if (epochs > options->epochs)
        return error_make(NEAP_ERROR_USAGE, "--epochs is %lld, '%s' has begun epoch %lld",
                          (long long)options->epochs, resume->checkpoint, (long long)epochs);
    if (options->max_updates && options->max_updates < at->update)
        return error_make(NEAP_ERROR_USAGE, "--max-updates is %lld, '%s' has had %lld",
                          (long long)options->max_updates, resume->checkpoint,
                          (long long)at->update);
    return NULL;
}

neap_error *resume_check(struct resume *resume, const struct neap_options *options,
                         const struct training_state *now) {
    const struct training_state *before = &resume->state;
    TRY(check_length(resume, options));
    if (now->made.samples != before->made.samples)
        return error_make(NEAP_ERROR_DATA, "'%s' has %lld training samples, recorded %lld",
                          options->data, (long long)now->made.samples,
                          (long long)before->made.samples);
    if (now->made.threads != before->made.threads)
        TRY(add_note(resume,
                     "%d threads, recorded %d: sums may be rounded otherwise than in a run "
                     "that was not interrupted ('--threads %d' keeps them)",
                     now->made.threads, before->made.threads, before->made.threads));
    if (before->made.neap && strcmp(now->made.neap, before->made.neap))
        TRY(add_note(resume, "this is %s, the checkpoint was made by %s", now->made.neap,
                     before->made.neap));
    if (now->made.updates != before->made.updates && lr_looks_at_the_end(options))
        TRY(add_note(resume,
                     "%lld updates in all, recorded %lld: the schedule '%s' goes on as if "
                     "it had been %lld from the start",
                     (long long)now->made.updates, (long long)before->made.updates,
                     options->schedule, (long long)now->made.updates));
    return NULL;
}

neap_error *resume_explain(const struct resume *resume, neap_error *error) {
    const struct neap_options *kept = &resume->state.options;
    if (!resume->checkpoint || neap_error_code(error) != NEAP_ERROR_BUDGET)
        return error;
    return error_prefix(error, "'%s' goes on with its batch of %lld in slices of %lld only",
                        resume->checkpoint, (long long)kept->batch,
                        (long long)(kept->micro_batch ? kept->micro_batch : kept->batch));
}

void resume_close(struct resume *resume) {
    pool_free(&resume->pool);
    *resume = (struct resume){0};
}
