/* The engine: a session's store, arena and programs, ready to run. Everything is allocated when it
 * is made; windows then run without allocating. */
#ifndef NEAP_TRAIN_ENGINE_H
#define NEAP_TRAIN_ENGINE_H

#include "train/guard.h"
#include "train/session.h"

enum { ENGINE_PROGRAMS = 6 };

struct engine_program {
    int64_t samples;
    bool training;
    struct session_program own; /* compiled for this size; empty for the session's own step */
    struct program *program;
    const struct program_probe *probe; /* or NULL */
};

struct engine {
    struct neap_plan *session;
    struct store *store;
    struct arena arena;
    bool borrowed_store, borrowed_arena;
    struct engine_program programs[ENGINE_PROGRAMS];
    int n_programs;
    struct run_params params; /* of the window under way */
    int64_t window_samples;   /* so far */
    double gradient_norm;     /* of the last window, before clipping; 0 where nothing clips */
    struct guard guard;       /* where what is not finite is left out */
    struct loss_scaler scaler;
    bool skipped; /* the last window left no trace */
};

struct engine_request {
    struct neap_plan *session;
    int64_t train_samples; /* of an epoch; 0: a multiple of the batch */
    int64_t eval_samples;  /* 0: no evaluation */
    bool dry;              /* compile and plan all programs, allocate nothing */
    /* Borrowed, to take turns with other engines: a store of the same network compiled alike, and
     * an arena that is large enough. NULL: the engine's own. */
    struct store *store;
    const struct arena *arena;
};
/* The session's report then holds the arena that the largest of the programs needs. */
MUST_USE neap_error *engine_create(const struct engine_request *request, struct engine **out);
void engine_free(struct engine *engine);
/* The plan of program i. */
const struct plan_result *engine_plan(const struct engine *engine, int i);

/* A window: begin, batches, end. `true_count` is the number of samples that it will have had. */
void engine_begin(struct engine *engine, uint64_t update, double lr, int64_t true_count);
/* `count` samples, sliced into micro-batches. */
MUST_USE neap_error *engine_batch(struct engine *engine, const float *images, const int32_t *labels,
                                  int64_t count);
/* Gradients → update. NEAP_ERROR_DIVERGED where no loss scale would help, or where gradients are to
 * be clipped that are not finite and nothing leaves them out. */
MUST_USE neap_error *engine_end(struct engine *engine);
/* Updates before the next window that were left out: what the optimizer counts is the others. */
void engine_set_skipped(struct engine *engine, int64_t skipped);

/* Forward alone, with the running statistics. */
MUST_USE neap_error *engine_evaluate(struct engine *engine, const float *images,
                                     const int32_t *labels, int64_t count);

/* Sums since the last call. */
struct engine_metrics {
    double loss, top1, top5;
};
struct engine_metrics engine_take_metrics(struct engine *engine);

/* Everything outside the arena as planned, and the arena up to its highest byte written. */
int64_t engine_measured_peak(const struct engine *engine);

#endif
