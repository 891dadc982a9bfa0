/* search: see search.h.
 *
 *   fixed, warm ─▶ pool ─▶ the table of seeds, in turn ─▶ pool ─▶ rounds of annealing
 *
 * It ends as soon as the best of the pool is as fast as the bound allows, or so near that rounds
 * without gain are not worth their time. */
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/anneal.h"
#include "plan/greedy.h"
#include "plan/order.h"
#include "plan/settle.h"

/* Fractions of the seconds of one run of each op. */
static const double HOTTEST = 1e-2, COLDEST = 2e-4; /* between these, the gap is the temperature */
static const double PRESSING = 0.1; /* while nothing fits: of energy, where bytes are what counts */
static const double ENOUGH = 1e-4;  /* a gap that no search is worth */
static const double IDLE = 3e-5;    /* a round that gains less was idle: */
static const double IDLE_WORTH = 1e-3; /* the gap for which one more is tried */

enum {
    SMALL = 50,          /* ops; with fewer, a move is as quick as it gets */
    LARGE = 500,         /* ops */
    GREEDY_OPS = 4000,   /* over the ops: schedules that greedy starts from */
    POOL = 8,            /* schedules kept */
    BEAM_WORK = 1 << 27, /* steps that beam search may take, about */
    MOST_WIDTH = 64
};

struct entry {
    struct plan_schedule schedule;
    struct plan_measure measure;
};

struct search {
    const struct plan_problem *problem;
    const struct plan_request *request;
    struct sequence *sequence;
    struct entry pool[POOL + 1]; /* best first; one more for what is offered */
    size_t n;
    int64_t target_bytes;
    uint64_t moves; /* of local search, for one target */
    struct plan_bounds *bounds;
    uint32_t worst_moment; /* by the bound: an op's first run; PLAN_NONE: nothing is missing */
    bool *again;           /* by op: the bound's way past it */
    double least_seconds, total_seconds; /* by the bound; of one run of each op */
};

/* The effort that a problem deserves: what is large starts near the bound, and each of its moves
 * takes longer. */
static uint64_t default_moves(const struct plan_problem *p) {
    const uint64_t n = p->n_ops < SMALL ? SMALL : p->n_ops;
    return n <= LARGE ? 10000 * n : 10000 * (uint64_t)LARGE * LARGE / n;
}

neap_error *search_create(const struct plan_problem *problem, const struct plan_request *request,
                          struct search **out) {
    struct search *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->problem = problem;
    s->request = request;
    s->target_bytes = request->budget_bytes;
    s->moves = request->moves ? request->moves : default_moves(problem);
    for (uint32_t o = 0; o < problem->n_ops; o++)
        s->total_seconds += problem->ops[o].seconds;
    neap_error *error = sequence_create(problem, request->fixed_order, &s->sequence);
    if (!error)
        error = plan_bounds_open(problem, request->fixed_order, &s->bounds);
    if (!error)
        error = memory_alloc(problem->n_ops, sizeof *s->again, &s->again);
    if (error) {
        search_free(s);
        s = NULL;
    }
    *out = s;
    return error;
}

void search_free(struct search *s) {
    if (!s)
        return;
    for (size_t i = 0; i <= POOL; i++)
        plan_schedule_free(&s->pool[i].schedule);
    sequence_free(s->sequence);
    plan_bounds_close(s->bounds);
    free(s->again);
    free(s);
}

static const struct plan_schedule *best_schedule(const struct search *s) {
    return &s->pool[0].schedule;
}

size_t search_count(const struct search *s) {
    return s->n;
}

neap_error *search_settle(struct search *s, size_t i, struct plan_schedule *schedule) {
    TRY(plan_schedule_copy(schedule, &s->pool[i].schedule));
    return settle(s->sequence,
                  s->pool[i].measure.peak_bytes > s->target_bytes ? s->pool[i].measure.peak_bytes
                                                                  : s->target_bytes,
                  schedule);
}

