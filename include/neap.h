/* neap: trains neural networks in the memory you have.
 *
 * A training step is a program known in advance: neap builds the whole step (forward, loss,
 * backward, update) as one graph, plans what to keep and what to recompute within a byte budget,
 * places every tensor in one arena, and runs it. Recompute never changes a bit of the result.
 *
 * Conventions. Functions that can fail return a `neap_error *` that must be used: NULL is success,
 * anything else is owned by the caller (neap_error_free). Handles are opaque; `create` gives one,
 * `free` takes it back and accepts NULL. Sizes in bytes are named `_bytes`, times `_seconds`.
 * Strings passed in are copied unless said otherwise; strings in reports belong to the report's
 * handle. The library never exits and prints nothing unless asked to. */
#ifndef NEAP_H
#define NEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NEAP_MUST_USE __attribute__((warn_unused_result))

/* ---- errors --------------------------------------------------------------------------------- */

/* Each code is there because a caller would act differently; the command's exit code is the value,
 * where INTERNAL and MEMORY exit with 1. */
enum neap_code {
    NEAP_OK = 0,
    NEAP_ERROR_RUNTIME = 1,  /* input or output failed, a device failed */
    NEAP_ERROR_USAGE = 2,    /* an option, key or argument is wrong */
    NEAP_ERROR_MODEL = 3,    /* the model is malformed or not supported */
    NEAP_ERROR_DATA = 4,     /* a data file is missing or malformed */
    NEAP_ERROR_BUDGET = 5,   /* does not fit in the bytes given */
    NEAP_ERROR_DIVERGED = 6, /* the loss is not finite any more */
    NEAP_ERROR_MEMORY = 7,   /* the host has no memory */
    NEAP_ERROR_INTERNAL = 8, /* a verifier refused neap's own work: please report */
    NEAP_INTERRUPTED = 130,  /* the caller's `stop` asked for it */
};

typedef struct neap_error neap_error;

enum neap_code neap_error_code(const neap_error *error);
const char *neap_error_message(const neap_error *error);
void neap_error_free(neap_error *error);

/* "neap 0.1.0". */
const char *neap_version(void);

/* ---- graphs: a network written by hand ------------------------------------------------------ */

/* A graph of values and nodes with fixed shapes. A failing call records the first error in the
 * graph and returns NEAP_NONE, which later calls pass on: check once, with neap_graph_check. */
typedef struct neap_graph neap_graph;
typedef uint32_t neap_value;
#define NEAP_NONE UINT32_MAX

enum neap_dtype { NEAP_F32, NEAP_F64, NEAP_BF16, NEAP_F16, NEAP_I64, NEAP_I32, NEAP_U8, NEAP_BIT };

NEAP_MUST_USE neap_error *neap_graph_create(const char *name, neap_graph **out);
void neap_graph_free(neap_graph *graph);
/* The first error of the calls so far (the caller owns it), or NULL. */
NEAP_MUST_USE neap_error *neap_graph_check(neap_graph *graph);
/* Reads and writes the text form (.neap); what is written reads back to the same text. */
NEAP_MUST_USE neap_error *neap_graph_read(const char *path, neap_graph **out);
NEAP_MUST_USE neap_error *neap_graph_write(const neap_graph *graph, FILE *file);

/* A zoo model (neap_model_at) for `batch` samples; options may be NULL. */
struct neap_model_options {
    int64_t batch;       /* 0: 1 */
    int64_t num_classes; /* 0: the model's own */
    int64_t image_size;  /* 0: the model's own */
    int64_t channels;    /* 0: the model's own */
    double dropout;      /* < 0 or dropout_set false: the model's own */
    bool dropout_set;
};
NEAP_MUST_USE neap_error *neap_graph_model(const char *name,
                                           const struct neap_model_options *options,
                                           neap_graph **out);

/* The batch: dimension 0 is the number of samples. */
neap_value neap_input(neap_graph *graph, const char *name, enum neap_dtype dtype, int rank,
                      const int64_t *dims);

