/* solve: a budget's plan, chosen from a table of strategies.
 *
 * A fixed strategy is replayed and placed as it is. `auto` tries them all, and from each of them
 * the greedy one, at a falling target until its arena, not only its peak, is within the budget; the
 * fastest that fits is taken, so it is never slower than one of them that fits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place.h"
#include "plan/plan.h"

enum { PLACEMENT_ROUNDS = 8, PLACEMENT_EFFORT = 20000000 };

struct solve {
    const struct plan_problem *problem;
    const struct plan_request *request;
    bool *drop;
};

void plan_result_free(struct plan_result *result) {
    plan_schedule_free(&result->schedule);
    plan_lives_free(&result->lives);
}

/* From a set of dropped values to a placed and checked plan. */
static neap_error *finish(const struct solve *s, const char *name, struct plan_result *r) {
    const struct plan_problem *p = s->problem;
    TRY(plan_schedule_dropping(p, s->drop, &r->schedule));
    TRY(plan_replay(p, &r->schedule, &r->measure, &r->lives));
    struct plan_place_request request = {.alignment_bytes = s->request->alignment_bytes,
                                         .effort = PLACEMENT_EFFORT};
    struct plan_placement placement;
    TRY(plan_place(&r->lives, &request, &placement));
    r->arena_bytes = placement.arena_bytes;
    struct plan_claim claim = {.peak_bytes = r->measure.peak_bytes,
                               .arena_bytes = r->arena_bytes,
                               .alignment_bytes = s->request->alignment_bytes,
                               .seconds = r->measure.seconds};
    TRY(plan_check(p, &r->schedule, &r->lives, &claim));
    r->fits = r->arena_bytes <= s->request->budget_bytes;
    snprintf(r->strategy, sizeof r->strategy, "%s", name);
    return NULL;
}

static neap_error *drop_none(const struct solve *s) {
    memset(s->drop, 0, s->problem->n_values * sizeof *s->drop);
    return NULL;
}

static neap_error *drop_all(const struct solve *s) {
    return plan_drop_segments(s->problem, 0, s->drop);
}

static neap_error *drop_sqrt(const struct solve *s) {
    int64_t cuts;
    TRY(plan_count_cuts(s->problem, &cuts));
    return cuts ? plan_drop_segments(s->problem, (int64_t)ceil(sqrt((double)cuts)), s->drop)
                : drop_none(s);
}

static neap_error *drop_sequential(const struct solve *s) {
    char *end;
    const char *text = s->request->strategy + strlen("sequential:");
    long long k = strtoll(text, &end, 10);
    if (end == text || *end || k < 1)
        return error_make(NEAP_ERROR_USAGE, "'%s': sequential:K needs a number of segments",
                          s->request->strategy);
    return plan_drop_segments(s->problem, k, s->drop);
}

/* Drops what is made by a wrapped op and read in forward by wrapped ops alone. */
static neap_error *drop_wrapped(const struct solve *s) {
    const struct plan_problem *p = s->problem;
    bool *droppable = plan_droppable(p);
    if (!droppable)
        return error_memory(p->n_values);
    uint32_t border = plan_border(p);
    for (uint32_t v = 0; v < p->n_values; v++)
        s->drop[v] = droppable[v] && s->request->wrapped[p->values[v].producer];
    for (uint32_t o = 0; o < border; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n && !s->request->wrapped[o]; i++)
            s->drop[p->ids[p->ops[o].inputs.first + i]] = false;
    free(droppable);
    return NULL;
}

static const struct {
    const char *name; /* a trailing ':' takes a parameter */
    neap_error *(*drop)(const struct solve *s);
    bool in_auto;
} strategies[] = {
    {"none", drop_none, true},
    {"sqrt", drop_sqrt, true},
    {"all", drop_all, true},
    {"sequential:", drop_sequential, false},
};
enum { N_STRATEGIES = sizeof strategies / sizeof *strategies };

/* Is `a` the better of two plans? */
static bool better(const struct plan_result *a, const struct plan_result *b) {
    if (a->fits != b->fits)
        return a->fits;
    if (!a->fits)
        return a->arena_bytes < b->arena_bytes;
    if (a->measure.seconds != b->measure.seconds)
        return a->measure.seconds < b->measure.seconds;
    return a->arena_bytes < b->arena_bytes;
}

static neap_error *consider(const struct solve *s, const char *name, struct plan_result *best) {
    struct plan_result candidate = {0};
    neap_error *error = finish(s, name, &candidate);
    if (!error && (!best->schedule.n || better(&candidate, best))) {
        plan_result_free(best);
        *best = candidate;
        return NULL;
    }
    plan_result_free(&candidate);
    return error;
}

/* Greedy from a strategy's dropped values, at the budget, then at what placement wasted less, until
 * the arena fits. */
static neap_error *consider_greedy(const struct solve *s,
                                   neap_error *(*start)(const struct solve *s),
                                   struct plan_result *best) {
    int64_t target = s->request->budget_bytes;
    for (int round = 0; round < PLACEMENT_ROUNDS; round++) {
        struct plan_result candidate = {0};
        TRY(start(s));
        TRY(plan_drop_greedily(s->problem, target, s->drop));
        neap_error *error = finish(s, "greedy", &candidate);
        int64_t over = candidate.arena_bytes - s->request->budget_bytes;
        bool reachable = candidate.measure.peak_bytes <= target;
        if (!error && better(&candidate, best)) {
            plan_result_free(best);
            *best = candidate;
        } else {
            plan_result_free(&candidate);
        }
        if (error || over <= 0 || !reachable)
            return error;
        target -= over;
    }
    return NULL;
}

static neap_error *solve_auto(const struct solve *s, struct plan_result *best) {
    for (int i = 0; i < N_STRATEGIES; i++) {
        if (!strategies[i].in_auto)
            continue;
        TRY(strategies[i].drop(s));
        TRY(consider(s, strategies[i].name, best));
        if (best->fits && i == 0) /* keeping everything fits: nothing is faster */
            return NULL;
    }
    for (int i = 0; i < N_STRATEGIES; i++)
        if (strategies[i].in_auto)
            TRY(consider_greedy(s, strategies[i].drop, best));
    return NULL;
}

static neap_error *solve_named(const struct solve *s, struct plan_result *best) {
    const char *wanted = s->request->strategy;
    for (int i = 0; i < N_STRATEGIES; i++) {
        const char *name = strategies[i].name;
        size_t length = strlen(name);
        bool prefix = name[length - 1] == ':';
        if (prefix ? strncmp(wanted, name, length) : strcmp(wanted, name))
            continue;
        TRY(strategies[i].drop(s));
        return consider(s, wanted, best);
    }
    return error_make(NEAP_ERROR_USAGE,
                      "unknown strategy '%s': there are auto, none, all, sqrt and sequential:K",
                      wanted);
}

neap_error *plan_solve(const struct plan_problem *problem, const struct plan_request *request,
                       struct plan_result *result) {
    struct solve s = {.problem = problem, .request = request};
    *result = (struct plan_result){0};
    TRY(memory_alloc(problem->n_values, sizeof *s.drop, &s.drop));
    neap_error *error;
    if (request->wrapped) {
        error = drop_wrapped(&s);
        if (!error)
            error = consider(&s, "layers", result);
    } else if (!strcmp(request->strategy, "auto")) {
        error = solve_auto(&s, result);
    } else {
        error = solve_named(&s, result);
    }
    free(s.drop);
    if (error)
        plan_result_free(result);
    return error;
}
