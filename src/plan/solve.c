/* solve: a budget's plan, chosen from a table of strategies.
 *
 * A fixed strategy is replayed and placed as it is. `auto` tries them all and searches from each,
 * at a falling target until the arena, not only the peak, is within the budget; the fastest that
 * fits is taken, so it is never slower than one of them that fits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place.h"
#include "plan/plan.h"
#include "plan/search.h"

enum {
    SMALLEST_MOVES = 100000, /* to tell the smallest arena */
    PLACEMENT_ROUNDS = 8,
    MANY_LIVES = 1000,           /* for placement by the way: the first order will do */
    MANY_OPS = 2000,             /* where placing takes longer than searching */
    PLACED = 3,                  /* schedules of a search that are placed, at most */
    MOST_SEGMENTS = 64,          /* of sequential:K, as a place to start */
    PLACEMENT_EFFORT = 20000000, /* where the arena is what counts: two tenths of a second */
    BRIEF = 50000,               /* moves */
    BRIEF_EFFORT = PLACEMENT_EFFORT / 10
};

/* Shares of the moves: for the peak that was reached, and once more where placement wasted some. */
static const double REACHED_SHARE = 0.25, TIGHTER_SHARE = 0.125;

bool plan_brief(const struct plan_request *request) {
    return request->moves && request->moves <= BRIEF;
}

bool plan_stopped(const struct plan_request *request) {
    return request->stop && request->stop(request->stop_context);
}

struct solve {
    const struct plan_problem *problem;
    const struct plan_request *request;
    bool *drop;
};

void plan_result_free(struct plan_result *result) {
    plan_schedule_free(&result->schedule);
    plan_lives_free(&result->lives);
}

/* What the budget is for. */
static int64_t bytes_of(const struct solve *s, const struct plan_result *r) {
    return s->request->live_peak ? r->measure.peak_bytes : r->arena_bytes;
}

/* What a schedule takes; its peak stands for the arena until it is placed. */
static neap_error *judge(const struct solve *s, struct plan_result *r) {
    TRY(plan_replay(s->problem, &r->schedule, &r->measure, NULL));
    r->arena_bytes = r->measure.peak_bytes;
    r->fits = r->arena_bytes <= s->request->budget_bytes;
    return NULL;
}

static bool is_placed(const struct plan_result *r) {
    return r->lives.n;
}