enum neap_init_kind { NEAP_INIT_CONSTANT, NEAP_INIT_UNIFORM, NEAP_INIT_NORMAL };
/* CONSTANT: a. UNIFORM: [-a, a). NORMAL: mean 0, deviation a. */
struct neap_init {
    enum neap_init_kind kind;
    double a;
};
neap_value neap_parameter(neap_graph *graph, const char *name, int rank, const int64_t *dims,
                          struct neap_init init);
/* State that is saved but not trained, such as running statistics. */
neap_value neap_buffer(neap_graph *graph, const char *name, int rank, const int64_t *dims,
                       struct neap_init init);

/* Any op by name: attributes as in the text form ("stride=2 padding=1"), outputs into
 * out[0..n_out). Returns out[0]. */
neap_value neap_op(neap_graph *graph, const char *op, const char *name, const neap_value *in,
                   size_t n_in, const char *attributes, neap_value *out, size_t n_out);

/* Layers: `name` prefixes the parameters ("conv1" makes "conv1.weight"), as in PyTorch. Weights
 * start as PyTorch's default does, U(±1/sqrt(fan_in)), unless `init` says otherwise. */
struct neap_conv2d {
    int64_t out_channels;
    /* Rows, columns. 0: stride 1, dilation 1. [1] 0: as [0]; padding's only where kernel's is 0. */
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    int64_t groups; /* 0: 1 */
    bool bias;
    bool init_fan_out;  /* weights N(0, 2 / (out_channels × kernel area)), bias 0: He's, fan out */
    bool init_fan_in;   /* weights N(0, 2 / fan in): He's */
    double init_normal; /* > 0: weights N(0, this²) */
};
neap_value neap_conv2d(neap_graph *graph, neap_value x, const char *name,
                       const struct neap_conv2d *conv);
struct neap_linear {
    int64_t out_features;
    bool no_bias;
    bool zero_bias;     /* the bias starts as 0 */
    double init_normal; /* > 0: weights N(0, this²) */
    bool init_fan_in;   /* weights N(0, 2 / fan in) */
};
neap_value neap_linear(neap_graph *graph, neap_value x, const char *name,
                       const struct neap_linear *linear);
/* Over (N,C,H,W), eps 1e-5 and momentum 0.1 where 0. */
neap_value neap_batch_norm(neap_graph *graph, neap_value x, const char *name, double eps,
                           double momentum);
neap_value neap_relu(neap_graph *graph, neap_value x, const char *name);
neap_value neap_add(neap_graph *graph, neap_value a, neap_value b, const char *name);
neap_value neap_dropout(neap_graph *graph, neap_value x, const char *name, double p);
struct neap_pool2d {
    int64_t kernel, stride, padding; /* stride 0: kernel */
    bool ceil_mode;
    bool count_include_pad; /* average only */
};
neap_value neap_max_pool2d(neap_graph *graph, neap_value x, const char *name,
                           const struct neap_pool2d *pool);
neap_value neap_avg_pool2d(neap_graph *graph, neap_value x, const char *name,
                           const struct neap_pool2d *pool);
/* (N,C,H,W) → (N,C,out,out); out 1 is the global average. */
neap_value neap_adaptive_avg_pool2d(neap_graph *graph, neap_value x, const char *name, int64_t out);
neap_value neap_flatten(neap_graph *graph, neap_value x, const char *name);
neap_value neap_concat(neap_graph *graph, const neap_value *x, size_t n, int axis,
                       const char *name);

/* What is added between the two is recomputed as one piece, as torch.utils.checkpoint does with a
 * module: of all it makes, only what is read outside stays in memory. Segments do not nest. They
 * count unless options.recompute asks for something else. */
void neap_graph_segment_begin(neap_graph *graph, const char *name);
void neap_graph_segment_end(neap_graph *graph);

/* Names `logits` (N,classes) as the network's result; classification adds labels, softmax cross
 * entropy and top-1/top-5 counts to it. */
