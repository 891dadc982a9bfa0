/* Options → model → compiled step → plan under the budget: see session.h. */
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "train/costs.h"
#include "train/data.h"
#include "train/guard.h"
#include "train/options.h"

int64_t session_window(const struct neap_plan *s) {
    return s->options.batch * s->accumulation.most_steps;
}

/* What a loader of training data holds: fp32 images and labels. */
static int64_t queue_bytes(const struct neap_plan *s) {
    int64_t shape[3], classes;
    session_sample_shape(s->model, shape, &classes);
    return LOADER_DEPTH * s->options.batch * (shape[0] * shape[1] * shape[2] * 4 + 4);
}

bool session_is_guarded(const struct neap_plan *s) {
    return !s->evaluation && (s->options.on_nan == NEAP_NAN_SKIP || s->precision == DTYPE_F16);
}

int64_t session_host_bytes(const struct neap_plan *s) {
    if (s->without_host)
        return 0;
    bool guarded = session_is_guarded(s);
    return (s->data ? run_data_bytes(s->data, &s->options) : queue_bytes(s)) +
           (guarded ? guard_bytes(s->model) : 0);
}

/* ---- compiling ------------------------------------------------------------------------------ */

/* The overhead decides the memory: nothing else may. */
static neap_error *check_overhead(const struct neap_options *o) {
    bool bounded = o->memory.kind != NEAP_SIZE_UNSET || o->arena.kind != NEAP_SIZE_UNSET;
    bool told = (o->recompute && strcmp(o->recompute, "auto")) || o->recompute_layers || o->plan;
    bool open = o->batch == NEAP_BATCH_MAX || o->max_batch || o->micro_batch < 0;
    if (!bounded && !told && !open)
        return NULL;
    return error_make(NEAP_ERROR_USAGE,
                      "the smallest arena within an overhead is found by '--recompute auto', "
                      "without another limit, for a batch and slices that are given");
}

static neap_error *check_options(const struct neap_options *o) {
    bool largest = o->batch == NEAP_BATCH_MAX,
         sliced_by_us = o->micro_batch == NEAP_MICRO_BATCH_AUTO;
    if (o->batch < 1 && !largest)
        return error_make(NEAP_ERROR_USAGE, "batch %lld: there must be at least one sample",
                          (long long)o->batch);
    if (!sliced_by_us && (o->micro_batch < 0 || (o->micro_batch > o->batch && !largest)))
        return error_make(NEAP_ERROR_USAGE, "micro-batch %lld is not between 1 and the batch, %lld",
                          (long long)o->micro_batch, (long long)o->batch);
    if (o->max_overhead >= 0)
        TRY(check_overhead(o));
    if (!(o->clip_grad >= 0))
        return error_make(NEAP_ERROR_USAGE, "gradients clipped at a norm of %g: it is above 0",
                          o->clip_grad);
    return NULL;
}

static neap_error *precision_of(const char *name, enum dtype *out) {
    static const struct {
        const char *name;
        enum dtype dtype;
    } precisions[] = {{"fp32", DTYPE_F32}, {"bf16", DTYPE_BF16}, {"fp16", DTYPE_F16}};
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        if (!strcmp(precisions[i].name, name)) {
            *out = precisions[i].dtype;
            return NULL;
        }
    return error_make(NEAP_ERROR_USAGE, "unknown precision '%s': there are fp32, bf16 and fp16",
                      name);
}

int64_t session_micro_size(const struct neap_options *o) {
    return o->micro_batch ? o->micro_batch : o->batch;
}

neap_error *session_decide(struct neap_plan *s, const char *text) {
    const char *before = s->report.decision;
    return before ? pool_format(&s->pool, &s->report.decision, "%s; %s", before, text)
                  : pool_string(&s->pool, text, &s->report.decision);
}

void session_choose_gradients(struct neap_plan *s) {
    const struct neap_options *o = &s->options;
    bool several = s->accumulation.most_steps > 1 || session_micro_size(o) < o->batch;
    /* Gradients are looked at before any of them is used. */
    bool stored =
        o->fuse_update == NEAP_OFF || o->clip_grad > 0 || session_is_guarded(s) || !s->update.op;
    s->update.gradients = several  ? GRADIENTS_ACCUMULATED
                          : stored ? GRADIENTS_STORED
                                   : GRADIENTS_FUSED;
}

/* `fixed` gives the layouts of persistent values, NULL leaves them to the kernels. */
static struct compile_options compile_options_at(const struct neap_plan *s, int64_t batch,
                                                 bool training, const neap_graph *fixed) {
    return (struct compile_options){.model = s->model,
                                    .batch = batch,
                                    .training = training,
                                    .precision = s->precision,
                                    .scaled_loss = s->precision == DTYPE_F16,
                                    .update = s->update,
                                    .input_gradient = s->options.input_gradient,
                                    .seed = 1 / (double)session_window(s),
                                    .device = s->device,
                                    .fixed = fixed,
                                    /* measuring allocates: not beside a store and an arena */
                                    .measured = fixed ? NULL : s->measured};
}

