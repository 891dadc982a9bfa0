/* A session: options turned into a compiled and planned training step. What plan, train and verify
 * start from. */
#ifndef NEAP_TRAIN_SESSION_H
#define NEAP_TRAIN_SESSION_H

#include "compile/compile.h"
#include "exec/program.h"
#include "fmt/plan_json.h"
#include "train/accumulation.h"
#include "train/deadline.h"
#include "train/optimizer.h"
#include "train/scaler.h"

enum { LOADER_DEPTH = 2 }; /* batches in host memory, the one in use included */

struct run_data;

struct neap_plan {
    struct pool pool; /* the report's strings */
    struct neap_options options;
    struct device *device;
    bool owns_device;
    struct measured *measured; /* costs; NULL: modelled */
    bool owns_measured;
    neap_graph *model;
    struct optimizer_attrs optimizer_attrs;
    struct update_options update;
    struct accumulation accumulation;
    enum dtype precision;      /* of activations */
    struct loss_scaler scaler; /* as it starts */
    struct compiled *whole;    /* the whole batch in one piece */
    struct compiled *step; /* one micro-batch; the same as `whole` where the batch is not sliced */
    struct plan_result store_all; /* of whole */
    struct plan_result plan;      /* of step */
    int64_t sliced_arena_bytes;   /* store-all's where gradients are kept; 0: not known yet */
    const struct run_data *data;  /* as in the request */
    bool without_host;
    struct deadline deadline; /* of the options' time limit */
    int64_t host_bytes;
    int64_t available_bytes; /* when the session was made: that all of it agrees */
    int64_t arena_budget_bytes;
    double bound_seconds; /* that a run of the step takes at least beyond one run of each op */
    bool evaluation;
    struct neap_plan_report report;
    struct neap_max_batch max_batch; /* where the report's pointers lead */
    struct neap_slicing slicing;
    struct neap_layer *layers;
    size_t n_layers;
};

/* What a session is for, beyond its options. */
struct session_request {
    const struct neap_options *options;
    int64_t channels, image_size, num_classes; /* of the data; 0: the model's own */
    const struct run_data *data; /* borrowed: its memory counts and its samples bound the batch;
                                    NULL: the queue of a loader counts */
    bool without_host;           /* neither counts */
    struct device *device;       /* to run on, borrowed; NULL: opened as the options say */
    struct measured *measured;   /* borrowed too, for measured costs; NULL: opened */
    bool evaluation;             /* forward alone, without gradients or optimizer */
    bool allow_unfit;            /* a plan that does not fit is not an error */
    bool advise;                 /* say in the report where slices would win */
};

/* On NEAP_ERROR_BUDGET *out is there nonetheless. */
MUST_USE neap_error *session_create(const struct session_request *request, struct neap_plan **out);

/* What a plan's file says of the step; its schedule, lives and arena are left out. */
struct plan_json session_describe(const struct neap_plan *s, const struct compiled *c);

/* Compiles what the options name, without planning it, and calls on_stage with every stage's graph
 * until it says false. */
MUST_USE neap_error *session_dump(const struct neap_options *options,
                                  bool (*on_stage)(void *user, const char *stage,
                                                   const neap_graph *g),
                                  void *user);

/* The same network at another number of samples, for training or evaluation, in the layouts of the
 * session's store, planned within its arena. */
struct session_program {
    struct compiled *compiled;
    struct plan_result plan;
};
MUST_USE neap_error *session_compile(struct neap_plan *session, int64_t batch, bool training,
                                     struct session_program *out);
void session_program_free(struct session_program *program);

/* A runnable program of a compiled graph and its plan. */
MUST_USE neap_error *session_link(const struct compiled *c, const struct plan_result *plan,
                                  const struct arena *arena, const struct store *store,
                                  struct program **out);

/* Samples of a window, the largest that the accumulation makes: what gradients are divided by
 * before the window's true count is known. */
int64_t session_window(const struct neap_plan *session);

/* What the model takes: (channels, height, width) of its images, and its number of classes. */
void session_sample_shape(const neap_graph *model, int64_t shape[3], int64_t *n_classes);