void neap_classifier(neap_graph *graph, neap_value logits);

/* ---- options: one struct for every command -------------------------------------------------- */

enum neap_size_kind {
    NEAP_SIZE_UNSET,
    NEAP_SIZE_BYTES,
    NEAP_SIZE_PERCENT,
    NEAP_SIZE_MIN,
    NEAP_SIZE_MAX
};
struct neap_size {
    enum neap_size_kind kind;
    int64_t bytes;
    double percent;
};

enum neap_cost { NEAP_COST_MODEL, NEAP_COST_MEASURED };
/* Whether a plan may change the order of ops. FIXED: the first execution of each stays in the order
 * of the network, or of the problem's file. */
enum neap_order { NEAP_ORDER_FREE, NEAP_ORDER_FIXED };
enum neap_toggle { NEAP_AUTO, NEAP_OFF };

/* A part of an image, scaled to what the network takes: its share of the area and its width over
 * its height are drawn between these. */
struct neap_resized_crop {
    double scale[2], ratio[2];
};
#define NEAP_RATIO_LOW (3.0 / 4) /* torchvision's ratios */
#define NEAP_RATIO_HIGH (4.0 / 3)

/* What to do about a loss or a gradient that is not finite. */
enum neap_on_nan {
    NEAP_NAN_STOP, /* end with NEAP_ERROR_DIVERGED */
    NEAP_NAN_SKIP, /* leave the update out, up to a number of them in a row */
};

#define NEAP_BATCH_MAX (-1)        /* the largest batch that fits */
#define NEAP_MICRO_BATCH_AUTO (-1) /* the slicing that takes the least time */

/* What a run is made of. Start from neap_options_default. Field names are the long option names of
 * the command line; see `neap help`. NULL strings are unset. Strings are borrowed until the call
 * that takes the options returns. */
struct neap_options {
    const char *model;             /* a zoo name or a .neap file */
    const neap_graph *graph;       /* instead of `model`: a graph of the caller's */
    int64_t num_classes, img_size; /* 0: the model's own */
    double dropout;                /* < 0: the model's own */

    int64_t batch;           /* NEAP_BATCH_MAX: found by planning */
    struct neap_size memory; /* bounds everything: weights, gradients, state, host, arena */
    struct neap_size arena;  /* bounds the arena; percent is of store-all's arena */
    double max_overhead;     /* a fraction: the smallest arena that costs no more; < 0: unset */
    int64_t micro_batch;     /* 0: off; n: slices of n; NEAP_MICRO_BATCH_AUTO */
    bool max_batch;          /* find the largest batch that fits, whatever `batch` is */
    const char *grad_accum_steps; /* batches to an update: "4"; by epoch "0:8,4:4,8:1"; by update
                                     "s0:8,s500:4"; NULL: 1 */
    int64_t effective_batch;      /* instead: samples to an update; 0: unset */
    const char *recompute;        /* auto, none, all, sqrt, sequential:K, segments, or the schedule
                                     of a plan's file (.json); NULL: segments where the graph marks
                                     any, else auto */
    const char *recompute_layers; /* patterns of layer and module names, comma separated */
    const char *plan;             /* a file saved by neap_plan_save: run exactly that plan */
    enum neap_toggle fuse_update; /* auto or off */
    bool input_gradient;
    enum neap_cost cost;
    enum neap_order plan_order;
    uint64_t plan_seed; /* of the planner's search; what a plan computes never depends on it */
    double
        time_limit_seconds; /* of planning, by the clock; 0: none, the effort is counted in moves */

