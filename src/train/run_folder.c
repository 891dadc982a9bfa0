/* A run's folder: see run_folder.h. */
#include "train/run_folder.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"

static const char checkpoint_stem[] = "checkpoint-";

/* Names that a run writes; behind a dash or a dot they go on. */
static const char *const names_of_run[] = {
    "args.json",        "plan.json", "log.txt",       "metrics.csv",          "last",
    "best.safetensors", "neap",      checkpoint_stem, "events.out.tfevents.",
};

/* Also while they are being written: "plan.json.tmp-71-0". */
static bool is_ours(const char *name) {
    for (size_t i = 0; i < sizeof names_of_run / sizeof *names_of_run; i++) {
        size_t length = strlen(names_of_run[i]);
        char end = names_of_run[i][length - 1];
        const char *rest = name + length;
        if (!strncmp(name, names_of_run[i], length) &&
            (end == '-' || end == '.' || !*rest || !strncmp(rest, ".tmp", 4)))
            return true;
    }
    return false;
}

/* ---- checkpoints by name -------------------------------------------------------------------- */

/* -1: the name is not one of a checkpoint. */
static int64_t update_of(const char *name) {
    const char *digits = name + strlen(checkpoint_stem);
    if (strncmp(name, checkpoint_stem, strlen(checkpoint_stem)) || !isdigit((unsigned char)*digits))
        return -1;
    char *end;
    errno = 0;
    int64_t update = strtoll(digits, &end, 10);
    return *end || errno ? -1 : update;
}

static int compare_updates(const void *a_, const void *b_) {
    const struct run_checkpoint *a = a_, *b = b_;
    return (a->update > b->update) - (a->update < b->update);
}

