/* The budget: what it leaves for the arena, the plan under it, and the smallest there is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "train/session.h"

enum { HEADROOM_BYTES = 256 << 20 };

int64_t session_outside_arena(const struct neap_plan *s, const struct compiled *c) {
    const struct persistent_bytes *p = &c->persistent;
    return p->weights + p->gradients + p->optimizer + p->buffers + s->host_bytes;
}

/* Of both limits the one that binds is the report's. */
int64_t session_arena_budget(struct neap_plan *s) {
    const struct neap_size *arena = &s->options.arena, *memory = &s->options.memory;
    int64_t outside = session_outside_arena(s, s->step), budget = INT64_MAX;
    if (arena->kind == NEAP_SIZE_BYTES)
        budget = arena->bytes;
    else if (arena->kind == NEAP_SIZE_PERCENT)
        budget = (int64_t)(arena->percent * (double)s->store_all.arena_bytes / 100);
    int64_t total = s->available_bytes - HEADROOM_BYTES;
    if (memory->kind == NEAP_SIZE_BYTES)
        total = memory->bytes;
    else if (memory->kind == NEAP_SIZE_PERCENT)
        total = (int64_t)(memory->percent * (double)s->available_bytes / 100);
    bool memory_counts = memory->kind != NEAP_SIZE_UNSET || arena->kind == NEAP_SIZE_UNSET;
    bool least = memory->kind == NEAP_SIZE_MIN;
    s->report.budget_is_arena =
        budget < INT64_MAX && (!memory_counts || least || budget < total - outside);
    if (!s->report.budget_is_arena)
        budget = least ? INT64_MAX : total - outside;
    s->report.budget_bytes = s->report.budget_is_arena ? budget : total;
    return budget > 0 ? budget : 0;
}

struct plan_request session_request_for(struct neap_plan *s, int64_t budget_bytes) {
    return (struct plan_request){.strategy = "auto",
                                 .budget_bytes = budget_bytes,
                                 .alignment_bytes = ALIGNMENT_BYTES,
                                 .fixed_order = s->options.plan_order == NEAP_ORDER_FIXED,
                                 .seed = s->options.plan_seed,
                                 .stop = deadline_passed,
                                 .stop_context = &s->deadline};
}

neap_error *session_solve_smallest(struct neap_plan *s, const struct compiled *c,
                                   struct plan_result *out) {
    const struct plan_request request = session_request_for(s, 0);
    return plan_solve_smallest(&c->problem, &request, out);
}

static neap_error *solve_store_all(const struct compiled *c, struct plan_result *out) {
    const struct plan_request request = {
        .strategy = "none", .budget_bytes = INT64_MAX, .alignment_bytes = ALIGNMENT_BYTES};
    return plan_solve(&c->problem, &request, out);
}

/* The smallest budget that a plan was found for, in the limit's unit. */
static neap_error *find_smallest(struct neap_plan *s) {
    struct plan_result least;
    struct plan_bound bound;
    neap_error *error = NULL;
    bool wanted = s->options.memory.kind == NEAP_SIZE_MIN;
    TRY(session_solve_smallest(s, s->step, &least));
    if (wanted)
        TRY_GOTO(session_solve(s, s->step, &s->options, least.arena_bytes, 0, &s->plan));
    int64_t micro = session_micro_size(&s->options),
            micro_batches = (s->options.batch + micro - 1) / micro;
    double micro_seconds, update_seconds;
    bool planned_less = s->plan.schedule.n && s->plan.arena_bytes <= least.arena_bytes;
    compiled_seconds(s->step, planned_less ? &s->plan.schedule : &least.schedule, &micro_seconds,
                     &update_seconds);
    if (planned_less)
        least.arena_bytes = s->plan.arena_bytes;
    TRY_GOTO(plan_bound(&s->step->problem, 0, &bound));
    s->report.arena_lower_bound_bytes = bound.floor_bytes;
    s->report.smallest_proven = least.arena_bytes == bound.floor_bytes;
    s->report.smallest_overhead =
        (micro_seconds * (double)micro_batches + update_seconds) / s->store_all.measure.seconds - 1;
    s->report.smallest_budget_bytes =
        least.arena_bytes + (s->report.budget_is_arena ? 0 : session_outside_arena(s, s->step));
    if (wanted) {
        s->plan.fits = s->plan.arena_bytes <= s->arena_budget_bytes;
        if (s->plan.fits && !s->report.budget_is_arena)
            s->report.budget_bytes = s->report.smallest_budget_bytes;
    }
done:
    plan_result_free(&least);
    return error;
}

/* Seconds that no plan of the step can do without, under the budget that was given or found. */
static neap_error *find_bound(struct neap_plan *s) {
    bool least = s->options.memory.kind == NEAP_SIZE_MIN;
    struct plan_bound bound;
    TRY(plan_bound(&s->step->problem, least ? s->plan.arena_bytes : s->arena_budget_bytes, &bound));
    s->bound_seconds = isfinite(bound.extra_seconds) ? bound.extra_seconds : 0;
    return NULL;
}

/* The smallest arena within the overhead, which becomes the budget if it is within the limits. */
static neap_error *solve_within_overhead(struct neap_plan *s) {
    const struct neap_options *o = &s->options;
    int64_t micro = session_micro_size(o), n = (o->batch + micro - 1) / micro;
    double most = (1 + o->max_overhead) * s->store_all.measure.seconds,
           once = report_once_seconds(s->step, 1), all = report_once_seconds(s->step, n);
    if (all > most * (1 + 1e-9))
        return error_make(NEAP_ERROR_BUDGET,
                          "slices of %lld cost %.3g %% of store-all's time, without recompute",
                          (long long)micro, 100 * (all / s->store_all.measure.seconds - 1));
    const struct plan_request request = session_request_for(s, s->arena_budget_bytes);
    TRY(plan_least(&s->step->problem, &request, once + (most - all) / (double)n, &s->plan));
    if (!s->plan.fits)
        return NULL;
    s->arena_budget_bytes = s->report.budget_bytes = s->plan.arena_bytes;
    s->report.budget_is_arena = true;
    return NULL;
}

neap_error *session_plan_step(struct neap_plan *s) {
    bool least = s->options.memory.kind == NEAP_SIZE_MIN;
    TRY(solve_store_all(s->whole, &s->store_all));
    s->arena_budget_bytes = session_arena_budget(s);
    if (s->options.max_overhead >= 0)
        TRY(solve_within_overhead(s));
    else if (!least)
        TRY(session_solve(s, s->step, &s->options, s->arena_budget_bytes, 0, &s->plan));
    TRY(find_smallest(s));
    return find_bound(s);
}