    const char *precision;  /* of activations: fp32, bf16, fp16 (docs/precision.md) */
    const char *loss_scale; /* of fp16: dynamic, dynamic:START or a number; NULL: dynamic */
    const char *optimizer;  /* sgd, adam, adamw; none: forward and backward alone, not to train */
    double lr, weight_decay;
    double momentum, beta1, beta2, eps; /* < 0: the optimizer's own, 0.9, 0.9, 0.999, 1e-8 */
    bool nesterov;
    bool decay_norms; /* false: no weight decay on norms and biases */
    double clip_grad; /* largest norm of an update's gradient; 0: unbounded */
    double label_smoothing;
    const char *schedule; /* constant, step, multistep, cosine, onecycle */
    double min_lr;        /* where cosine and onecycle end; < 0: 0, and lr / 250,000 */
    double warmup_epochs;
    double decay_rate;            /* of step and multistep; < 0: 0.1 */
    int64_t decay_epochs;         /* of step */
    const char *decay_milestones; /* of multistep: epochs, "30,60" */

    const char *data, *val_data, *data_format;
    const char *normalize; /* auto, imagenet, none */
    /* Augmentation of training images, as torchvision defines it, in this order: */
    double rotate;                                /* up to so many degrees either way; 0: none */
    int64_t random_crop;                          /* with so much padding around; < 0: none */
    struct neap_resized_crop random_resized_crop; /* scale[1] 0: none */
    bool hflip;                                   /* half of them, left and right */
    bool skip_bad; /* leave out image files that cannot be decoded, instead of failing */
    int64_t epochs, max_updates, updates;
    const char *pretrained; /* weights to start from (.safetensors) */
    const char *weights;    /* weights to evaluate: a .safetensors or a run's folder */
    const char *output;     /* the run's folder */
    const char *resume;     /* a run's folder, a checkpoint, or "auto": of `output`, if it has one;
                               options that change the result must be as recorded */
    int64_t save_interval;  /* updates between checkpoints; 0: one after each epoch */
    int64_t keep;           /* checkpoints that stay; 0: 3 */
    enum neap_on_nan on_nan;
    uint64_t seed;
    bool shuffle;
    bool tensorboard;     /* event files for TensorBoard in the run's folder */
    int64_t log_interval; /* updates between progress events; 0: automatic */
    int threads;          /* compute threads; 0: all */
    int loader_threads;
    const char *device; /* cpu, null */
    bool dry_run;       /* stop after the plan; bench: all plans, nothing measured */
};
void neap_options_default(struct neap_options *options);

/* Bytes this process may still use: the machine's memory or the control group's limit. */
int64_t neap_available_bytes(void);

/* ---- planning ------------------------------------------------------------------------------- */

/* Bytes are as allocated. peak = weights + gradients + optimizer + buffers + host + arena. */
struct neap_totals {
    int64_t peak_bytes, arena_bytes, live_peak_bytes;
    int64_t weights_bytes, gradients_bytes, optimizer_bytes, buffers_bytes, host_bytes;
    double step_seconds; /* of a whole batch: all micro-batches and the update */
};

/* The largest batch that fits the limits. */
struct neap_max_batch {
    int64_t batch, micro_batch; /* batch 0: a single sample does not fit */
    int64_t peak_bytes, arena_bytes;
    double overhead, seconds_per_sample;
    bool proven; /* one sample more fits in no plan, or in no data */
};

/* Slices that would win where slicing is off. */
struct neap_slicing {
    int64_t micro_batch;
    bool only_way;      /* to fit; else it is faster */
    bool mixes_samples; /* an op such as batch norm would see the samples of a slice alone */
    int64_t peak_bytes, arena_bytes;
    double overhead, seconds_per_sample;
    const char *text; /* all that in words, with the flag */
};

