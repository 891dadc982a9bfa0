/* Options → model → compiled step → plan under the budget: see session.h. */
#include "train/session.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/process.h"
#include "ops/ops.h"

enum { HEADROOM_BYTES = 256 << 20 };

void neap_options_default(struct neap_options *o) {
    *o = (struct neap_options){
        .dropout = -1,
        .batch = 64,
        .grad_accum_steps = 1,
        .recompute = "auto",
        .precision = "fp32",
        .optimizer = "sgd",
        .lr = 0.05,
        .momentum = 0.9,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
        .schedule = "constant",
        .normalize = "auto",
        .data_format = "auto",
        .epochs = 1,
        .updates = 3,
        .shuffle = true,
        .loader_threads = 1,
        .device = "cpu",
    };
}

int64_t session_window(const struct neap_plan *s) {
    return s->options.batch * s->options.grad_accum_steps;
}

/* ---- the model ------------------------------------------------------------------------------ */

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

neap_error *neap_graph_read(const char *path, neap_graph **out) {
    struct file_bytes text;
    TRY(file_read(path, 64 << 20, NEAP_ERROR_MODEL, &text));
    neap_error *error = NULL;
    if ((int64_t)strlen(text.data) != text.size_bytes)
        error = error_make(NEAP_ERROR_MODEL, "%s: not a graph's text: it holds a zero byte", path);
    else
        error = graph_read_text(text.data, path, &all_ops, out);
    free(text.data);
    return error;
}

static neap_error *open_model(const struct session_request *r, neap_graph **out) {
    const struct neap_options *o = r->options;
    if (o->graph)
        return graph_clone(o->graph, out);
    if (!o->model)
        return error_make(NEAP_ERROR_USAGE, "no model given");
    if (ends_in(o->model, ".neap"))
        return neap_graph_read(o->model, out);
    return neap_graph_model(o->model,
                            &(struct neap_model_options){
                                .batch = o->batch,
                                .num_classes = o->num_classes ? o->num_classes : r->num_classes,
                                .image_size = o->img_size ? o->img_size : r->image_size,
                                .channels = r->channels,
                                .dropout = o->dropout,
                                .dropout_set = o->dropout >= 0},
                            out);
}

void session_sample_shape(const neap_graph *model, int64_t shape[3], int64_t *n_classes) {
    shape[0] = shape[1] = shape[2] = 1;
    for (value_id v = 0; v < model->n_values; v++) {
        const struct value *value = graph_value(model, v);
        if (value->kind == VALUE_INPUT && v != model->roles.labels && value->shape.rank > 1)
            for (int d = 1; d < value->shape.rank && d < 4; d++)
                shape[d - 1] = value->shape.dim[d];
    }
    *n_classes =
        model->roles.logits == ID_NONE ? 0 : graph_value(model, model->roles.logits)->shape.dim[1];
}

neap_error *session_model_shape(const struct neap_options *options, int64_t shape[3],
                                int64_t *n_classes) {
    neap_graph *model;
    TRY(open_model(&(struct session_request){.options = options}, &model));
    session_sample_shape(model, shape, n_classes);
    graph_free(model);
    return NULL;
}

