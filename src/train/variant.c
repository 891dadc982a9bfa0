/* The session's network at another batch and slicing: see variant.h. */
#include "train/variant.h"

#include <math.h>

/* A percentage is of store-all's arena, at this batch and with this update: the same for all
 * slicings of the session's batch. */
static neap_error *solve_store_all(struct neap_plan *session, struct neap_plan *s) {
    struct neap_options o = s->options;
    const bool shared = s->options.micro_batch && o.batch == session->options.batch;
    if (shared && session->sliced_arena_bytes) {
        s->store_all.arena_bytes = session->sliced_arena_bytes;
        return NULL;
    }
    session_replan(&o, "none");
    if (!s->whole)
        TRY(session_compile_at(s, s->options.batch, !s->evaluation, NULL, &s->whole));
    TRY(session_solve(s, s->whole, &o, INT64_MAX, 0, &s->store_all));
    if (shared)
        session->sliced_arena_bytes = s->store_all.arena_bytes;
    return NULL;
}

/* What a plan with that arena needs: the arena where it alone is bounded, else everything. The same
 * for all variants of a session, whichever limit binds. */
static int64_t need_bytes(const struct variant *v, int64_t arena_bytes) {
    const struct neap_options *o = &v->s.options;
    bool memory_counts = o->memory.kind != NEAP_SIZE_UNSET && o->memory.kind != NEAP_SIZE_MIN;
    if (o->arena.kind != NEAP_SIZE_UNSET && !memory_counts)
        return arena_bytes;
    return arena_bytes + session_outside_arena(&v->s, v->s.step);
}

static neap_error *bound(struct variant *v) {
    struct neap_plan *s = &v->s;
    struct plan_bound bound;
    s->arena_budget_bytes = session_arena_budget(s);
    TRY(plan_bound(&s->step->problem, s->arena_budget_bytes, &bound));
    double once = report_once_seconds(s->step, v->micro_batches);
    v->floor_bytes = need_bytes(v, bound.floor_bytes);
    v->floor_seconds = (once + bound.extra_seconds * (double)v->micro_batches) / (double)v->batch;
    if (bound.floor_bytes > s->arena_budget_bytes)
        v->floor_seconds = INFINITY;
    return NULL;
}

static neap_error *build(struct neap_plan *session, struct variant *v) {
    struct neap_plan *s = &v->s;
    session_choose_gradients(s);
    s->host_bytes = session_host_bytes(s);
    TRY(session_compile_at(s, v->micro, !s->evaluation, NULL, &s->step));
    if (v->micro == v->batch)
        s->whole = s->step;
    if (s->options.arena.kind == NEAP_SIZE_PERCENT)
        TRY(solve_store_all(session, s));
    return bound(v);
}

neap_error *variant_open(struct neap_plan *session, int64_t batch, int64_t micro,
                         struct variant *v) {
    *v = (struct variant){.batch = batch,
                          .micro = micro,
                          .micro_batches = (batch + micro - 1) / micro,
                          .s = {.options = session->options,
                                .device = session->device,
                                .measured = session->measured,
                                .model = session->model,
                                .precision = session->precision,
                                .update = session->update,
                                .accumulation = session->accumulation,
                                .deadline = session->deadline,
                                .data = session->data,
                                .without_host = session->without_host,
                                .available_bytes = session->available_bytes,
                                .evaluation = session->evaluation}};
    v->s.options.batch = batch;
    v->s.options.micro_batch = micro < batch ? micro : 0;
    neap_error *error = build(session, v);
    if (error)
        variant_close(v);
    return error;
}

neap_error *variant_solve(struct variant *v, uint64_t moves) {
    struct neap_plan *s = &v->s;
    double micro_seconds, update_seconds;
    plan_result_free(&s->plan);
    TRY(session_solve(s, s->step, &s->options, s->arena_budget_bytes, moves, &s->plan));
    compiled_seconds(s->step, &s->plan.schedule, &micro_seconds, &update_seconds);
    v->seconds = (micro_seconds * (double)v->micro_batches + update_seconds) / (double)v->batch;
    return NULL;
}

neap_error *variant_solve_least(struct variant *v) {
    struct plan_result least;
    TRY(session_solve_smallest(&v->s, v->s.step, &least));
    v->least_arena_bytes = least.arena_bytes;
    v->least_bytes = need_bytes(v, least.arena_bytes);
    plan_result_free(&least);
    return NULL;
}

void variant_totals(const struct variant *v, int64_t *peak_bytes, int64_t *arena_bytes) {
    *arena_bytes = v->s.plan.arena_bytes;
    *peak_bytes = *arena_bytes + session_outside_arena(&v->s, v->s.step);
}

void variant_close(struct variant *v) {
    struct neap_plan *s = &v->s;
    plan_result_free(&s->store_all);
    plan_result_free(&s->plan);
    if (s->step != s->whole)
        compiled_free(s->step);
    compiled_free(s->whole);
    *v = (struct variant){0};
}
