/* Verify: a plan against store-all, both on this machine, update by update, bit for bit.
 *
 * Two engines start from the same weights and see the same batches. Compared after every update:
 * loss, every weight, buffer and moment, every gradient where the update reads it, and every mask
 * each time that it is made, recomputed ones included. In the plan's arena every life is filled
 * with NaN when it ends. Before that, unwatched runs measure the arena and the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "ops/ops.h"
#include "train/batch.h"
#include "train/engine.h"
#include "train/poison.h"

enum { TIMED_STEPS = 3 };

/* What watches one of a side's programs: slices of other sizes have programs of their own. */
struct watch {
    struct side *side;
    const struct program *program;
    /* By node: hash of the mask when first made in this micro-batch, 0: not yet; and of all those
     * of the update so far. */
    uint64_t *made, *masks;
    struct program_probe probe;
    struct poison poison;
};

struct side {
    struct neap_plan *session;
    struct engine *engine;
    unsigned char *gradients; /* parallel to the store: by the parameter's offset */
    struct watch watches[ENGINE_PROGRAMS];
    bool poisoned;
    int64_t masks_differing;
    double seconds[TIMED_STEPS];
};

struct verify {
    struct side all, plan; /* store-all, and the plan in question */
    struct batch batch;
    struct neap_verify_report *report;
};

/* ---- watching a step ------------------------------------------------------------------------ */

/* A micro-batch begins: its masks are not made yet, and all but its inputs is NaN. */
static void start_run(struct watch *watch) {
    memset(watch->made, 0, watch->program->g->n_nodes * sizeof *watch->made);
    if (watch->side->poisoned)
        poison_start(&watch->poison);
}

static neap_error *before_step(void *user, size_t s) {
    struct watch *watch = user;
    const struct side *side = watch->side;
    const struct program_step *step = &watch->program->steps[s];
    const struct node *node = graph_node(watch->program->g, step->node);
    if (s == 0)
        start_run(watch);
    if (node->phase != PHASE_UPDATE || !node->n_updates) /* a reorder of a gradient has none */
        return NULL;
    const unsigned char *parameter = step->launch.up[0];
    const void *gradient =
        node->n_inputs ? step->launch.in[0] : step->launch.up[node->n_updates - 1];
    int64_t bytes = value_bytes(graph_value(watch->program->g, node->updates[0]));
    memcpy(side->gradients + (parameter - side->engine->store->base), gradient, (size_t)bytes);
    return NULL;
}

/* A step of FNV-1a, which never gives 0. */
static uint64_t hash_next(uint64_t hash, uint64_t item) {
    hash = (hash ^ item) * 0x100000001b3u;
    return hash ? hash : 1;
}

static uint64_t hash_bytes(const unsigned char *bytes, int64_t n) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < n; i++)
        hash = hash_next(hash, bytes[i]);
    return hash;
}

/* The output that is a mask or carries one: a bit mask, or what dropout made. */
static int mask_output(const neap_graph *g, const struct node *node) {
    if (node->op == &op_dropout && node->phase == PHASE_FORWARD)
        return 0;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (graph_value(g, node->outputs[i])->dtype == DTYPE_BIT)
            return (int)i;
    return -1;
}