/* What a loader of training data holds: fp32 images and labels. */
static int64_t queue_bytes(const struct neap_plan *s) {
    int64_t shape[3], classes;
    session_sample_shape(s->model, shape, &classes);
    return LOADER_DEPTH * s->options.batch * (shape[0] * shape[1] * shape[2] * 4 + 4);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static neap_error *check_options(const struct neap_options *o) {
    if (o->batch < 1)
        return error_make(NEAP_ERROR_USAGE, "batch %lld: there must be at least one sample",
                          (long long)o->batch);
    if (o->grad_accum_steps < 1)
        return error_make(NEAP_ERROR_USAGE, "%lld accumulation steps: there must be at least one",
                          (long long)o->grad_accum_steps);
    if (o->micro_batch < 0 || o->micro_batch > o->batch)
        return error_make(NEAP_ERROR_USAGE, "micro-batch %lld is not between 1 and the batch, %lld",
                          (long long)o->micro_batch, (long long)o->batch);
    if (o->memory.kind == NEAP_SIZE_MIN && (strcmp(o->recompute, "auto") || o->recompute_layers))
        return error_make(NEAP_ERROR_USAGE,
                          "the smallest memory is found by '--recompute auto': it cannot be told "
                          "what to recompute");
    if (strcmp(o->precision, "fp32"))
        return error_make(NEAP_ERROR_USAGE, "unknown precision '%s': there is fp32", o->precision);
    return NULL;
}

static int64_t micro_size(const struct neap_options *o) {
    return o->micro_batch ? o->micro_batch : o->batch;
}

static void choose_gradients(struct neap_plan *s) {
    const struct neap_options *o = &s->options;
    bool several = o->grad_accum_steps > 1 || micro_size(o) < o->batch;
    s->update.gradients = several                      ? GRADIENTS_ACCUMULATED
                          : o->fuse_update == NEAP_OFF ? GRADIENTS_STORED
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

/* ---- the budget ----------------------------------------------------------------------------- */

int64_t session_outside_arena(const struct neap_plan *s, const struct compiled *c) {
    const struct persistent_bytes *p = &c->persistent;
    return p->weights + p->gradients + p->optimizer + p->buffers + s->host_bytes;
}

/* The bytes that the arena may take, and of both limits the one that binds, for the report. */
static int64_t arena_budget(struct neap_plan *s) {
    const struct neap_size *arena = &s->options.arena, *memory = &s->options.memory;
    int64_t outside = session_outside_arena(s, s->step), budget = INT64_MAX;
    if (arena->kind == NEAP_SIZE_BYTES)
        budget = arena->bytes;
    else if (arena->kind == NEAP_SIZE_PERCENT)
        budget = (int64_t)(arena->percent * (double)s->store_all.arena_bytes / 100);
    int64_t total = neap_available_bytes() - HEADROOM_BYTES;
    if (memory->kind == NEAP_SIZE_BYTES)
        total = memory->bytes;
    else if (memory->kind == NEAP_SIZE_PERCENT)
        total = (int64_t)(memory->percent * (double)neap_available_bytes() / 100);
    bool memory_counts = memory->kind != NEAP_SIZE_UNSET || arena->kind == NEAP_SIZE_UNSET;
    bool least = memory->kind == NEAP_SIZE_MIN;
    s->report.budget_is_arena =
        budget < INT64_MAX && (!memory_counts || least || budget < total - outside);
    if (!s->report.budget_is_arena)
        budget = least ? INT64_MAX : total - outside;
    s->report.budget_bytes = s->report.budget_is_arena ? budget : total;
    return budget > 0 ? budget : 0;
}

/* By op: does one of the comma-separated patterns match its layer's name? */
static neap_error *find_wrapped(const struct compiled *c, const char *patterns, bool **out) {
    char *copy = NULL, *save = NULL;
    bool any = false;
    *out = NULL;
    neap_error *error = memory_string(patterns, &copy);
    if (!error)
        error = memory_alloc(c->problem.n_ops, sizeof **out, out);
    for (char *p = error ? NULL : strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
        for (uint32_t o = 0; o < plan_border(&c->problem); o++) {
            (*out)[o] = (*out)[o] || !fnmatch(p, graph_node(c->g, c->node_of_op[o])->name, 0);
            any = any || (*out)[o];
        }
    if (!error && !any)
        error = error_make(NEAP_ERROR_USAGE, "no layer's name matches '%s'", patterns);
    free(copy);
    if (error) {
        free(*out);
        *out = NULL;
    }
    return error;
}

neap_error *session_solve(const struct compiled *c, const struct neap_options *o,
                          int64_t budget_bytes, struct plan_result *out) {
    bool *wrapped = NULL;
    if (o->recompute_layers)
        TRY(find_wrapped(c, o->recompute_layers, &wrapped));
    const struct plan_request request = {.strategy = o->recompute,
                                         .wrapped = wrapped,
                                         .budget_bytes = budget_bytes,
                                         .alignment_bytes = ALIGNMENT_BYTES};
    neap_error *error = plan_solve(&c->problem, &request, out);
    free(wrapped);
    return error;
}

static neap_error *solve_store_all(const struct compiled *c, struct plan_result *out) {
    const struct plan_request request = {
        .strategy = "none", .budget_bytes = INT64_MAX, .alignment_bytes = ALIGNMENT_BYTES};
    return plan_solve(&c->problem, &request, out);
}

/* The smallest budget that a plan was found for, in the limit's unit. */
static neap_error *find_smallest(struct neap_plan *s) {
    struct plan_result least;
    struct neap_options o = s->options;
    o.recompute = "auto";
    o.recompute_layers = NULL;
    TRY(session_solve(s->step, &o, 0, &least));
    int64_t floor = plan_floor(&s->step->problem);
    int64_t micro = micro_size(&s->options), micro_batches = (s->options.batch + micro - 1) / micro;
    double micro_seconds, update_seconds;
    bool planned_less = s->plan.schedule.n && s->plan.arena_bytes < least.arena_bytes;
    compiled_seconds(s->step, planned_less ? &s->plan.schedule : &least.schedule, &micro_seconds,
                     &update_seconds);
    if (planned_less)
        least.arena_bytes = s->plan.arena_bytes;
    s->report.arena_lower_bound_bytes = floor;
    s->report.smallest_proven = least.arena_bytes == floor;
    s->report.smallest_overhead =
        (micro_seconds * (double)micro_batches + update_seconds) / s->store_all.measure.seconds - 1;
    s->report.smallest_budget_bytes =
        least.arena_bytes + (s->report.budget_is_arena ? 0 : session_outside_arena(s, s->step));
    if (s->options.memory.kind == NEAP_SIZE_MIN) {
        s->plan = least;
        s->plan.fits = least.arena_bytes <= s->arena_budget_bytes;
        if (s->plan.fits && !s->report.budget_is_arena)
            s->report.budget_bytes = s->report.smallest_budget_bytes;
        return NULL;
    }
    plan_result_free(&least);
    return NULL;
}

/* ---- together ------------------------------------------------------------------------------- */

static neap_error *plan_step(struct neap_plan *s) {
    bool least = s->options.memory.kind == NEAP_SIZE_MIN;
    TRY(solve_store_all(s->whole, &s->store_all));
    s->arena_budget_bytes = arena_budget(s);
    if (!least)
        TRY(session_solve(s->step, &s->options, s->arena_budget_bytes, &s->plan));
    return find_smallest(s);
}

/* Options that the model has no use for are refused: they would do nothing. */
static neap_error *check_model_options(const struct neap_options *o, const neap_graph *model) {
    bool zoo = !o->graph && !ends_in(o->model, ".neap"), drops = false;
    for (node_id n = 0; n < model->n_nodes; n++)
        drops = drops || graph_node(model, n)->op == &op_dropout;
    if (o->dropout > 0 && !(zoo && drops))
        return error_make(NEAP_ERROR_USAGE, "--dropout: '%s' has none to set", model->name);
    if (!zoo && (o->num_classes || o->img_size))
        return error_make(
            NEAP_ERROR_USAGE,
            "--num-classes and --img-size are for models by name: '%s' has its shapes",
            model->name);
    return NULL;
}

/* What compiling needs. */
static neap_error *open_parts(struct neap_plan *s, const struct session_request *r) {
    TRY(check_options(&s->options));
    TRY(optimizer_of(&s->options, &s->optimizer_attrs, &s->update));
    choose_gradients(s);
    TRY(open_model(r, &s->model));
    TRY(check_model_options(&s->options, s->model));
    s->device = r->device;
    s->owns_device = !r->device;
    return s->owns_device ? device_open(s->options.device, s->options.threads, &s->device) : NULL;
}

static neap_error *build(struct neap_plan *s, const struct session_request *r) {
    TRY(open_parts(s, r));
    s->host_bytes = r->host_bytes >= 0 ? r->host_bytes : queue_bytes(s);
    s->evaluation = r->evaluation;
    TRY(session_compile_at(s, s->options.batch, !s->evaluation, NULL, &s->whole));
    s->step = s->whole;
    if (micro_size(&s->options) < s->options.batch)
        TRY(session_compile_at(s, micro_size(&s->options), !s->evaluation, NULL, &s->step));
    double start = process_seconds();
    TRY(plan_step(s));
    s->report.solver_seconds = process_seconds() - start;
    return session_report(s);
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
        struct compile_options o = compile_options_at(s, micro_size(options), true, NULL);
        o.on_stage = on_stage;
        o.user = user;
        error = compile(&o, &c);
    }
    if (!error)
        compiled_free(c);
    neap_plan_free(s);
    return error;
}

neap_error *session_compile(struct neap_plan *s, int64_t batch, bool training,
                            struct session_program *out) {
    *out = (struct session_program){0};
    TRY(session_compile_at(s, batch, training, s->step->g, &out->compiled));
    struct neap_options o = s->options;
    if (!training) { /* without a backward there is nothing to compute again */
        o.recompute = "none";
        o.recompute_layers = NULL;
    }
    neap_error *error = session_solve(out->compiled, &o, s->plan.arena_bytes, &out->plan);
    if (!error && !out->plan.fits) { /* a larger arena, as far as the budget goes */
        plan_result_free(&out->plan);
        error = session_solve(out->compiled, &o, s->arena_budget_bytes, &out->plan);
    }
    if (!error && !out->plan.fits)
        error = error_make(NEAP_ERROR_BUDGET,
                           "%s %lld samples at once needs an arena of %lld bytes, the budget "
                           "leaves %lld: another micro-batch or a larger budget would fit",
                           training ? "training" : "evaluating", (long long)batch,
                           (long long)out->plan.arena_bytes, (long long)s->arena_budget_bytes);
    if (error)
        session_program_free(out);
    return error;
}

void session_program_free(struct session_program *program) {
    plan_result_free(&program->plan);
    compiled_free(program->compiled);
    *program = (struct session_program){0};
}

neap_error *session_link(const struct compiled *c, const struct plan_result *plan,
                         const struct arena *arena, const struct store *store,
                         struct program **out) {
    const struct program_source source = {.g = c->g,
                                          .kernels = c->kernels,
                                          .states = c->states,
                                          .problem = &c->problem,
                                          .node_of_op = c->node_of_op,
                                          .plan_of_value = c->plan_of_value,
                                          .scratch_of_node = c->scratch_of_node,
                                          .schedule = &plan->schedule,
                                          .lives = &plan->lives};
    return program_create(&source, arena, store, out);
}