struct neap_plan_report {
    const char *model, *precision, *device, *optimizer, *strategy;
    int64_t batch, micro_batch, micro_batches;
    int64_t grad_accum_steps; /* the most that the schedule has */
    int64_t parameters;       /* logical elements */
    int64_t budget_bytes;     /* in the unit of the limit given (peak for memory, else arena) */
    bool budget_is_arena;
    bool fits;
    int64_t smallest_budget_bytes; /* in the same unit */
    bool smallest_proven;
    double smallest_overhead; /* of the plan at that budget */
    int64_t arena_lower_bound_bytes;
    struct neap_totals store_all, plan;
    double recompute_seconds;
    double overhead, overhead_lower_bound, gap; /* fractions of store_all.step_seconds */
    int64_t recomputed_ops;
    const char *update;  /* where gradients live between backward and update, and why, in words */
    int64_t fused_bytes; /* gradients that need not persist: the update is part of the backward */
    double solver_seconds;
    bool stopped;             /* the time limit cut the search for the plan short */
    const char *worst_moment; /* what is live where the plan peaks, in words */
    const char *decision; /* how batch and slices were chosen, with the flags; NULL: as asked for */
    const struct neap_max_batch *max_batch; /* NULL: not looked for */
    const struct neap_slicing *slicing;     /* NULL: on already, or it would not win */
};

typedef struct neap_plan neap_plan;

/* Plans without data, weights or training. A budget that cannot be met is NEAP_ERROR_BUDGET with
 * the least possible bytes and the worst moment in its message; *out is then still a plan whose
 * report has fits = false, or NULL where even that is not known. */
NEAP_MUST_USE neap_error *neap_plan_create(const struct neap_options *options, neap_plan **out);
void neap_plan_free(neap_plan *plan);
const struct neap_plan_report *neap_plan_get_report(const neap_plan *plan);
/* The plan in full, format "neap-plan/1", written whole or not at all. */
NEAP_MUST_USE neap_error *neap_plan_save(const neap_plan *plan, const char *path);
/* One line per step: op, kernel, offsets, bytes. */
NEAP_MUST_USE neap_error *neap_plan_explain(const neap_plan *plan, FILE *file);
/* The graph after the named stage of the compiler (neap_stage_at), without planning. */
NEAP_MUST_USE neap_error *neap_stage_dump(const struct neap_options *options, const char *stage,
                                          FILE *file);
const char *neap_stage_at(size_t index);

/* A bare problem: ops as seconds, bytes and inputs, read from a file (docs/problem-format.md).
 * Every op may run any number of times, at least once. The budget is for the live peak. */
struct neap_problem_options {
    const char *path;
    struct neap_size arena; /* the budget; percent and unset: of peak_store_all_bytes, all of it */
    enum neap_order order;
    uint64_t seed;
    double time_limit_seconds; /* 0: none */
    const char *output;        /* the schedule: one op number a line; NULL: nowhere */
};
struct neap_problem_report {
    int64_t ops;                  /* 0: there is no plan, and the rest says nothing */
    int64_t peak_store_all_bytes; /* of the file's own order, without recompute */
    int64_t budget_bytes;
    bool
        fits; /* peak_bytes is within budget_bytes; else this is the plan of the least peak found */
    int64_t peak_bytes, arena_bytes; /* most live bytes, and what placing them takes */
    double cost_store_all, cost;     /* in the file's unit of seconds */
    /* Fractions of cost_store_all. The bound is INFINITY where no schedule fits; a plan that does
     * not fit has no gap: NAN. */
    double overhead, overhead_lower_bound, gap;
    bool proven; /* no schedule within the budget costs less */
    int64_t recomputed_ops;
    double solver_seconds;          /* of this computer: everything between reading and writing */
    int64_t smallest_budget_bytes;  /* the smallest peak that a plan was found for */
    int64_t peak_lower_bound_bytes; /* no schedule has a smaller peak */
    bool smallest_proven;           /* the two are the same */
    bool stopped;                   /* the time limit cut the search for the plan short */
    char strategy[64];
};

/* Plans a bare problem and writes the schedule, whole or not at all. A budget that is not met is
 * NEAP_ERROR_BUDGET with the least budget found in its message; *report is filled nonetheless. */
NEAP_MUST_USE neap_error *neap_problem_plan(const struct neap_problem_options *options,
                                            struct neap_problem_report *report);