static neap_error *after_step(void *user, size_t s) {
    struct watch *watch = user;
    const struct program_step *step = &watch->program->steps[s];
    const neap_graph *g = watch->program->g;
    const struct node *node = graph_node(g, step->node);
    int mask = mask_output(g, node);
    if (mask >= 0) {
        int64_t bytes = value_bytes(graph_value(g, node->outputs[mask]));
        uint64_t hash = hash_bytes(step->launch.out[mask], bytes);
        uint64_t *made = &watch->made[step->node], *all = &watch->masks[step->node];
        if (!*made) {
            *made = hash;
            *all = hash_next(*all, hash);
        }
        watch->side->masks_differing += *made != hash;
    }
    if (watch->side->poisoned)
        poison_step(&watch->poison, s);
    return NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

static neap_error *open_side(struct side *side, const struct neap_options *o,
                             struct device *device) {
    TRY(session_create(
        &(struct session_request){.options = o, .without_host = true, .device = device},
        &side->session));
    TRY(engine_create(&(struct engine_request){.session = side->session}, &side->engine));
    TRY(memory_alloc((size_t)side->engine->store->bytes, 1, &side->gradients));
    for (int i = 0; i < side->engine->n_programs; i++) {
        struct watch *watch = &side->watches[i];
        watch->side = side;
        watch->program = side->engine->programs[i].program;
        watch->probe = (struct program_probe){before_step, after_step, watch};
        TRY(memory_alloc(watch->program->g->n_nodes, sizeof *watch->made, &watch->made));
        TRY(memory_alloc(watch->program->g->n_nodes, sizeof *watch->masks, &watch->masks));
        TRY(poison_create(&side->engine->arena, &engine_plan(side->engine, i)->lives,
                          &watch->poison));
    }
    return NULL;
}

static void close_side(struct side *side) {
    free(side->gradients);
    for (int i = 0; i < ENGINE_PROGRAMS; i++) {
        free(side->watches[i].made);
        free(side->watches[i].masks);
        poison_free(&side->watches[i].poison);
    }
    engine_free(side->engine);
    neap_plan_free(side->session);
}

static neap_error *run_update(struct verify *v, struct side *side, int64_t update, double *loss) {
    const struct neap_plan *s = side->session;
    engine_begin(side->engine, (uint64_t)update, s->options.lr, session_window(s));
    for (int i = 0; i < side->engine->n_programs; i++)
        memset(side->watches[i].masks, 0,
               side->watches[i].program->g->n_nodes * sizeof *side->watches[i].masks);
    for (int64_t a = 0; a < s->accumulation.most_steps; a++)
        TRY(engine_batch(side->engine, v->batch.images, v->batch.labels, s->options.batch));
    TRY(engine_end(side->engine));
    *loss = engine_take_metrics(side->engine).loss / (double)session_window(s);
    return NULL;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Unwatched: a warm-up and a few steps of each in turn, for the time and the arena. */
static neap_error *measure(struct verify *v) {
    struct side *const sides[] = {&v->all, &v->plan};
    double loss;
    batch_fill(&v->batch, v->all.session->options.seed, 0);
    for (int step = -1; step < TIMED_STEPS; step++)
        for (int i = 0; i < 2; i++) {
            double start = process_seconds();
            TRY(run_update(v, sides[i], 0, &loss));
            if (step >= 0)
                sides[i]->seconds[step] = process_seconds() - start;
        }
    for (int i = 0; i < 2; i++)
        qsort(sides[i]->seconds, TIMED_STEPS, sizeof(double), by_value);
    v->report->seconds_store_all = v->all.seconds[TIMED_STEPS / 2];
    v->report->seconds_plan = v->plan.seconds[TIMED_STEPS / 2];
    v->report->arena_measured_bytes = arena_measure(&v->plan.engine->arena, ALIGNMENT_BYTES);
    return NULL;
}

/* From the start again, watched. */
static void restart(struct side *side, bool poisoned) {
    struct store *store = side->engine->store;
    memset(store->base, 0, (size_t)store->bytes);
    store_init(store, side->session->options.seed);
    for (int i = 0; i < side->engine->n_programs; i++)
        side->engine->programs[i].probe = &side->watches[i].probe;
    side->poisoned = poisoned;
    side->masks_differing = 0;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void note_difference(struct verify *v, const char *what, const char *name, int64_t update) {
    if (!v->report->first_difference[0])
        snprintf(v->report->first_difference, sizeof v->report->first_difference,
                 "%s %s at update %lld", what, name, (long long)update);
}

static int64_t count_differing(const unsigned char *a, const unsigned char *b, int64_t bytes) {
    int64_t differing = 0;
    if (!memcmp(a, b, (size_t)bytes))
        return 0;
    for (int64_t i = 0; i + 4 <= bytes; i += 4)
        differing += memcmp(a + i, b + i, 4) != 0;
    return differing;
}

static void compare_stores(struct verify *v, int64_t update) {
    struct neap_verify_report *r = v->report;
    const struct store *all = v->all.engine->store, *plan = v->plan.engine->store;
    r->gradient_tensors = r->gradient_values = r->weight_values = 0;
    r->buffer_tensors = r->buffer_values = 0;
    for (size_t i = 0; i < all->n_entries; i++) {
        const struct store_entry *e = &all->entries[i];
        int64_t differing =
            count_differing(store_data(all, e), store_data(plan, &plan->entries[i]), e->bytes);
        bool buffer = e->kind == VALUE_BUFFER;
        r->buffer_tensors += buffer;
        *(buffer ? &r->buffer_values : &r->weight_values) += shape_elements(e->shape);
        *(buffer ? &r->buffers_differing : &r->weights_differing) += differing;
        if (differing)
            note_difference(v, value_kind_name(e->kind), e->name, update);
        if (e->kind != VALUE_PARAMETER)
            continue;
        differing =
            count_differing(v->all.gradients + e->offset, v->plan.gradients + e->offset, e->bytes);
        r->gradient_tensors++;
        r->gradient_values += shape_elements(e->shape);
        r->gradients_differing += differing;
        if (differing)
            note_difference(v, "gradient of", e->name, update);
    }
}

static void compare_masks(struct verify *v, int64_t update) {
    struct neap_verify_report *r = v->report;
    r->mask_tensors = r->mask_values = 0;
    for (int i = 0; i < v->all.engine->n_programs; i++) {
        const struct watch *all = &v->all.watches[i], *plan = &v->plan.watches[i];
        const neap_graph *g = all->program->g;
        for (node_id n = 0; n < g->n_nodes; n++) {
            if (!all->masks[n])
                continue;
            const struct node *node = graph_node(g, n);
            r->mask_tensors++;
            r->mask_values +=
                shape_elements(graph_value(g, node->outputs[mask_output(g, node)])->shape);
            if (all->masks[n] == plan->masks[n])
                continue;
            r->masks_differing++;
            note_difference(v, "mask", node->name, update);
        }
    }
}

static neap_error *compare_update(struct verify *v, int64_t update) {
    struct neap_verify_report *r = v->report;
    batch_fill(&v->batch, v->all.session->options.seed, (uint64_t)update);
    TRY(run_update(v, &v->all, update, &r->loss_store_all));
    TRY(run_update(v, &v->plan, update, &r->loss));
    if (memcmp(&r->loss, &r->loss_store_all, sizeof r->loss)) {
        r->losses_differing++;
        note_difference(v, "the", "loss", update);
    }
    compare_masks(v, update);
    compare_stores(v, update);
    return NULL;
}

static neap_error *verify(struct verify *v, const struct neap_options *options) {
    struct neap_verify_report *r = v->report;
    struct neap_options all = *options;
    session_replan(&all, "none");
    all.memory = all.arena = (struct neap_size){0};
    all.max_overhead = -1;
    TRY(open_side(&v->plan, options, NULL));
    all.micro_batch = v->plan.session->options.micro_batch;
    TRY(open_side(&v->all, &all, v->plan.session->device));
    TRY(batch_create(v->all.session->model, options->batch, &v->batch));
    TRY(measure(v));
    restart(&v->all, false);
    restart(&v->plan, true);
    for (int64_t update = 0; update < options->updates; update++)
        TRY(compare_update(v, update));
    r->masks_differing += v->plan.masks_differing;
    if (v->plan.masks_differing)
        note_difference(v, "a mask", "made again", options->updates - 1);
    r->updates = options->updates;
    r->canaries_intact = true;
    for (int i = 0; i < v->plan.engine->n_programs; i++)
        r->canaries_intact = r->canaries_intact && v->plan.watches[i].poison.intact;
    r->arena_planned_bytes = v->plan.session->report.plan.arena_bytes;
    r->batch = v->plan.session->report.batch;
    r->micro_batch = v->plan.session->report.micro_batch;
    if (v->plan.session->report.decision)
        snprintf(r->decision, sizeof r->decision, "%s", v->plan.session->report.decision);
    r->recomputed_ops = v->plan.session->report.recomputed_ops;
    r->overhead = v->plan.session->report.overhead;
    r->identical = !r->losses_differing && !r->gradients_differing && !r->weights_differing &&
                   !r->buffers_differing && !r->masks_differing;
    if (!isfinite(r->loss))
        return error_make(NEAP_ERROR_DIVERGED,
                          "the loss is %g after %lld updates, which proves nothing: a smaller "
                          "learning rate or fewer updates may help",
                          r->loss, (long long)r->updates);
    return NULL;
}

neap_error *neap_verify(const struct neap_options *options, struct neap_verify_report *report) {
    struct verify v = {.report = report};
    *report = (struct neap_verify_report){0};
    if (options->updates < 1)
        return error_make(NEAP_ERROR_USAGE, "%lld updates: there must be at least one",
                          (long long)options->updates);
    TRY(optimizer_check_updates(options));
    neap_error *error = verify(&v, options);
    batch_free(&v.batch);
    close_side(&v.all);
    close_side(&v.plan);
    return error;
}