neap_error *run_folder_list(const char *path, struct pool *pool, struct run_checkpoints *out) {
    struct folder_names names;
    *out = (struct run_checkpoints){0};
    if (!file_exists(path))
        return NULL;
    TRY(folder_read(path, pool, &names));
    TRY(pool_alloc(pool, names.n, sizeof *out->at, &out->at));
    for (size_t i = 0; i < names.n; i++) {
        struct run_checkpoint *checkpoint = &out->at[out->n];
        checkpoint->update = update_of(names.at[i]);
        if (checkpoint->update < 0)
            continue;
        TRY(pool_format(pool, &checkpoint->path, "%s/%s", path, names.at[i]));
        out->n++;
    }
    if (out->n > 0)
        qsort(out->at, out->n, sizeof *out->at, compare_updates);
    return NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

static neap_error *sweep(const char *path, struct pool *pool) {
    struct folder_names names;
    TRY(folder_read(path, pool, &names));
    for (size_t i = 0; i < names.n; i++) {
        const char *temporary = strstr(names.at[i], ".tmp"), *whole;
        if (!temporary || !is_ours(names.at[i]))
            continue;
        TRY(pool_format(pool, &whole, "%s/%s", path, names.at[i]));
        TRY(folder_remove(whole));
    }
    return NULL;
}

neap_error *run_folder_open(const char *path, struct run_folder *out) {
    struct pool pool = {0};
    *out = (struct run_folder){.path = path, .lock = -1};
    TRY(file_make_directory(path));
    TRY(file_check_writable(path));
    TRY(folder_lock(path, &out->lock));
    neap_error *error = sweep(path, &pool);
    pool_free(&pool);
    return error;
}

void run_folder_close(struct run_folder *folder) {
    if (folder->path && folder->lock >= 0)
        close(folder->lock);
    *folder = (struct run_folder){0};
}

/* The first "earlier-N" that is not there yet. */
static neap_error *earlier_path(const char *path, char **out) {
    for (int i = 1;; i++) {
        TRY(memory_format(out, "%s/earlier-%d", path, i));
        if (!file_exists(*out))
            return NULL;
        free(*out);
        *out = NULL;
    }
}

static neap_error *move_all(const char *path, const char *into, struct pool *pool) {
    struct folder_names names;
    TRY(folder_read(path, pool, &names));
    for (size_t i = 0; i < names.n; i++) {
        const char *from, *to;
        if (!is_ours(names.at[i]))
            continue;
        TRY(pool_format(pool, &from, "%s/%s", path, names.at[i]));
        TRY(pool_format(pool, &to, "%s/%s", into, names.at[i]));
        TRY(folder_rename(from, to));
    }
    return NULL;
}

neap_error *run_folder_put_aside(const struct run_folder *folder, char **moved) {
    struct pool pool = {0};
    struct run_checkpoints checkpoints;
    *moved = NULL;
    neap_error *error = run_folder_list(folder->path, &pool, &checkpoints);
    if (!error && checkpoints.n > 0) {
        TRY_GOTO(earlier_path(folder->path, moved));
        TRY_GOTO(file_make_directory(*moved));
        TRY_GOTO(move_all(folder->path, *moved, &pool));
    }
done:
    pool_free(&pool);
    if (error) {
        free(*moved);
        *moved = NULL;
    }
    return error;
}

/* ---- saving --------------------------------------------------------------------------------- */

/* Names inside the folder while a checkpoint is being saved, from the pool. */
struct names {
    const char *written, *named, *removed, *last, *link, *target;
};

static neap_error *make_names(const char *path, int64_t update, struct pool *pool,
                              struct names *out) {
    TRY(pool_format(pool, &out->target, "%s%lld", checkpoint_stem, (long long)update));
    TRY(pool_format(pool, &out->named, "%s/%s", path, out->target));
    TRY(pool_format(pool, &out->written, "%s/%swritten.tmp", path, checkpoint_stem));
    TRY(pool_format(pool, &out->removed, "%s/%sremoved.tmp", path, checkpoint_stem));
    TRY(pool_format(pool, &out->last, "%s/last", path));
    return pool_format(pool, &out->link, "%s/last.tmp", path);
}

static neap_error *write_whole(const struct names *names, const struct store *store,
                               struct training_state *state) {
    TRY(folder_remove(names->written));
    TRY(file_make_directory(names->written));
    neap_error *error = checkpoint_write(names->written, store, state);
    if (error) /* what is half written takes space that may be what is missing */
        neap_error_free(folder_remove(names->written));
    return error;
}

/* Under its name it is whole until it is gone. */
static neap_error *discard(const char *path, const struct names *names) {
    TRY(folder_remove(names->removed));
    TRY(folder_rename(path, names->removed));
    return folder_remove(names->removed);
}

/* A checkpoint that has the name already is torn, or of another course of training. */
static neap_error *publish(const struct run_folder *folder, const struct names *names) {
    if (file_exists(names->named))
        TRY(discard(names->named, names));
    TRY(folder_rename(names->written, names->named));
    folder_sync(folder->path);
    unlink(names->link);
    if (symlink(names->target, names->link))
        return file_error(NEAP_ERROR_RUNTIME, errno, "cannot make the link '%s'", names->link);
    TRY(folder_rename(names->link, names->last));
    folder_sync(folder->path);
    return NULL;
}

/* Those after `update` belong to another course of training: they are left alone. */
static neap_error *prune(const struct run_folder *folder, const struct names *names, int64_t update,
                         int64_t keep, struct pool *pool) {
    struct run_checkpoints checkpoints;
    TRY(run_folder_list(folder->path, pool, &checkpoints));
    for (size_t i = checkpoints.n; i-- > 0;) {
        if (checkpoints.at[i].update > update)
            continue;
        if (keep > 0)
            keep--;
        else
            TRY(discard(checkpoints.at[i].path, names));
    }
    return NULL;
}

neap_error *run_folder_save(const struct run_folder *folder, const struct store *store,
                            struct training_state *state, int64_t keep, char **path) {
    struct pool pool = {0};
    struct names names;
    *path = NULL;
    neap_error *error = make_names(folder->path, state->position.update, &pool, &names);
    if (!error)
        error = write_whole(&names, store, state);
    if (!error)
        error = publish(folder, &names);
    if (!error)
        error = prune(folder, &names, state->position.update, keep, &pool);
    if (!error)
        error = memory_string(names.named, path);
    pool_free(&pool);
    return error;
}
