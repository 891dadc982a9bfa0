/* Store, arena and programs together: see engine.h. */
#include "train/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/gradients.h"

static struct engine_program *find_program(struct engine *e, int64_t samples, bool training) {
    for (int i = 0; i < e->n_programs; i++)
        if (e->programs[i].samples == samples && e->programs[i].training == training)
            return &e->programs[i];
    return NULL;
}

/* A program for `samples`, unless there is one; 0 samples need none. */
static neap_error *add_program(struct engine *e, int64_t samples, bool training) {
    if (samples == 0 || find_program(e, samples, training))
        return NULL;
    struct neap_plan *s = e->session;
    struct engine_program *p = &e->programs[e->n_programs];
    bool own = training == s->evaluation || samples != graph_batch(s->step->g);
    *p = (struct engine_program){.samples = samples, .training = training};
    e->n_programs++;
    return own ? session_compile(s, samples, training, &p->own) : NULL;
}

const struct plan_result *engine_plan(const struct engine *e, int i) {
    return e->programs[i].own.compiled ? &e->programs[i].own.plan : &e->session->plan;
}

/* One arena for all programs: the largest that one of them needs. */
static void size_arena(struct engine *e) {
    struct neap_totals *total = &e->session->report.plan;
    int64_t bytes = total->arena_bytes;
    for (int i = 0; i < e->n_programs; i++)
        if (engine_plan(e, i)->arena_bytes > bytes)
            bytes = engine_plan(e, i)->arena_bytes;
    total->peak_bytes += bytes - total->arena_bytes;
    total->arena_bytes = bytes;
}

static neap_error *make_store(struct engine *e, const struct engine_request *r) {
    struct neap_plan *s = e->session;
    e->store = r->store;
    e->borrowed_store = r->store;
    if (r->store)
        return NULL;
    TRY(store_create(s->device, s->step->g, ALIGNMENT_BYTES, &e->store));
    store_init(e->store, s->options.seed);
    return NULL;
}

static neap_error *make_arena(struct engine *e, const struct engine_request *r) {
    struct neap_plan *s = e->session;
    e->borrowed_arena = r->arena;
    if (!r->arena)
        return arena_create(s->device, s->report.plan.arena_bytes, &e->arena);
    e->arena = *r->arena;
    return NULL;
}

static neap_error *allocate(struct engine *e, const struct engine_request *r) {
    struct neap_plan *s = e->session;
    TRY(make_store(e, r));
    if (session_is_guarded(s))
        TRY(guard_create(e->store, &e->guard));
    TRY(make_arena(e, r));
    for (int i = 0; i < e->n_programs; i++) {
        const struct compiled *own = e->programs[i].own.compiled;
        TRY(session_link(own ? own : s->step, engine_plan(e, i), &e->arena, e->store,
                         &e->programs[i].program));
    }
    return NULL;
}

/* The sizes that `samples` in batches, sliced, come in: slices, the last of a batch, and those of
 * the short last batch. */
static neap_error *add_programs(struct engine *e, int64_t samples, bool training) {
    int64_t batch = e->session->options.batch, micro = graph_batch(e->session->step->g);
    int64_t last = samples % batch;
    if (samples >= batch) {
        TRY(add_program(e, micro, training));
        TRY(add_program(e, batch % micro, training));
    }
    if (last >= micro)
        TRY(add_program(e, micro, training));
    return add_program(e, last % micro, training);
}

/* What run_slice fills: one input of images and one of labels. */
static neap_error *check_inputs(const neap_graph *model) {
    const struct graph_roles *roles = &model->roles;
    bool classifies = roles->labels != ID_NONE && roles->logits != ID_NONE &&
                      graph_value(model, roles->logits)->shape.rank == 2 &&
                      graph_value(model, roles->labels)->dtype == DTYPE_I32;
    int n_inputs = 0, n_images = 0;
    for (value_id v = 0; v < model->n_values; v++) {
        const struct value *value = graph_value(model, v);
        if (value->kind != VALUE_INPUT || v == roles->labels)
            continue;
        n_inputs++;
        n_images += value->dtype == DTYPE_F32 && value->shape.rank > 1 && value->shape.rank <= 4;
    }
    if (classifies && n_inputs == 1 && n_images == 1)
        return NULL;
    return error_make(NEAP_ERROR_MODEL,
                      "'%s' can be planned, but not run: that takes one f32 input of rank 2 to 4, "
                      "i32 labels and logits of rank 2",
                      model->name);
}

neap_error *engine_create(const struct engine_request *r, struct engine **out) {
    struct engine *e;
    struct neap_plan *s = r->session;
    TRY(check_inputs(s->model));
    TRY(memory_alloc(1, sizeof *e, &e));
    e->session = s;
    e->params.seed = s->options.seed;
    e->scaler = s->scaler;
    neap_error *error = NULL;
    if (!s->evaluation)
        TRY_GOTO(add_programs(e, r->train_samples ? r->train_samples : s->options.batch, true));
    TRY_GOTO(add_programs(e, r->eval_samples, false));
    size_arena(e);
    if (!r->dry)
        TRY_GOTO(allocate(e, r));
done:
    if (error)
        engine_free(e);
    else
        *out = e;
    return error;
}