/* Buffers with sizes and lifetimes (CSV, docs/problem-format.md) to be laid in one arena. */
struct neap_placement_options {
    const char *path;
    int64_t arena_bytes; /* the arena there is; 0: as small as can be found */
    const char *output;  /* the file's rows with a column `offset`; NULL: nowhere */
};
struct neap_placement_report {
    int64_t buffers;           /* 0: there is no placement, and the rest says nothing */
    int64_t lower_bound_bytes; /* the most that live at once */
    int64_t arena_bytes;
    bool fits, optimal; /* optimal: proven, no arena is smaller */
    double solver_seconds;
};

/* Places the buffers and writes the offsets, whole or not at all. An arena that is too small is
 * NEAP_ERROR_BUDGET with the smallest found in its message; *report is filled nonetheless. */
NEAP_MUST_USE neap_error *neap_placement_plan(const struct neap_placement_options *options,
                                              struct neap_placement_report *report);

/* ---- the frontier: every budget's plan ---- */

struct neap_curve_point {
    const char *strategy;
    int64_t peak_bytes, arena_bytes, live_peak_bytes;
    double overhead, overhead_lower_bound; /* the bound is within the point's bytes */
    int64_t recomputed_ops;
};
struct neap_curve_bound {
    int64_t bytes;
    double overhead;
};
struct neap_curve_report {
    const char *title;
    bool of_live_peak;                     /* bytes below are of the live peak, not of the arena */
    int64_t store_all_bytes;               /* of the whole batch in one piece, overhead 0 */
    int64_t floor_bytes;                   /* no plan needs less */
    const struct neap_curve_point *points; /* bytes rising, overhead falling */
    const struct neap_curve_point *strategies; /* none, sqrt, all, sequential:K */
    const struct neap_curve_bound *bounds;     /* from the floor to store-all */
    size_t n_points, n_strategies, n_bounds;
    double solver_seconds;
};
typedef struct neap_curve neap_curve;

/* The frontier of the plan's step, from `n_budgets` ≥ 2 solved budgets; the plan's own budget plays
 * no part. */
NEAP_MUST_USE neap_error *neap_curve_create(const neap_plan *plan, int64_t n_budgets,
                                            neap_curve **out);
void neap_curve_free(neap_curve *curve);
const struct neap_curve_report *neap_curve_get_report(const neap_curve *curve);

/* The frontier of a bare problem, in bytes of its live peak; budget and output play no part. */
NEAP_MUST_USE neap_error *neap_problem_curve(const struct neap_problem_options *options,
                                             int64_t n_budgets, neap_curve **out);

/* ---- files about a plan or a curve, written whole or not at all ---- */

enum neap_emit {
    NEAP_EMIT_DOT,   /* the step's graph, by what the plan does to it; no curve has one */
    NEAP_EMIT_SVG,   /* a plan: its memory over the steps; a curve: overhead over bytes */
    NEAP_EMIT_CSV,   /* the numbers of the figure */
    NEAP_EMIT_TORCH, /* Python that wraps modules in torch.utils.checkpoint; no curve has one */
    NEAP_N_EMITS
};
NEAP_MUST_USE neap_error *neap_plan_emit(const neap_plan *plan, enum neap_emit what,
                                         const char *path);
/* SVG or CSV; anything else is NEAP_ERROR_USAGE. */
NEAP_MUST_USE neap_error *neap_curve_emit(const neap_curve *curve, enum neap_emit what,
                                          const char *path);

/* A layer table: name, output shape, parameters, FLOPs, bytes, kept or recomputed. */
struct neap_layer {
    const char *name, *op;
    int rank;
    int64_t dims[6];
    int64_t parameters;
    double flops;
    int64_t bytes;
    bool kept;          /* something of it lives from forward to backward */
    int64_t recomputed; /* executions beyond the first, in the plan */
};
size_t neap_plan_layers(const neap_plan *plan, const struct neap_layer **layers);

/* ---- training, evaluation, proof ------------------------------------------------------------ */