int64_t search_peak(const struct search *s) {
    return s->pool[0].measure.peak_bytes;
}

/* ---- the pool ------------------------------------------------------------------------------- */

static bool before(const struct search *s, const struct plan_measure *a,
                   const struct plan_measure *b) {
    bool within = a->peak_bytes <= s->target_bytes, other = b->peak_bytes <= s->target_bytes;
    if (within != other)
        return within;
    if (within && a->seconds != b->seconds)
        return a->seconds < b->seconds;
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes;
    return a->seconds < b->seconds;
}

static void sort_pool(struct search *s) {
    for (size_t i = 1; i < s->n; i++)
        for (size_t j = i; j > 0 && before(s, &s->pool[j].measure, &s->pool[j - 1].measure); j--) {
            struct entry entry = s->pool[j];
            s->pool[j] = s->pool[j - 1];
            s->pool[j - 1] = entry;
        }
}

neap_error *search_offer(struct search *s, const struct plan_schedule *schedule) {
    struct entry *entry = &s->pool[s->n];
    if (!schedule->n)
        return NULL;
    TRY(plan_replay(s->problem, schedule, &entry->measure, NULL));
    for (size_t i = 0; i < s->n; i++)
        if (s->pool[i].measure.seconds == entry->measure.seconds &&
            s->pool[i].measure.peak_bytes == entry->measure.peak_bytes)
            return NULL;
    TRY(plan_schedule_copy(&entry->schedule, schedule));
    s->n++;
    sort_pool(s);
    s->n = s->n < POOL ? s->n : POOL;
    return NULL;
}

/* Nothing better can be found: the best is within the target and as fast as the bound allows. */
static bool proven(const struct search *s) {
    return s->n && s->pool[0].measure.peak_bytes <= s->target_bytes &&
           s->pool[0].measure.seconds <= s->least_seconds;
}

/* ---- seeds ---------------------------------------------------------------------------------- */

static neap_error *seed_order(struct search *s) {
    struct plan_schedule schedule = {0};
    uint64_t width = BEAM_WORK / ((uint64_t)s->problem->n_ops * s->problem->n_ops + 1);
    width = width < 1 ? 1 : width > MOST_WIDTH ? MOST_WIDTH : width;
    neap_error *error = plan_order_beam(s->problem, (uint32_t)width, &schedule);
    if (!error)
        error = search_offer(s, &schedule);
    plan_schedule_free(&schedule);
    return error;
}

/* The order alone, annealed towards a part of the base order's peak; then greedy from there. */
static neap_error *seed_annealed_orders(struct search *s) {
    static const double aims[] = {0.9, 0.75};
    struct plan_schedule base = {0}, schedule = {0};
    struct plan_measure measure;
    neap_error *error;
    TRY_GOTO(plan_base_order(s->problem, &base));
    TRY_GOTO(plan_replay(s->problem, &base, &measure, NULL));
    for (int i = 0; i < 2 && !plan_stopped(s->request); i++) {
        const struct anneal_request request = {.budget_bytes =
                                                   (int64_t)(aims[i] * (double)measure.peak_bytes),
                                               .moves = s->moves / 12,
                                               .seed = s->request->seed + (uint64_t)i,
                                               .hot = 0.03,
                                               .cold = 0.001,
                                               .order_only = true,
                                               .stop = s->request->stop,
                                               .stop_context = s->request->stop_context};
        TRY_GOTO(plan_schedule_copy(&schedule, &base));
        TRY_GOTO(anneal(s->sequence, &request, &schedule));
        TRY_GOTO(plan_greedy(s->sequence, s->target_bytes, &schedule));
        TRY_GOTO(search_offer(s, &schedule));
    }
done:
    plan_schedule_free(&schedule);
    plan_schedule_free(&base);
    return error;
}