neap_error *session_compile_at(const struct neap_plan *s, int64_t batch, bool training,
                               const neap_graph *fixed, struct compiled **out) {
    const struct compile_options o = compile_options_at(s, batch, training, fixed);
    return compile(&o, out);
}

/* ---- together ------------------------------------------------------------------------------- */

/* Says what an effective batch is in steps. */
static neap_error *complete(struct neap_plan *s) {
    int64_t effective = s->options.effective_batch;
    char text[80];
    TRY(options_complete(&s->options, &s->pool));
    TRY(accumulation_parse(s->options.grad_accum_steps, &s->accumulation));
    if (!effective)
        return NULL;
    snprintf(text, sizeof text, "--effective-batch %lld: --grad-accum-steps %s",
             (long long)effective, s->options.grad_accum_steps);
    return session_decide(s, text);
}

/* What compiling needs, and in the options numbers for all that was left to us. */
static neap_error *open_parts(struct neap_plan *s, const struct session_request *r) {
    s->data = r->data;
    s->without_host = r->without_host;
    s->evaluation = r->evaluation;
    s->available_bytes = neap_available_bytes();
    s->deadline = deadline_start(s->options.time_limit_seconds);
    TRY(check_options(&s->options));
    TRY(precision_of(s->options.precision, &s->precision));
    TRY(scaler_of(s->options.loss_scale, s->precision == DTYPE_F16, &s->scaler));
    TRY(complete(s));
    TRY(optimizer_of(&s->options, &s->optimizer_attrs, &s->update));
    TRY(session_open_model(r, &s->model));
    TRY(session_choose_strategy(s));
    s->device = r->device;
    s->owns_device = !r->device;
    if (s->owns_device)
        TRY(device_open(s->options.device, s->options.threads, &s->device));
    s->measured = r->measured;
    s->owns_measured = !r->measured;
    if (s->owns_measured)
        TRY(costs_open(&s->options, s->device, &s->measured));
    TRY(session_find_batch(s));
    TRY(session_choose_slicing(s));
    session_choose_gradients(s);
    return NULL;
}

/* Whoever opened them keeps them. */
static neap_error *keep_costs(struct neap_plan *s) {
    if (!s->measured || !s->owns_measured)
        return NULL;
    measured_save(s->measured);
    return measured_note(s->measured) ? session_decide(s, measured_note(s->measured)) : NULL;
}

static neap_error *build(struct neap_plan *s, const struct session_request *r) {
    TRY(open_parts(s, r));
    s->host_bytes = session_host_bytes(s);
    TRY(session_compile_at(s, s->options.batch, !s->evaluation, NULL, &s->whole));
    s->step = s->whole;
    if (session_micro_size(&s->options) < s->options.batch)
        TRY(session_compile_at(s, session_micro_size(&s->options), !s->evaluation, NULL, &s->step));
    double start = process_seconds();
    TRY(session_plan_step(s));
    s->report.solver_seconds = process_seconds() - start;
    TRY(session_report(s));
    if (r->advise)
        TRY(session_advise_slicing(s));
    TRY(session_report_batch(s));
    return keep_costs(s);
}

neap_error *session_create(const struct session_request *request, struct neap_plan **out) {
    struct neap_plan *s;
    *out = NULL;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->options = *request->options;
    neap_error *error = build(s, request);
    if (error) {
        neap_plan_free(s);
        return error;
    }
    *out = s;
    if (!s->report.fits && !request->allow_unfit)
        return session_refuse(s);
    return NULL;
}

void neap_plan_free(neap_plan *s) {
    if (!s)
        return;
    plan_result_free(&s->store_all);
    plan_result_free(&s->plan);
    if (s->step != s->whole)
        compiled_free(s->step);
    compiled_free(s->whole);
    graph_free(s->model);
    if (s->owns_measured)
        measured_free(s->measured);
    if (s->owns_device)
        device_close(s->device);
    free(s->layers);
    pool_free(&s->pool);
    free(s);
}

neap_error *session_dump(const struct neap_options *options,
                         bool (*on_stage)(void *user, const char *stage, const neap_graph *g),
                         void *user) {
    struct neap_plan *s;
    struct compiled *c;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->options = *options;
    neap_error *error = open_parts(s, &(struct session_request){.options = options});
    if (!error) {
        struct compile_options o = compile_options_at(s, session_micro_size(options), true, NULL);
        o.on_stage = on_stage;
        o.user = user;
        error = compile(&o, &c);
    }
    if (!error)
        compiled_free(c);
    neap_plan_free(s);
    return error;
}
