/* The loader: see loader.h.
 *
 * A ring of `depth` slots, one batch each. The work is cut into tasks of a few samples, numbered
 * through the epoch; a thread takes the next number whose slot is free, so that even a short ring
 * keeps all of them busy. Batch b lies in slot b mod depth. */
#include "data/loader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/process.h"

/* Large enough that taking a task costs nothing beside doing it. */
enum { TASK_ELEMENTS = 16 * 1024 };

struct slot {
    float *images;
    int32_t *labels;
    int64_t tasks_done;
    neap_error *error; /* of the first sample in it that could not be read */
    int64_t error_at;  /* that sample */
};

struct worker {
    struct loader *loader;
    void *scratch;
    pthread_t thread;
};

struct loader {
    struct loader_options options;
    int64_t bytes;
    int64_t elements;     /* of a sample */
    int64_t slot_samples; /* a batch, or the whole source where that is less */
    int64_t task_samples, tasks_per_batch;
    uint32_t *order; /* sample at each position of the epoch */
    float *images;
    int32_t *labels;
    uint8_t *scratch; /* of all workers */
    struct slot *slots;
    int64_t epoch, first_sample; /* of the part that was asked for */
    double seconds;              /* spent in loader_next */

    pthread_mutex_t lock; /* for what follows, and for the slots' tasks_done and error */
    pthread_cond_t work, ready;
    int64_t n_batches;          /* to be had since the last start or seek */
    int64_t n_handed, n_freed;  /* batches given out, and those of them given back */
    int64_t next_task, n_tasks; /* up to n_batches × tasks_per_batch */
    int n_busy;                 /* threads doing a task */
    bool quit;

    struct worker *workers; /* without threads the caller is the only one */
    int n_started;
};

static neap_error *check_options(const struct loader_options *options) {
    if (options->batch < 1)
        return error_make(NEAP_ERROR_USAGE, "batch %lld is not at least 1",
                          (long long)options->batch);
    if (options->n_threads < 0 || options->depth < 0)
        return error_make(NEAP_ERROR_USAGE, "%d loader threads and depth %d: not at least 0",
                          options->n_threads, options->depth);
    if (options->source->n_samples > UINT32_MAX)
        return error_make(NEAP_ERROR_DATA, "'%s' has more than 2^32 samples",
                          options->source->name);
    return NULL;
}

static int depth_of(const struct loader_options *options) {
    enum { DEFAULT_DEPTH = 2 };
    if (options->n_threads == 0)
        return 1;
    return options->depth ? options->depth : DEFAULT_DEPTH;
}

static int n_workers_of(const struct loader_options *options) {
    return options->n_threads ? options->n_threads : 1;
}

/* Of one worker, aligned for the next. */
static int64_t scratch_bytes_of(const struct loader_options *options) {
    return round_up(options->source->scratch_bytes, 64);
}

static int64_t slot_samples_of(const struct loader_options *options) {
    const int64_t n_samples = options->source->n_samples;
    return options->batch < n_samples ? options->batch : n_samples;
}

int64_t loader_options_bytes(const struct loader_options *options) {
    const struct source *source = options->source;
    const int64_t elements = sample_elements(source->shape);
    int64_t sample_bytes, bytes, worker_bytes;
    bool fits = elements >= 0 && size_multiply(elements, (int64_t)sizeof(float), &sample_bytes) &&
                size_add(sample_bytes, (int64_t)sizeof(int32_t), &sample_bytes) &&
                size_multiply(sample_bytes, slot_samples_of(options), &bytes) &&
                size_multiply(bytes, depth_of(options), &bytes) &&
                size_add(bytes, source->n_samples * (int64_t)sizeof(uint32_t), &bytes) &&
                size_multiply(scratch_bytes_of(options) + source->library_bytes,
                              n_workers_of(options), &worker_bytes) &&
                size_add(bytes, worker_bytes, &bytes);
    return fits && bytes < LOADER_MOST_BYTES ? bytes : LOADER_MOST_BYTES;
}

int64_t loader_bytes(const struct loader *loader) {
    return loader->bytes;
}

/* ---- the order ------------------------------------------------------------------------------ */

/* Uniform in [0, bound), named by (seed, epoch, i): the high part of a 64-bit product. */
static uint32_t draw_below(uint64_t seed, int64_t epoch, uint64_t i, uint32_t bound) {
    struct philox_block block = philox_at(seed, (uint64_t)epoch, i);
    uint64_t low = (uint64_t)block.word[1] * bound;
    return (uint32_t)(((uint64_t)block.word[0] * bound + (low >> 32)) >> 32);
}