enum neap_event_kind {
    NEAP_EVENT_BANNER, /* report is set */
    NEAP_EVENT_NOTE,   /* text is set: an automatic decision with its reason, or a warning */
    NEAP_EVENT_UPDATE,
    NEAP_EVENT_EPOCH,
    NEAP_EVENT_EVAL,
    NEAP_EVENT_SAVED, /* text is the path */
    NEAP_EVENT_DONE,
};
struct neap_event {
    enum neap_event_kind kind;
    const char *text;
    const struct neap_plan_report *report;
    int64_t epoch, epochs, update, updates; /* of the run; epochs count from 1, updates done */
    int64_t update_in_epoch, updates_per_epoch;
    double loss_scale;                      /* 1: nothing is scaled */
    int64_t skipped;                        /* updates so far that were left out */
    double update_loss;                     /* the mean over the update's own samples */
    double train_loss, train_top1;          /* means over the epoch so far; top1 in percent */
    double eval_loss, eval_top1, eval_top5; /* percent */
    int64_t images;
    double lr, seconds, images_per_second;
    double gradient_norm; /* of the update, before clipping; 0: not asked for */
    double data_seconds;  /* of the epoch: how long training waited for data */
    int64_t peak_planned_bytes, peak_measured_bytes; /* measured: with the arena's highest byte */
    int64_t arena_planned_bytes, arena_measured_bytes, rss_bytes;
};
struct neap_observer {
    void (*on_event)(void *user, const struct neap_event *event); /* NULL: silent */
    bool (*stop)(void *user); /* asked after every update; true saves and ends with
                                 NEAP_INTERRUPTED */
    void *user;
};

/* Trains as the options say, writing the run's folder (options.output) if there is one. */
NEAP_MUST_USE neap_error *neap_train(const struct neap_options *options,
                                     const struct neap_observer *observer);

/* The folder of the run that options.resume leads to, for what a caller keeps there; NULL where it
 * is "auto" and there is no checkpoint. free() it. */
NEAP_MUST_USE neap_error *neap_resume_folder(const struct neap_options *options, char **out);

struct neap_eval_report {
    double loss, top1, top5; /* percent */
    int64_t images;
    double seconds;
    int64_t peak_planned_bytes, peak_measured_bytes, arena_bytes, rss_bytes;
};
NEAP_MUST_USE neap_error *neap_evaluate(const struct neap_options *options,
                                        struct neap_eval_report *report);

/* Proof that a plan changes nothing: the plan against store-all at the plan's own slicing, on this
 * machine, bit for bit. */
struct neap_verify_report {
    bool identical;
    int64_t updates;
    int64_t batch, micro_batch;
    char decision[240];          /* how the slices were chosen; "": as asked for */
    double loss, loss_store_all; /* of the last update */
    int64_t losses_differing;
    int64_t gradient_tensors, gradient_values, gradients_differing;
    int64_t weight_values, weights_differing;
    int64_t buffer_tensors, buffer_values, buffers_differing;
    int64_t mask_tensors, mask_values, masks_differing;
    int64_t arena_planned_bytes, arena_measured_bytes;
    int64_t recomputed_ops;
    double overhead;                        /* planned */
    double seconds_store_all, seconds_plan; /* medians of a step */
    bool canaries_intact;                   /* nothing written between lives */
    char first_difference[160];
};
NEAP_MUST_USE neap_error *neap_verify(const struct neap_options *options,
                                      struct neap_verify_report *report);

/* ---- bench: strategies measured side by side ------------------------------------------------- */

/* What to measure, beside the options of a step, whose memory, arena, recompute, precision and
 * max_overhead are not read. Zero is the default of every field; strings are lists by commas. */