/* From a schedule to a placed and checked plan. */
static neap_error *place(const struct solve *s, struct plan_result *r) {
    const struct plan_problem *p = s->problem;
    TRY(plan_replay(p, &r->schedule, &r->measure, &r->lives));
    const bool by_the_way = s->request->live_peak; /* nobody asked for a small arena */
    const struct plan_place_request request = {
        .alignment_bytes = s->request->alignment_bytes,
        .target_bytes = by_the_way && r->lives.n > MANY_LIVES ? INT64_MAX : 0,
        .effort = by_the_way               ? 0
                  : plan_brief(s->request) ? BRIEF_EFFORT
                                           : PLACEMENT_EFFORT};
    struct plan_placement placement;
    TRY(plan_place(&r->lives, &request, &placement));
    r->arena_bytes = placement.arena_bytes;
    struct plan_claim claim = {.peak_bytes = r->measure.peak_bytes,
                               .arena_bytes = r->arena_bytes,
                               .alignment_bytes = s->request->alignment_bytes,
                               .seconds = r->measure.seconds};
    TRY(plan_check(p, &r->schedule, &r->lives, &claim));
    r->fits = bytes_of(s, r) <= s->request->budget_bytes;
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
static bool better(const struct solve *s, const struct plan_result *a,
                   const struct plan_result *b) {
    if (a->fits != b->fits)
        return a->fits;
    if (a->fits && a->measure.seconds != b->measure.seconds)
        return a->measure.seconds < b->measure.seconds;
    return bytes_of(s, a) < bytes_of(s, b);
}

/* The better of the two becomes the best; the other is freed. */
static neap_error *keep_better(const struct solve *s, struct plan_result *candidate,
                               struct plan_result *best) {
    neap_error *error = NULL;
    const bool doubtful = is_placed(candidate) && !is_placed(best) && !s->request->live_peak;
    if (best->schedule.n && doubtful && !better(s, candidate, best))
        error = place(s, best);
    if (!error && (!best->schedule.n || better(s, candidate, best))) {
        plan_result_free(best);
        *best = *candidate;
    } else {
        plan_result_free(candidate);
    }
    return error;
}

/* Placed only where that can decide: what is over the budget before stays over it. */
static neap_error *consider(const struct solve *s, const char *name, struct plan_result *best) {
    struct plan_result candidate = {0};
    neap_error *error = plan_schedule_dropping(s->problem, s->drop, &candidate.schedule);
    if (!error)
        error = judge(s, &candidate);
    if (!error && candidate.fits && !s->request->live_peak)
        error = place(s, &candidate);
    if (error) {
        plan_result_free(&candidate);
        return error;
    }
    snprintf(candidate.strategy, sizeof candidate.strategy, "%s", name);
    return keep_better(s, &candidate, best);
}

/* One of the search's schedules, settled and placed; *arena_bytes is the least arena so far. */
static neap_error *consider_found(const struct solve *s, struct search *search, size_t i,
                                  struct plan_result *best, int64_t *arena_bytes) {
    struct plan_result candidate = {0};
    neap_error *error = search_settle(search, i, &candidate.schedule);
    if (!error)
        error = s->request->live_peak ? judge(s, &candidate) : place(s, &candidate);
    if (error) {
        plan_result_free(&candidate);
        return error;
    }
    snprintf(candidate.strategy, sizeof candidate.strategy, "search");
    if (candidate.arena_bytes < *arena_bytes)
        *arena_bytes = candidate.arena_bytes;
    return keep_better(s, &candidate, best);
}

/* The search's best schedules, until one of them fits: *over_bytes is what the best arena is over
 * the budget. */
static neap_error *consider_search(const struct solve *s, struct search *search,
                                   struct plan_result *best, int64_t *over_bytes) {
    int64_t arena_bytes = INT64_MAX;
    const size_t placed = s->problem->n_ops > MANY_OPS ? 1 : PLACED;
    for (size_t i = 0; i < placed && i < search_count(search); i++) {
        TRY(consider_found(s, search, i, best, &arena_bytes));
        if (s->request->live_peak || arena_bytes <= s->request->budget_bytes)
            break;
    }
    *over_bytes = s->request->live_peak ? 0 : arena_bytes - s->request->budget_bytes;
    return NULL;
}

/* What the user gave, the fixed strategies, and what they are made of, as places to start. */
static neap_error *offer_seeds(const struct solve *s, struct search *search,
                               struct plan_result *best) {
    const struct plan_request *r = s->request;
    TRY(search_offer(search, &best->schedule));
    for (size_t i = 0; i < r->n_warm; i++)
        TRY(search_offer(search, &r->warm[i]));
    int64_t cuts;
    TRY(plan_count_cuts(s->problem, &cuts));
    for (int64_t k = 2; k <= cuts + 1 && k <= MOST_SEGMENTS; k++) {
        struct plan_schedule schedule = {0};
        TRY(plan_drop_segments(s->problem, k, s->drop));
        neap_error *error = plan_schedule_dropping(s->problem, s->drop, &schedule);
        if (!error)
            error = search_offer(search, &schedule);
        plan_schedule_free(&schedule);
        TRY(error);
    }
    return NULL;
}

/* From the smallest arena there is, whichever budget is asked for: more bytes are never refused
 * where fewer were enough. */
static neap_error *search_from_smallest(const struct solve *s, struct search *search,
                                        struct plan_result *best) {
    struct plan_result smallest;
    int64_t over;
    TRY(plan_solve_smallest(s->problem, s->request, &smallest));
    const int64_t peak = smallest.measure.peak_bytes;
    neap_error *error = search_offer(search, &smallest.schedule);
    if (error)
        plan_result_free(&smallest);
    else
        error = keep_better(s, &smallest, best);
    if (error || !best->fits)
        return error;
    TRY(search_improve(search, peak, TIGHTER_SHARE));
    return consider_search(s, search, best, &over);
}

/* Searches for the budget, then for what placement wasted less, until the arena fits. Where the
 * budget is out of reach, for the least seconds at the smallest peak that was reached. */
static neap_error *search_plan(const struct solve *s, struct search *search,
                               struct plan_result *best) {
    const struct plan_request *r = s->request;
    int64_t floor = search_floor(search), over;
    int64_t target = r->budget_bytes > floor ? r->budget_bytes : floor;
    TRY(offer_seeds(s, search, best));
    TRY(search_seed(search, target));
    TRY(search_improve(search, target, 1));
    if (search_peak(search) > target) {
        target = search_peak(search);
        TRY(search_improve(search, target, REACHED_SHARE));
    }
    TRY(consider_search(s, search, best, &over));
    for (int round = 0; round < PLACEMENT_ROUNDS && over > 0 && !plan_stopped(r); round++) {
        target -= over;
        if (r->budget_bytes < floor || target < floor)
            break;
        TRY(search_tighten(search, target));
        TRY(search_improve(search, target, TIGHTER_SHARE));
        TRY(consider_search(s, search, best, &over));
    }
    if (best->fits || r->budget_bytes < floor || plan_stopped(r) || plan_brief(r))
        return NULL;
    return search_from_smallest(s, search, best);
}

static neap_error *solve_auto(const struct solve *s, struct plan_result *best) {
    struct search *search;
    for (int i = 0; i < N_STRATEGIES; i++) {
        if (!strategies[i].in_auto)
            continue;
        TRY(strategies[i].drop(s));
        TRY(consider(s, strategies[i].name, best));
        if (best->fits && i == 0) /* keeping everything fits: nothing is faster */
            return NULL;
    }
    TRY(search_create(s->problem, s->request, &search));
    neap_error *error = search_plan(s, search, best);
    search_free(search);
    best->stopped = plan_stopped(s->request);
    return error;
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
                      "unknown strategy '%s': there are auto, none, all, sqrt, sequential:K, "
                      "segments and the .json of a plan",
                      wanted);
}