/* Fisher and Yates; each epoch's order is made from scratch. */
static void set_order(struct loader *loader, int64_t epoch) {
    const uint64_t seed = loader->options.seed ^ philox_hash("shuffle");
    uint32_t *order = loader->order;
    const uint32_t n = (uint32_t)loader->options.source->n_samples;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n - 1; loader->options.shuffle && i > 0; i--) {
        const uint32_t j = draw_below(seed, epoch, i, i + 1), moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static struct slot *slot_of(const struct loader *loader, int64_t batch) {
    return &loader->slots[batch % depth_of(&loader->options)];
}

/* Position in the epoch of a batch's first sample, and how many it has. */
static int64_t batch_first(const struct loader *loader, int64_t batch) {
    return loader->first_sample + batch * loader->options.batch;
}
static int64_t batch_count(const struct loader *loader, int64_t batch) {
    const int64_t left = loader->options.source->n_samples - batch_first(loader, batch);
    return left < loader->options.batch ? left : loader->options.batch;
}

/* Reads a task's samples; *at is the place in the batch of the one that failed. */
static neap_error *do_task(const struct worker *worker, int64_t task, int64_t *at) {
    const struct loader *loader = worker->loader;
    const int64_t batch = task / loader->tasks_per_batch;
    const int64_t first = task % loader->tasks_per_batch * loader->task_samples;
    const int64_t count = batch_count(loader, batch);
    const struct slot *slot = slot_of(loader, batch);
    for (*at = first; *at < count && *at < first + loader->task_samples; ++*at) {
        const struct sample_request request = {.index =
                                                   loader->order[batch_first(loader, batch) + *at],
                                               .epoch = loader->epoch,
                                               .scratch = worker->scratch};
        TRY(source_read(loader->options.source, request, slot->images + *at * loader->elements,
                        slot->labels + *at));
    }
    return NULL;
}

/* Whichever thread fails first, the error of the first sample is the slot's. */
static void finish_task(struct loader *loader, int64_t task, neap_error *error, int64_t at) {
    struct slot *slot = slot_of(loader, task / loader->tasks_per_batch);
    if (error && (!slot->error || at < slot->error_at)) {
        neap_error_free(slot->error);
        slot->error = error;
        slot->error_at = at;
    } else {
        neap_error_free(error);
    }
    slot->tasks_done++;
}

static bool has_work(const struct loader *loader) {
    return loader->next_task < loader->n_tasks && loader->next_task / loader->tasks_per_batch <
                                                      loader->n_freed + depth_of(&loader->options);
}

static void *run_worker(void *argument) {
    const struct worker *worker = argument;
    struct loader *loader = worker->loader;
    pthread_mutex_lock(&loader->lock);
    while (!loader->quit) {
        if (!has_work(loader)) {
            pthread_cond_wait(&loader->work, &loader->lock);
            continue;
        }
        const int64_t task = loader->next_task++;
        loader->n_busy++;
        pthread_mutex_unlock(&loader->lock);
        int64_t at;
        neap_error *error = do_task(worker, task, &at);
        pthread_mutex_lock(&loader->lock);
        finish_task(loader, task, error, at);
        loader->n_busy--;
        const struct slot *slot = slot_of(loader, task / loader->tasks_per_batch);
        if (slot->tasks_done == loader->tasks_per_batch || loader->n_busy == 0)
            pthread_cond_signal(&loader->ready);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* ---- the caller's side ---------------------------------------------------------------------- */

static void clear_slot(struct slot *slot) {
    neap_error_free(slot->error);
    slot->error = NULL;
    slot->tasks_done = 0;
}

/* Takes away the work that is left and waits for what is being done. Leaves the lock held. */
static void lock_idle(struct loader *loader) {
    pthread_mutex_lock(&loader->lock);
    loader->n_tasks = 0;
    while (loader->n_busy > 0)
        pthread_cond_wait(&loader->ready, &loader->lock);
}

neap_error *loader_seek(struct loader *loader, int64_t epoch, int64_t first_sample) {
    const int64_t n_samples = loader->options.source->n_samples, batch = loader->options.batch;
    if (epoch < 0 || first_sample < 0 || first_sample > n_samples)
        return error_make(NEAP_ERROR_USAGE, "no sample %lld in epoch %lld of '%s' (%lld samples)",
                          (long long)first_sample, (long long)epoch, loader->options.source->name,
                          (long long)n_samples);
    lock_idle(loader);
    for (int i = 0; i < depth_of(&loader->options); i++)
        clear_slot(&loader->slots[i]);
    set_order(loader, epoch);
    const int64_t left = n_samples - first_sample;
    loader->epoch = epoch;
    loader->first_sample = first_sample;
    loader->n_batches = left / batch + (left % batch && !loader->options.drop_last);
    loader->n_tasks = loader->n_batches * loader->tasks_per_batch;
    loader->next_task = loader->n_handed = loader->n_freed = 0;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

neap_error *loader_start_epoch(struct loader *loader, int64_t epoch) {
    return loader_seek(loader, epoch, 0);
}

/* Gives the batch handed out last back to be filled again. */
static void free_last(struct loader *loader) {
    if (loader->n_freed == loader->n_handed)
        return;
    clear_slot(slot_of(loader, loader->n_freed));
    loader->n_freed++;
    pthread_cond_broadcast(&loader->work);
}

static void wait_for_batch(struct loader *loader, int64_t batch) {
    const struct slot *slot = slot_of(loader, batch);
    while (slot->tasks_done < loader->tasks_per_batch) {
        if (loader->n_started > 0) {
            pthread_cond_wait(&loader->ready, &loader->lock);
        } else {
            int64_t at;
            neap_error *error = do_task(loader->workers, loader->next_task, &at);
            finish_task(loader, loader->next_task++, error, at);
        }
    }
}

neap_error *loader_next(struct loader *loader, struct loader_batch *out) {
    const double start = process_seconds();
    *out = (struct loader_batch){0};
    neap_error *error = NULL;
    pthread_mutex_lock(&loader->lock);
    free_last(loader);
    const int64_t batch = loader->n_handed;
    if (batch < loader->n_batches) {
        wait_for_batch(loader, batch);
        struct slot *slot = slot_of(loader, batch);
        loader->n_handed++;
        error = slot->error;
        slot->error = NULL;
        if (!error)
            *out = (struct loader_batch){slot->images, slot->labels, batch_count(loader, batch),
                                         batch_first(loader, batch)};
    }
    pthread_mutex_unlock(&loader->lock);
    loader->seconds += process_seconds() - start;
    return error;
}

double loader_take_seconds(struct loader *loader) {
    const double seconds = loader->seconds;
    loader->seconds = 0;
    return seconds;
}

/* ---- life ----------------------------------------------------------------------------------- */

static neap_error *allocate(struct loader *loader) {
    const int depth = depth_of(&loader->options);
    const size_t samples = (size_t)(depth * loader->slot_samples);
    const size_t n = (size_t)loader->options.source->n_samples;
    TRY(memory_alloc(samples, (size_t)loader->elements * sizeof *loader->images, &loader->images));
    TRY(memory_alloc(samples, sizeof *loader->labels, &loader->labels));
    TRY(memory_alloc(n, sizeof *loader->order, &loader->order));
    TRY(memory_alloc((size_t)depth, sizeof *loader->slots, &loader->slots));
    const size_t n_workers = (size_t)n_workers_of(&loader->options),
                 scratch_bytes = (size_t)scratch_bytes_of(&loader->options);
    TRY(memory_alloc(n_workers, sizeof *loader->workers, &loader->workers));
    TRY(memory_alloc(n_workers, scratch_bytes, &loader->scratch));
    /* Touched now: memory that the machine does not have is to show before training starts. */
    memset(loader->images, 0, samples * (size_t)loader->elements * sizeof *loader->images);
    memset(loader->labels, 0, samples * sizeof *loader->labels);
    memset(loader->order, 0, n * sizeof *loader->order);
    memset(loader->scratch, 0, n_workers * scratch_bytes);
    for (size_t i = 0; i < n_workers; i++)
        loader->workers[i] =
            (struct worker){.loader = loader, .scratch = loader->scratch + i * scratch_bytes};
    for (int i = 0; i < depth; i++) {
        loader->slots[i].images = loader->images + i * loader->slot_samples * loader->elements;
        loader->slots[i].labels = loader->labels + i * loader->slot_samples;
    }
    return NULL;
}

/* Signals are for the program's own threads: ours are started with all of them blocked. */
static neap_error *start_threads(struct loader *loader) {
    int failure = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!failure && loader->n_started < loader->options.n_threads) {
        struct worker *worker = &loader->workers[loader->n_started];
        failure = pthread_create(&worker->thread, NULL, run_worker, worker);
        loader->n_started += !failure;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure ? file_error(NEAP_ERROR_RUNTIME, failure, "cannot start loader thread %d",
                                loader->n_started + 1)
                   : NULL;
}

neap_error *loader_create(const struct loader_options *options, struct loader **out) {
    TRY(check_options(options));
    const int64_t bytes = loader_options_bytes(options);
    if (bytes == LOADER_MOST_BYTES)
        return error_memory(SIZE_MAX);
    struct loader *loader;
    TRY(memory_alloc(1, sizeof *loader, &loader));
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    loader->options = *options;
    loader->bytes = bytes;
    loader->elements = sample_elements(options->source->shape);
    loader->slot_samples = slot_samples_of(options);
    loader->task_samples = 1 + TASK_ELEMENTS / loader->elements;
    loader->tasks_per_batch =
        (loader->slot_samples + loader->task_samples - 1) / loader->task_samples;
    neap_error *error = allocate(loader);
    if (!error)
        error = start_threads(loader);
    if (error) {
        loader_free(loader);
        return error;
    }
    *out = loader;
    return NULL;
}

void loader_free(struct loader *loader) {
    if (!loader)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->quit = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->n_started; i++)
        pthread_join(loader->workers[i].thread, NULL);
    for (int i = 0; loader->slots && i < depth_of(&loader->options); i++)
        clear_slot(&loader->slots[i]);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->lock);
    free(loader->workers);
    free(loader->scratch);
    free(loader->slots);
    free(loader->order);
    free(loader->labels);
    free(loader->images);
    free(loader);
}
