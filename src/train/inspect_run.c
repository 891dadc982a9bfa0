/* Checkpoints for people: see inspect_run.h. */
#include "train/inspect_run.h"

#include <string.h>

#include "base/digits.h"
#include "train/run_folder.h"

static void print_best(const struct training_best *best, FILE *file) {
    if (best->update > 0)
        fprintf(file, "  best.safetensors: update %lld, loss %g, top1 %g%%\n",
                (long long)best->update, best->loss, best->top1);
}

static neap_error *print_checkpoint(const struct run_checkpoint *checkpoint, struct pool *pool,
                                    struct training_best *best, FILE *file) {
    struct training_state state;
    fprintf(file, "  %s: ", strrchr(checkpoint->path, '/') + 1);
    neap_error *torn = checkpoint_read(checkpoint->path, pool, &state);
    if (!torn) {
        *best = state.best;
        fprintf(file, "update %lld, epoch %lld, whole\n", (long long)state.position.update,
                (long long)state.position.epoch);
        return NULL;
    }
    if (neap_error_code(torn) != NEAP_ERROR_DATA)
        return torn;
    fprintf(file, "torn: %s\n", neap_error_message(torn));
    neap_error_free(torn);
    return NULL;
}

neap_error *inspect_checkpoints(const char *run, FILE *file) {
    struct pool pool = {0};
    struct run_checkpoints checkpoints;
    struct training_best best = {0};
    neap_error *error = run_folder_list(run, &pool, &checkpoints);
    if (!error && checkpoints.n > 0)
        fputs("checkpoints:\n", file);
    for (size_t i = 0; !error && i < checkpoints.n; i++)
        error = print_checkpoint(&checkpoints.at[i], &pool, &best, file);
    if (!error)
        print_best(&best, file);
    pool_free(&pool);
    return error;
}

neap_error *inspect_checkpoint(const char *path, FILE *file) {
    struct pool pool = {0};
    struct training_state state;
    const struct training_position *at = &state.position;
    neap_error *error = checkpoint_read(path, &pool, &state);
    if (!error) {
        fprintf(file, "%s: a checkpoint\n  model: %s\n  batch: %lld\n  update: %lld\n", path,
                state.options.model ? state.options.model : "a graph",
                (long long)state.options.batch, (long long)at->update);
        fprintf(file, "  epochs: %lld, and %lld samples of %s\n  weights: %s bytes\n",
                (long long)at->epoch, (long long)at->samples, digits_of(state.made.samples).text,
                digits_of(state.model.size_bytes).text);
        fprintf(file, "  moments: %s bytes\n  threads: %d\n",
                digits_of(state.optimizer.size_bytes).text, state.made.threads);
        print_best(&state.best, file);
    }
    pool_free(&pool);
    return error;
}