struct neap_bench_options {
    const char *suite;      /* "ogc": the networks of neap_published_at; NULL: the options' model */
    const char *networks;   /* of the suite; NULL: all */
    double scale;           /* of the suite's batches and bytes; 0: 1 */
    const char *strategies; /* of the model; NULL: none,sequential:2,sqrt,auto */
    const char *precisions; /* NULL: fp32 */
    const struct neap_size *memories, *arenas; /* a row of auto for each; none: half the arena */
    size_t n_memories, n_arenas;
    double seconds; /* of steps, for rows that take turns; three of each at least; 0: 20 */
    void (*on_progress)(void *user, const char *text); /* NULL: silent */
    void *user;
};

/* Bytes are as in neap_totals. Not measured: seconds, rss and arena_measured are 0, overhead is
 * NAN, and `missing` says why. */
struct neap_bench_row {
    const char *model, *precision;
    const char *setup; /* options that change what is measured */
    int64_t batch, micro_batch;
    bool input_gradient;
    const char *strategy; /* none, sqrt, auto, … */
    const char *limit;    /* of auto: "arena", "memory", "overhead"; "none" */
    const char *flags;    /* the limit as an option: "--arena 50%" */
    const char *slicing;  /* as asked for: "off", "auto", "8" */
    bool fits;
    const char *missing; /* "": measured */
    int64_t arena_planned_bytes, arena_measured_bytes, peak_planned_bytes, rss_bytes;
    int64_t steps; /* timed, after a warm-up */
    double seconds_median, seconds_min, images_per_second;
    double overhead;         /* measured, of store-all's median; the first row of its group */
    double overhead_planned; /* and as the plan's costs have it */
    double gap;              /* of overhead_planned to what no plan can beat */
    int64_t recomputed_ops;
    double plan_seconds;
    const char *worst_moment;
};

/* The published table of a suite. */
struct neap_published {
    const char *network;
    int64_t batch, image_size;
    int64_t store_all_mib, arena_mib;
    double store_all_seconds, seconds, overhead; /* a fraction */
};
/* NULL past the last. */
const struct neap_published *neap_published_at(const char *suite, size_t index);

/* What a suite is to show. */
struct neap_bench_mark {
    const char *text;
    int64_t met, of, needed; /* networks */
};
struct neap_bench_report {
    const char *version, *machine;
    const char *suite; /* NULL: a model */
    double scale;
    bool planned_only; /* a dry run: nothing was measured, and the marks are of what was planned */
    const struct neap_bench_row *rows;
    const struct neap_bench_mark *marks; /* of the unsliced rows without the input's gradient */
    const char *const *misses;           /* why a network misses a mark, in words */
    size_t n_rows, n_marks, n_misses;
};

typedef struct neap_bench neap_bench;

/* Plans, runs and times every row, those of a network taking turns. Results are kept in
 * options->output, if there is one, after each group of rows; rows found there are not measured
 * again. */
NEAP_MUST_USE neap_error *neap_bench_create(const struct neap_options *options,
                                            const struct neap_bench_options *bench,
                                            neap_bench **out);
void neap_bench_free(neap_bench *bench);
const struct neap_bench_report *neap_bench_get_report(const neap_bench *bench);

enum neap_bench_format { NEAP_BENCH_TABLE, NEAP_BENCH_CSV, NEAP_BENCH_JSON, NEAP_BENCH_MARKDOWN };
NEAP_MUST_USE neap_error *neap_bench_print(const neap_bench *bench, enum neap_bench_format format,
                                           FILE *file);

/* ---- what there is -------------------------------------------------------------------------- */

struct neap_model_info {
    const char *name, *summary;
    int64_t channels, image_size, num_classes;
};
/* NULL past the last. */
const struct neap_model_info *neap_model_at(size_t index);

struct neap_dataset_info {
    const char *name, *summary, *install; /* install: the command that provides it */
};
const struct neap_dataset_info *neap_dataset_at(size_t index);

/* Versions, processor, libraries, memory and devices: lines of "key: value". */
NEAP_MUST_USE neap_error *neap_env_print(FILE *file);
/* What a file is and what is in it; NEAP_ERROR_DATA where it is none that neap knows. */
NEAP_MUST_USE neap_error *neap_inspect_file(const char *path, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
