/* A plan's memory over its steps: lives with their offsets and what they are for. */
#include <stdlib.h>

#include "report/timeline.h"
#include "train/emit.h"
#include "train/layers.h"

struct emission {
    const struct neap_plan *plan;
    struct timeline timeline;
    struct timeline_life *lives;
    struct timeline_step *steps;
    int64_t *live_bytes; /* by step */
    bool *executed;      /* by op */
    char title[EMIT_TITLE_BYTES];
};

static neap_error *allocate(struct emission *e) {
    const struct neap_plan *plan = e->plan;
    TRY(memory_alloc(plan->plan.lives.n, sizeof *e->lives, &e->lives));
    TRY(memory_alloc(plan->plan.schedule.n, sizeof *e->steps, &e->steps));
    TRY(memory_alloc(plan->plan.schedule.n + 1, sizeof *e->live_bytes, &e->live_bytes));
    return memory_alloc(plan->step->problem.n_ops, sizeof *e->executed, &e->executed);
}

static void fill_steps(struct emission *e) {
    const struct compiled *c = e->plan->step;
    const struct plan_schedule *schedule = &e->plan->plan.schedule;
    session_live_bytes(e->plan, e->live_bytes);
    for (size_t i = 0; i < schedule->n; i++) {
        uint32_t o = schedule->ops[i];
        bool *executed = &e->executed[plan_primary(&c->problem, o)];
        e->steps[i] = (struct timeline_step){.op = graph_node(c->g, c->node_of_op[o])->name,
                                             .recompute = *executed,
                                             .update_part = c->problem.ops[o].update_part,
                                             .seconds = c->problem.ops[o].seconds,
                                             .live_bytes = e->live_bytes[i]};
        *executed = true;
    }
}

/* Of what a forward op made, by when it lives. */
static enum timeline_kind forward_kind(const struct emission *e, const struct plan_life *life) {
    if (e->steps[life->first_step].recompute)
        return TIMELINE_RECOMPUTED;
    return life->last_step >= e->timeline.border_step ? TIMELINE_KEPT : TIMELINE_PASSING;
}

static enum timeline_kind kind_of(const struct emission *e, const struct plan_life *life) {
    static const struct {
        enum value_kind of;
        enum timeline_kind kind;
    } kinds[] = {
        {VALUE_INPUT, TIMELINE_INPUT},
        {VALUE_WEIGHT_COPY, TIMELINE_WEIGHT_COPY},
        {VALUE_GRADIENT, TIMELINE_GRADIENT},
        {VALUE_PARAMETER_GRADIENT, TIMELINE_PARAMETER_GRADIENT},
        {VALUE_SCRATCH, TIMELINE_SCRATCH},
    };
    const struct compiled *c = e->plan->step;
    value_id v = c->value_of_plan[life->value];
    if (v == ID_NONE)
        return TIMELINE_SCRATCH;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (graph_value(c->g, v)->kind == kinds[i].of)
            return kinds[i].kind;
    return forward_kind(e, life);
}

static const char *name_of(const struct compiled *c, uint32_t value) {
    value_id v = c->value_of_plan[value];
    return v == ID_NONE ? "scratch" : graph_value(c->g, v)->name;
}

static void fill_lives(struct emission *e) {
    const struct plan_lives *lives = &e->plan->plan.lives;
    for (size_t i = 0; i < lives->n; i++) {
        const struct plan_life *life = &lives->at[i];
        /* the step that it takes the bytes over in is still drawn as the other's */
        uint32_t first = life->first_step + (life->in_place_of != PLAN_NONE);
        e->lives[i] = (struct timeline_life){.first_step = first,
                                             .last_step = life->last_step,
                                             .offset = life->offset,
                                             .bytes = life->bytes,
                                             .kind = kind_of(e, life),
                                             .name = name_of(e->plan->step, life->value)};
    }
}

static neap_error *emit(const struct neap_plan *plan, const char *path,
                        neap_error *(*write)(const struct timeline *, const char *)) {
    struct emission e = {.plan = plan};
    neap_error *error = allocate(&e);
    if (!error) {
        emit_title(plan, e.title);
        e.timeline = (struct timeline){.title = e.title,
                                       .lives = e.lives,
                                       .steps = e.steps,
                                       .n_lives = plan->plan.lives.n,
                                       .n_steps = plan->plan.schedule.n,
                                       .border_step = layers_border_step(plan),
                                       .worst_step = plan->plan.measure.peak_step,
                                       .arena_bytes = plan->plan.arena_bytes,
                                       .store_all_bytes = plan->store_all.arena_bytes};
        fill_steps(&e);
        fill_lives(&e);
        error = write(&e.timeline, path);
    }
    free(e.lives);
    free(e.steps);
    free(e.live_bytes);
    free(e.executed);
    return error;
}

neap_error *emit_timeline_svg(const struct neap_plan *plan, const char *path) {
    return emit(plan, path, timeline_write_svg);
}

neap_error *emit_timeline_csv(const struct neap_plan *plan, const char *path) {
    return emit(plan, path, timeline_write_csv);
}