/* Greedy from everything in the pool, or the best of it where that would take long. */
static neap_error *seed_greedily(struct search *s) {
    struct plan_schedule found[POOL] = {0};
    const size_t few = 2 + GREEDY_OPS / s->problem->n_ops, n = s->n < few ? s->n : few;
    neap_error *error = NULL;
    for (size_t i = 0; i < n; i++)
        TRY_GOTO(plan_schedule_copy(&found[i], &s->pool[i].schedule));
    for (size_t i = 0; i < n && !proven(s); i++) {
        if (i && plan_stopped(s->request))
            break;
        TRY_GOTO(plan_greedy(s->sequence, s->target_bytes, &found[i]));
        TRY_GOTO(search_offer(s, &found[i]));
    }
done:
    for (size_t i = 0; i < n; i++)
        plan_schedule_free(&found[i]);
    return error;
}

/* The slot of the first read behind `slot` of what op o makes; n_slots where there is none. */
static uint32_t next_read(const struct search *s, uint32_t o, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    uint32_t next = s->sequence->n_slots;
    for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
        const struct slots *uses = &s->sequence->uses[p->ids[p->ops[o].outputs.first + i]];
        uint32_t use = slots_below(uses, slot + 1);
        if (use < uses->n && uses->at[use] < next)
            next = uses->at[use];
    }
    return next;
}

/* What the bound would make again behind its worst moment, right before it is read there: where the
 * budget is short at that moment alone, no plan is better. */
static neap_error *seed_from_bound(struct search *s) {
    struct sequence *q = s->sequence;
    struct plan_schedule schedule = {0};
    neap_error *error;
    if (s->worst_moment == PLAN_NONE)
        return NULL;
    TRY_GOTO(sequence_load(q, best_schedule(s)));
    for (uint32_t o = s->problem->n_ops; o-- > 0;) { /* readers before what they read */
        if (!s->again[o])
            continue;
        uint32_t next = next_read(s, o, q->runs[s->worst_moment].at[0]), slot;
        if (next == q->n_slots)
            continue;
        slot = sequence_room_before(q, next);
        if (slot && sequence_can_insert(q, o, slot))
            sequence_insert(q, o, slot);
        sequence_commit(q);
        if (q->crowded)
            TRY_GOTO(sequence_spread(q));
    }
    TRY_GOTO(sequence_store(q, &schedule));
    TRY_GOTO(search_offer(s, &schedule));
done:
    plan_schedule_free(&schedule);
    return error;
}

static neap_error *seed_by(struct search *s,
                           neap_error *(*method)(const struct plan_problem *, int64_t,
                                                 struct plan_schedule *)) {
    struct plan_schedule schedule = {0};
    neap_error *error = method(s->problem, s->target_bytes, &schedule);
    if (!error)
        error = search_offer(s, &schedule);
    plan_schedule_free(&schedule);
    return error;
}

static neap_error *seed_cut(struct search *s) {
    return seed_by(s, plan_seed_cut);
}

static neap_error *seed_chain(struct search *s) {
    return seed_by(s, plan_seed_chain);
}

/* In turn, each where the best is farther from the bound than its gap. */
static const struct seed {
    neap_error *(*offer)(struct search *s);
    double gap;      /* a fraction of the seconds of one run of each op */
    bool free_order; /* of no use where the order is fixed */
    bool small;      /* too slow for large problems */
    bool slow;       /* a second or so */
} seeds[] = {
    {.offer = seed_from_bound},
    {.offer = seed_cut, .gap = ENOUGH},
    {.offer = seed_greedily, .gap = ENOUGH},
    {.offer = seed_order, .gap = ENOUGH, .free_order = true},
    {.offer = seed_greedily, .gap = ENOUGH, .free_order = true},
    {.offer = seed_annealed_orders, .gap = 5e-3, .free_order = true, .small = true},
    {.offer = seed_chain, .gap = 5e-3, .slow = true},
};
enum { N_SEEDS = sizeof seeds / sizeof *seeds };