/* The same of the model that the options name. */
MUST_USE neap_error *session_model_shape(const struct neap_options *options, int64_t shape[3],
                                         int64_t *n_classes);

/* ---- what the session's files share ---- */

/* model.c: the model that the options name, checked against them. */
MUST_USE neap_error *session_open_model(const struct session_request *request, neap_graph **out);
/* Samples in one run: the micro-batch asked for, or the batch. */
int64_t session_micro_size(const struct neap_options *o);
/* Where the parameters' gradients live, by the options' slicing, accumulation and clipping. */
void session_choose_gradients(struct neap_plan *s);
/* Is a window looked at before its update, so that it can be left out? */
bool session_is_guarded(const struct neap_plan *s);
/* What the data, or else a loader's queue, holds at the options' batch. */
int64_t session_host_bytes(const struct neap_plan *s);
/* budget.c: the bytes that the limits leave for the arena of s->step; the report's budget. */
int64_t session_arena_budget(struct neap_plan *s);
/* budget.c: store-all's plan, the plan under the budget, and the smallest there is. */
MUST_USE neap_error *session_plan_step(struct neap_plan *s);

/* The network compiled for `batch` samples; `fixed` gives the layouts of persistent values, NULL
 * leaves them to the kernels. */
MUST_USE neap_error *session_compile_at(const struct neap_plan *s, int64_t batch, bool training,
                                        const neap_graph *fixed, struct compiled **out);
/* Another strategy in place of what the options ask for. */
static inline void session_replan(struct neap_options *o, const char *strategy) {
    o->recompute = strategy;
    o->recompute_layers = o->plan = NULL;
}
/* What the planner is asked for beside strategy and moves. */
struct plan_request session_request_for(struct neap_plan *s, int64_t budget_bytes);
/* strategy.c: the options' strategy, chosen where they leave it open, or refused. */
MUST_USE neap_error *session_choose_strategy(struct neap_plan *s);
/* Does it come from a file, which fits one slicing alone? */
bool session_from_file(const struct neap_options *o);
/* A plan by the options' strategy, its arena within the budget if it fits, with at most `moves` of
 * local search; 0: as many as the problem deserves. */
MUST_USE neap_error *session_solve(struct neap_plan *s, const struct compiled *c,
                                   const struct neap_options *o, int64_t budget_bytes,
                                   uint64_t moves, struct plan_result *out);
/* The plan with the smallest arena that is found, whatever the budget. */
MUST_USE neap_error *session_solve_smallest(struct neap_plan *s, const struct compiled *c,
                                            struct plan_result *out);
/* Weights, gradients, state, buffers and host memory. */
int64_t session_outside_arena(const struct neap_plan *s, const struct compiled *c);
/* Adds to the report's decision. */
MUST_USE neap_error *session_decide(struct neap_plan *s, const char *text);
/* max_batch.c: the largest batch that fits, in place of NEAP_BATCH_MAX; and the report's. */
MUST_USE neap_error *session_find_batch(struct neap_plan *s);
MUST_USE neap_error *session_report_batch(struct neap_plan *s);
/* slicing.c: the micro-batch in place of NEAP_MICRO_BATCH_AUTO; and the report's advice. */
MUST_USE neap_error *session_choose_slicing(struct neap_plan *s);
MUST_USE neap_error *session_advise_slicing(struct neap_plan *s);
/* refuse.c: the error of a budget that cannot be met, with what would work. Never NULL. */
neap_error *session_refuse(struct neap_plan *s);

/* report.c: fills session->report from the plans. */
MUST_USE neap_error *session_report(struct neap_plan *session);
/* Seconds of a step in which every op runs once in each of n_micro micro-batches. */
double report_once_seconds(const struct compiled *c, int64_t n_micro);

/* explain.c: the bytes live in each step of the plan, into an array of zeros with room for one more
 * than there are steps. */
void session_live_bytes(const struct neap_plan *session, int64_t *live_bytes);
/* "512.0 MiB" or "1.3 GiB", into buffer[24]; returns it. */
const char *report_bytes(int64_t bytes, char buffer[24]);

#endif
