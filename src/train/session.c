/* Options → model → compiled step → plan under the budget: see session.h. */
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "train/data.h"

int64_t session_window(const struct neap_plan *s) {
    return s->options.batch * s->accumulation.most_steps;
}

/* What a loader of training data holds: fp32 images and labels. */
static int64_t queue_bytes(const struct neap_plan *s) {
    int64_t shape[3], classes;
    session_sample_shape(s->model, shape, &classes);
    return LOADER_DEPTH * s->options.batch * (shape[0] * shape[1] * shape[2] * 4 + 4);
}

int64_t session_host_bytes(const struct neap_plan *s) {
    if (s->without_host)
        return 0;
    return s->data ? run_data_bytes(s->data, &s->options) : queue_bytes(s);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static neap_error *check_options(const struct neap_options *o) {
    bool largest = o->batch == NEAP_BATCH_MAX,
         sliced_by_us = o->micro_batch == NEAP_MICRO_BATCH_AUTO;
    if (o->batch < 1 && !largest)
        return error_make(NEAP_ERROR_USAGE, "batch %lld: there must be at least one sample",
                          (long long)o->batch);
    if (!sliced_by_us && (o->micro_batch < 0 || (o->micro_batch > o->batch && !largest)))
        return error_make(NEAP_ERROR_USAGE, "micro-batch %lld is not between 1 and the batch, %lld",
                          (long long)o->micro_batch, (long long)o->batch);
    if (strcmp(o->precision, "fp32"))
        return error_make(NEAP_ERROR_USAGE, "unknown precision '%s': there is fp32", o->precision);
    if (!(o->clip_grad >= 0))
        return error_make(NEAP_ERROR_USAGE, "gradients clipped at a norm of %g: it is above 0",
                          o->clip_grad);
    return NULL;
}

/* `samples` an update, in batches: whole ones only. */
static neap_error *steps_of_samples(int64_t samples, int64_t batch, int64_t *steps) {
    *steps = samples / batch;
    if (*steps >= 1 && samples % batch == 0)
        return NULL;
    if (*steps < 1)
        return error_make(NEAP_ERROR_USAGE,
                          "an effective batch of %lld is less than the batch, %lld: the nearest "
                          "is %lld",
                          (long long)samples, (long long)batch, (long long)batch);
    int64_t below = *steps * batch, above = below + batch;
    return error_make(NEAP_ERROR_USAGE,
                      "an effective batch of %lld is no multiple of the batch, %lld: the nearest "
                      "is %lld (%lld and %lld are possible)",
                      (long long)samples, (long long)batch,
                      (long long)(samples - below <= above - samples ? below : above),
                      (long long)below, (long long)above);
}

/* Steps by the schedule, or as many as make the effective batch. */
static neap_error *choose_accumulation(struct neap_plan *s) {
    struct neap_options *o = &s->options;
    TRY(accumulation_parse(o->grad_accum_steps, &s->accumulation));
    if (!o->effective_batch)
        return NULL;
    if (o->grad_accum_steps)
        return error_make(NEAP_ERROR_USAGE,
                          "--effective-batch and --grad-accum-steps say the same thing: give one");
    if (o->batch == NEAP_BATCH_MAX)
        return error_make(NEAP_ERROR_USAGE,
                          "--effective-batch is counted in batches: -b max is none yet");
    int64_t steps;
    char text[80];
    TRY(steps_of_samples(o->effective_batch, o->batch, &steps));
    snprintf(text, sizeof text, "--effective-batch %lld: --grad-accum-steps %lld",
             (long long)o->effective_batch, (long long)steps);
    TRY(pool_format(&s->pool, &o->grad_accum_steps, "%lld", (long long)steps));
    o->effective_batch = 0;
    TRY(accumulation_parse(o->grad_accum_steps, &s->accumulation));
    return session_decide(s, text);
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
    bool together = o->fuse_update == NEAP_OFF || o->clip_grad > 0;
    s->update.gradients = several    ? GRADIENTS_ACCUMULATED
                          : together ? GRADIENTS_STORED
                                     : GRADIENTS_FUSED;
}

/* `fixed` gives the layouts of persistent values, NULL leaves them to the kernels. */
static struct compile_options compile_options_at(const struct neap_plan *s, int64_t batch,
                                                 bool training, const neap_graph *fixed) {
    return (struct compile_options){.model = s->model,
                                    .batch = batch,
                                    .training = training,
                                    .update = s->update,
                                    .input_gradient = s->options.input_gradient,
                                    .seed = 1 / (double)session_window(s),
                                    .device = s->device,
                                    .fixed = fixed,
                                    /* measuring allocates: not beside a store and an arena */
                                    .measured_costs =
                                        s->options.cost == NEAP_COST_MEASURED && !fixed};
}

neap_error *session_compile_at(const struct neap_plan *s, int64_t batch, bool training,
                               const neap_graph *fixed, struct compiled **out) {
    const struct compile_options o = compile_options_at(s, batch, training, fixed);
    return compile(&o, out);
}

/* ---- together ------------------------------------------------------------------------------- */

/* What compiling needs, and in the options numbers for all that was left to us. */
static neap_error *open_parts(struct neap_plan *s, const struct session_request *r) {
    s->data = r->data;
    s->without_host = r->without_host;
    s->evaluation = r->evaluation;
    s->available_bytes = neap_available_bytes();
    s->deadline = deadline_start(s->options.time_limit_seconds);
    TRY(check_options(&s->options));
    TRY(choose_accumulation(s));
    TRY(optimizer_of(&s->options, &s->optimizer_attrs, &s->update));
    TRY(session_open_model(r, &s->model));
    TRY(session_choose_strategy(s));
    s->device = r->device;
    s->owns_device = !r->device;
    if (s->owns_device)
        TRY(device_open(s->options.device, s->options.threads, &s->device));
    TRY(session_find_batch(s));
    TRY(session_choose_slicing(s));
    session_choose_gradients(s);
    return NULL;
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
    return session_report_batch(s);
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