static void aim(struct search *s, int64_t target_bytes) {
    struct plan_bound bound;
    plan_bounds_at(s->bounds, target_bytes, &bound, s->again);
    s->worst_moment = bound.op;
    s->least_seconds = s->total_seconds * (1 + 1e-9) + bound.extra_seconds;
    s->target_bytes = target_bytes;
    sort_pool(s);
}

/* What the best takes beyond the bound, as a fraction of one run of each op; INFINITY where it is
 * over the target. */
static double gap(const struct search *s) {
    const struct plan_measure *best = &s->pool[0].measure;
    if (best->peak_bytes > s->target_bytes)
        return INFINITY;
    return (best->seconds - s->least_seconds) / s->total_seconds;
}

int64_t search_floor(struct search *s) {
    struct plan_bound bound;
    plan_bounds_at(s->bounds, INT64_MAX, &bound, NULL);
    return bound.floor_bytes;
}

neap_error *search_seed(struct search *s, int64_t target_bytes) {
    const bool brief = plan_brief(s->request), large = s->problem->n_ops > LARGE;
    aim(s, target_bytes);
    for (size_t i = 0; i < N_SEEDS; i++) {
        const struct seed *seed = &seeds[i];
        const bool fits = isfinite(gap(s)), stopped = plan_stopped(s->request);
        const bool skipped = (seed->free_order && s->request->fixed_order) ||
                             (seed->small && large) ||
                             (seed->slow && (stopped || (brief && fits))) || (stopped && fits);
        if (!skipped && gap(s) > seed->gap)
            TRY(seed->offer(s));
    }
    return NULL;
}

neap_error *search_tighten(struct search *s, int64_t target_bytes) {
    aim(s, target_bytes);
    return proven(s) ? NULL : seed_greedily(s);
}

/* ---- local search --------------------------------------------------------------------------- */

/* Rounds of annealing: whence, how hot, and which part of the moves. */
static const struct round {
    size_t from; /* place in the pool */
    double hot;  /* of the gap to the bound */
    double share;
} rounds[] = {
    {0, .1, .1}, {0, .3, .1}, {2, 1, .2}, {0, 1, .2}, {0, .3, .2}, {0, .1, .1}, {0, .03, .1},
};
enum { N_ROUNDS = sizeof rounds / sizeof *rounds };

neap_error *search_improve(struct search *s, int64_t target_bytes, double share) {
    const double moves = share * (double)s->moves;
    struct plan_schedule schedule = {0};
    neap_error *error = NULL;
    aim(s, target_bytes);
    const double hottest = fmax(HOTTEST, 1.0 / s->problem->n_ops); /* a common op's seconds */
    double idle_worth = ENOUGH;
    for (size_t r = 0; r < N_ROUNDS && gap(s) > idle_worth && !plan_stopped(s->request); r++) {
        const double before_round = gap(s);
        const double scale =
            isfinite(before_round) ? fmin(hottest, fmax(before_round, COLDEST)) : PRESSING;
        const struct anneal_request request = {.budget_bytes = target_bytes,
                                               .moves = (uint64_t)(rounds[r].share * moves),
                                               .seed = s->request->seed * N_ROUNDS + r,
                                               .hot = scale * rounds[r].hot,
                                               .cold = scale * rounds[r].hot / 1000,
                                               .enough_seconds = s->least_seconds,
                                               .stop = s->request->stop,
                                               .stop_context = s->request->stop_context};
        size_t from = rounds[r].from < s->n ? rounds[r].from : 0;
        TRY_GOTO(plan_schedule_copy(&schedule, &s->pool[from].schedule));
        TRY_GOTO(anneal(s->sequence, &request, &schedule));
        TRY_GOTO(search_offer(s, &schedule));
        if (before_round - gap(s) < IDLE)
            idle_worth += IDLE_WORTH;
    }
done:
    plan_schedule_free(&schedule);
    return error;
}