void engine_free(struct engine *e) {
    if (!e)
        return;
    for (int i = 0; i < ENGINE_PROGRAMS; i++) {
        program_free(e->programs[i].program);
        session_program_free(&e->programs[i].own);
    }
    if (!e->borrowed_arena)
        arena_free(&e->arena);
    guard_free(&e->guard);
    if (!e->borrowed_store)
        store_free(e->store);
    free(e);
}

void engine_begin(struct engine *e, uint64_t update, double lr, int64_t true_count) {
    e->params.update = update;
    e->params.lr = lr;
    e->params.loss_scale = e->scaler.scale;
    e->params.gradient_scale =
        (double)session_window(e->session) / (double)true_count / e->scaler.scale;
    e->window_samples = 0;
    e->skipped = false;
    if (e->guard.store)
        guard_begin(&e->guard);
}

void engine_set_skipped(struct engine *e, int64_t skipped) {
    e->params.skipped = (uint64_t)skipped;
}

static void put_input(const struct program *program, value_id v, const void *data) {
    memcpy(program->inputs[v], data, (size_t)value_bytes(graph_value(program->g, v)));
}

static neap_error *run_slice(struct engine *e, bool training, const float *images,
                             const int32_t *labels, int64_t count) {
    const struct engine_program *p = find_program(e, count, training);
    if (!p)
        return error_make(NEAP_ERROR_INTERNAL, "no program for %lld samples", (long long)count);
    const neap_graph *g = p->program->g;
    for (value_id v = 0; v < g->n_values; v++)
        if (graph_value(g, v)->kind == VALUE_INPUT)
            put_input(p->program, v, v == g->roles.labels ? (const void *)labels : images);
    p->program->params = e->params;
    p->program->params.first_sample = (uint64_t)e->window_samples;
    return program_run_micro(p->program, p->probe);
}

static neap_error *run_slices(struct engine *e, bool training, const float *images,
                              const int32_t *labels, int64_t count) {
    int64_t shape[3], classes, micro = graph_batch(e->session->step->g);
    session_sample_shape(e->session->model, shape, &classes);
    int64_t sample = shape[0] * shape[1] * shape[2];
    for (int64_t first = 0; first < count; first += micro) {
        int64_t slice = count - first < micro ? count - first : micro;
        TRY(run_slice(e, training, images + first * sample, labels + first, slice));
        e->window_samples += slice;
    }
    return NULL;
}

neap_error *engine_batch(struct engine *e, const float *images, const int32_t *labels,
                         int64_t count) {
    return run_slices(e, true, images, labels, count);
}

neap_error *engine_evaluate(struct engine *e, const float *images, const int32_t *labels,
                            int64_t count) {
    return run_slices(e, false, images, labels, count);
}

/* Bounds the norm of the window's mean gradient. */
static neap_error *clip(struct engine *e) {
    e->gradient_norm = gradients_norm(e->store) * e->params.gradient_scale;
    if (!isfinite(e->gradient_norm))
        return error_make(NEAP_ERROR_DIVERGED,
                          "the gradient's norm is %g at update %llu (learning rate %g): a smaller "
                          "learning rate or a warm-up may help; '--on-nan skip' leaves single "
                          "updates out",
                          e->gradient_norm, (unsigned long long)e->params.update, e->params.lr);
    e->params.gradient_scale *= gradients_clip(e->gradient_norm, e->session->options.clip_grad);
    return NULL;
}

/* Any training program's update part will do: the store is the same. */
static neap_error *run_update(struct engine *e) {
    for (struct engine_program *p = e->programs; p < e->programs + e->n_programs; p++) {
        if (!p->training)
            continue;
        p->program->params = e->params;
        return program_run_update(p->program, p->probe);
    }
    return error_make(NEAP_ERROR_INTERNAL, "no training program");
}

/* Where gradients are looked at, a window with one that is not finite leaves no trace. */
static neap_error *check_finite(struct engine *e) {
    e->skipped = e->guard.store && !guard_is_finite(&e->guard);
    TRY(scaler_step(&e->scaler, !e->skipped));
    if (e->skipped)
        guard_undo(&e->guard);
    return NULL;
}

/* The order at a window's end: inf check, unscale, clip, update. Division by the window's count and
 * by the loss scale, and the clipping, are one factor: the update multiplies every gradient by it.
 */
neap_error *engine_end(struct engine *e) {
    TRY(check_finite(e));
    if (e->skipped)
        return NULL;
    if (e->session->options.clip_grad > 0)
        TRY(clip(e));
    return run_update(e);
}

static double take_total(struct engine *e, const char *name) {
    const struct store_entry *entry = store_find(e->store, name);
    if (!entry)
        return 0;
    double *total = store_data(e->store, entry), value = *total;
    *total = 0;
    return value;
}

struct engine_metrics engine_take_metrics(struct engine *e) {
    return (struct engine_metrics){take_total(e, "loss.total"), take_total(e, "top1.total"),
                                   take_total(e, "top5.total")};
}

int64_t engine_measured_peak(const struct engine *e) {
    const struct neap_totals *plan = &e->session->report.plan;
    return plan->peak_bytes - plan->arena_bytes + arena_measure(&e->arena, ALIGNMENT_BYTES);
}
