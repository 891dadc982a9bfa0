/* anneal: see anneal.h. Five kinds of move on the sequence, each undone where the energy it leads
 * to is above a bar that is drawn before: a move whose seconds alone are above it is not even made.
 */
#include "plan/anneal.h"

#include <math.h>
#include <stdlib.h>

enum {
    PERIOD = 1024,   /* moves between changes of temperature and weight */
    CHAIN_DEPTH = 24 /* executions that one move makes or takes back, at most */
};

struct anneal {
    struct sequence *s;
    const struct anneal_request *request;
    uint64_t random;
    double total_seconds;
    double launch; /* energy of any execution: what costs nothing is not made for nothing */
    double temperature, energy, weight;
    double bar; /* the energy above which the move at hand will be refused */
    int64_t peak;
    uint32_t peak_slot;    /* while the peak is over the budget */
    uint32_t since_spread; /* moves; spreading takes as long as a good many */
    uint32_t n_within;     /* of this period's moves, those that ended within the budget */
    double best_seconds;
    int64_t best_peak;
};

static uint64_t draw(struct anneal *a) { /* splitmix64 (Steele, Lea and Flood 2014) */
    uint64_t z = a->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* 0 … n - 1. */
static uint32_t roll(struct anneal *a, uint32_t n) {
    return (uint32_t)((draw(a) >> 32) * n >> 32);
}

/* In (0, 1]. */
static double uniform(struct anneal *a) {
    return (double)((draw(a) >> 11) + 1) * 0x1p-53;
}

static double cost_with(const struct anneal *a, double more_seconds, uint32_t more_executions) {
    return (a->s->seconds + more_seconds) / a->total_seconds +
           (a->s->n_taken + more_executions) * a->launch;
}

static double energy(struct anneal *a) {
    int64_t budget = a->request->budget_bytes;
    double cost = cost_with(a, 0, 0);
    a->peak = profile_peak(&a->s->profile);
    if (a->peak <= budget)
        return cost;
    double unit = (double)budget + 1;
    return cost + a->weight * (log1p((double)(a->peak - budget) / unit) +
                               0.2 * (double)profile_excess(&a->s->profile, budget) / unit);
}

/* ---- moves: each returns whether it changed anything ---------------------------------------- */

static uint32_t random_execution(struct anneal *a) {
    return a->s->taken[roll(a, a->s->n_taken)];
}

/* An execution of an op that runs more than once; 0 where none was found. */
static uint32_t random_extra(struct anneal *a) {
    struct sequence *s = a->s;
    for (int tries = 0; tries < 24; tries++) {
        uint32_t slot = random_execution(a);
        if (s->runs[plan_primary(s->problem, s->op_at[slot])].n > 1)
            return slot;
    }
    return 0;
}

/* Op o, or now and then one that can stand in for it. */
static uint32_t random_implementation(struct anneal *a, uint32_t o) {
    const struct plan_problem *p = a->s->problem;
    if (!p->n_alternatives || roll(a, 2))
        return o;
    uint32_t other = p->n_ops + roll(a, p->n_alternatives);
    return p->ops[other].alternative_of == o ? other : o;
}

/* May be made again: not kept for ever, not given, and made by an op that may run again. */
static bool remakable(const struct plan_problem *p, uint32_t v) {
    uint32_t maker = p->values[v].producer;
    return !p->values[v].persistent && maker != PLAN_NONE && !plan_op_once(&p->ops[maker]);
}

static bool make(struct anneal *a, uint32_t o, uint32_t slot, int depth);

/* Of what the execution of op o in `slot` reads and nothing behind it does, most is made again in
 * front of it, and what that reads, as far as `depth` goes: the others live longer. */
static void make_inputs(struct anneal *a, uint32_t o, uint32_t slot, int depth) {
    struct sequence *s = a->s;
    const struct plan_problem *p = s->problem;
    const struct plan_span inputs = p->ops[o].inputs;
    for (uint32_t i = 0; i < inputs.n && depth > 0; i++) {
        uint32_t v = p->ids[inputs.first + i];
        if (!remakable(p, v))
            continue;
        struct sequence_life life = sequence_life_at(s, v, slot);
        if (life.end > slot || roll(a, 4) == 0)
            continue;
        uint32_t room = sequence_room_before(s, slot);
        if (room > life.used)
            make(a, random_implementation(a, p->values[v].producer), room, depth - 1);
    }
}

/* Executes op o in `slot`. */
static bool make(struct anneal *a, uint32_t o, uint32_t slot, int depth) {
    struct sequence *s = a->s;
    if (cost_with(a, s->problem->ops[o].seconds, 1) > a->bar || !sequence_can_insert(s, o, slot))
        return false;
    sequence_insert(s, o, slot);
    make_inputs(a, o, slot, depth);
    return true;
}

/* Makes a value again between two of its uses: right before the later one, or anywhere. */
static bool split_gap(struct anneal *a) {
    struct sequence *s = a->s;
    const struct plan_problem *p = s->problem;
    uint32_t use = random_execution(a);
    const struct plan_span inputs = p->ops[s->op_at[use]].inputs;
    if (!inputs.n)
        return false;
    uint32_t v = p->ids[inputs.first + roll(a, inputs.n)];
    if (!remakable(p, v))
        return false;
    uint32_t maker = random_implementation(a, p->values[v].producer);
    if (cost_with(a, p->ops[maker].seconds, 1) > a->bar)
        return false;
    struct sequence_life life = sequence_life_at(s, v, use);
    bool over = a->peak > a->request->budget_bytes;
    if (over && roll(a, 8) && (life.used > a->peak_slot || use < a->peak_slot))
        return false;
    uint32_t slot =
        roll(a, 3) ? sequence_room_before(s, use) : life.used + 1 + roll(a, use - life.used);
    return slot > life.used && slot < use && make(a, maker, slot, roll(a, 2) ? CHAIN_DEPTH : 0);
}

/* Takes an execution back, and what then has no reader, as far as `depth` goes. */
static bool unmake(struct anneal *a, uint32_t slot, int depth) {
    struct sequence *s = a->s;
    const struct plan_problem *p = s->problem;
    if (!sequence_can_remove(s, slot))
        return false;
    uint32_t o = s->op_at[slot];
    sequence_remove(s, slot);
    const struct plan_span inputs = p->ops[o].inputs;
    for (uint32_t i = 0; i < inputs.n && depth > 0; i++) {
        uint32_t v = p->ids[inputs.first + i];
        if (!remakable(p, v))
            continue;
        struct sequence_life life = sequence_life_at(s, v, slot);
        if (life.start && life.end == life.start)
            unmake(a, life.start, depth - 1);
    }
    return true;
}

static bool close_gap(struct anneal *a) {
    uint32_t slot = random_extra(a);
    return slot && unmake(a, slot, roll(a, 2) ? CHAIN_DEPTH : 0);
}

static bool exchange(struct anneal *a) {
    return close_gap(a) && split_gap(a);
}

/* Moves one execution, near more often than far; behind where it was, now and then with what it
 * reads made again there. */
static bool shift(struct anneal *a) {
    struct sequence *s = a->s;
    const struct plan_problem *p = s->problem;
    uint32_t slot = a->request->order_only || roll(a, 2) ? 0 : random_extra(a);
    if (!slot)
        slot = random_execution(a);
    uint32_t o = s->op_at[slot], primary = plan_primary(p, o);
    if (p->ops[o].update_part || (s->fixed_order && s->runs[primary].at[0] == slot))
        return false;
    uint32_t far = (uint32_t)exp(uniform(a) * log((double)s->n_slots));
    bool back = roll(a, 2);
    if (back ? far >= slot : far >= s->n_slots - slot)
        return false;
    uint32_t to = back ? slot - far : slot + far;
    if (s->op_at[to] != PLAN_NONE)
        return false;
    sequence_remove(s, slot);
    uint32_t maker = random_implementation(a, primary);
    if (!sequence_can_insert(s, maker, to))
        return false;
    sequence_insert(s, maker, to);
    if (!back && !a->request->order_only && roll(a, 4) == 0)
        make_inputs(a, maker, to, CHAIN_DEPTH);
    return true;
}

static bool (*const moves[])(struct anneal *) = {
    split_gap, split_gap, split_gap, split_gap, close_gap, close_gap, close_gap, close_gap,
    exchange,  exchange,  exchange,  shift,     shift,     shift,     shift,     shift};
enum { N_MOVES = sizeof moves / sizeof *moves };

/* ---- the search ----------------------------------------------------------------------------- */

/* The best so far: within the budget before over it; then the seconds, or the peak. */
static neap_error *note_best(struct anneal *a, struct plan_schedule *best) {
    int64_t budget = a->request->budget_bytes;
    bool within = a->peak <= budget, best_within = a->best_peak <= budget;
    bool better = within != best_within ? within
                  : within              ? a->s->seconds < a->best_seconds * (1 - 1e-12)
                                        : a->peak < a->best_peak;
    if (!better)
        return NULL;
    a->best_seconds = a->s->seconds;
    a->best_peak = a->peak;
    return sequence_store(a->s, best);
}

static void adjust(struct anneal *a, double progress) {
    const struct anneal_request *r = a->request;
    a->temperature = r->hot * exp(progress * log(r->cold / r->hot));
    if (progress > 0 && !r->order_only) {
        if (10 * a->n_within < 3 * PERIOD && a->weight < 50)
            a->weight *= 1.05;
        if (10 * a->n_within > 7 * PERIOD && a->weight > 0.01)
            a->weight /= 1.05;
        a->energy = energy(a);
    }
    a->n_within = 0;
}

static neap_error *try_move(struct anneal *a, struct plan_schedule *best) {
    struct sequence *s = a->s;
    int64_t peak = a->peak, budget = a->request->budget_bytes;
    a->bar = a->energy - a->temperature * log(uniform(a));
    bool changed = a->request->order_only ? shift(a) : moves[roll(a, N_MOVES)](a);
    double next = changed ? energy(a) : INFINITY;
    if (next <= a->bar) {
        sequence_commit(s);
        a->energy = next;
        if (a->peak > budget)
            a->peak_slot = profile_peak_slot(&s->profile);
        TRY(note_best(a, best));
    } else {
        sequence_undo(s);
        a->peak = peak;
    }
    a->n_within += a->peak <= budget;
    a->since_spread++;
    if (!s->crowded || a->since_spread < s->n_taken / 4)
        return NULL;
    a->since_spread = 0;
    return sequence_spread(s);
}

neap_error *anneal(struct sequence *s, const struct anneal_request *request,
                   struct plan_schedule *schedule) {
    struct anneal a = {.s = s, .request = request, .random = request->seed, .weight = 0.5};
    TRY(sequence_load(s, schedule));
    for (uint32_t o = 0; o < s->problem->n_ops; o++)
        a.total_seconds += s->problem->ops[o].seconds;
    a.total_seconds = a.total_seconds > 0 ? a.total_seconds : 1;
    a.launch = 1e-4 / s->problem->n_ops;
    a.weight = request->order_only ? 1 : 0.5;
    a.energy = energy(&a);
    a.peak_slot = profile_peak_slot(&s->profile);
    a.best_seconds = s->seconds;
    a.best_peak = a.peak;
    for (uint64_t m = 0; m < request->moves && !s->error; m++) {
        if (m % PERIOD == 0) {
            bool enough =
                a.best_peak <= request->budget_bytes && a.best_seconds <= request->enough_seconds;
            if (enough || (request->stop && request->stop(request->stop_context)))
                break;
            adjust(&a, (double)m / (double)request->moves);
        }
        TRY(try_move(&a, schedule));
    }
    neap_error *error = s->error;
    s->error = NULL;
    return error;
}