static neap_error *place_given(const struct solve *s, struct plan_result *out) {
    snprintf(out->strategy, sizeof out->strategy, "%s", s->request->strategy);
    TRY(plan_schedule_copy(&out->schedule, s->request->given));
    return place(s, out);
}

neap_error *plan_solve(const struct plan_problem *problem, const struct plan_request *request,
                       struct plan_result *result) {
    struct solve s = {.problem = problem, .request = request};
    *result = (struct plan_result){0};
    TRY(memory_alloc(problem->n_values, sizeof *s.drop, &s.drop));
    neap_error *error;
    if (request->given) {
        error = place_given(&s, result);
    } else if (request->piece) {
        error = plan_drop_pieces(problem, request->piece, s.drop);
        if (!error)
            error = consider(&s, request->strategy, result);
    } else if (!strcmp(request->strategy, "auto")) {
        error = solve_auto(&s, result);
    } else {
        error = solve_named(&s, result);
    }
    if (!error && !is_placed(result))
        error = place(&s, result);
    free(s.drop);
    if (error)
        plan_result_free(result);
    return error;
}

neap_error *plan_solve_smallest(const struct plan_problem *problem,
                                const struct plan_request *request, struct plan_result *result) {
    struct plan_request smallest = *request;
    smallest.strategy = "auto";
    smallest.piece = NULL;
    smallest.given = NULL;
    smallest.budget_bytes = 0;
    smallest.moves = SMALLEST_MOVES;
    smallest.n_warm = 0;
    TRY(plan_solve(problem, &smallest, result));
    result->fits = (request->live_peak ? result->measure.peak_bytes : result->arena_bytes) <=
                   request->budget_bytes;
    return NULL;
}
