/* greedy: closes gaps at the peak until it fits.
 *
 * A gap of a value lies between two uses of one life. What lives across the peak in a gap is made
 * again just before the next use instead, its inputs too where they are not alive there; or its
 * inputs are kept alive. Each way of each candidate is tried on the sequence; what takes the most
 * excess per second of recompute is done. Then what turned out not to be needed is taken back. Near
 * the bound at mild budgets, in milliseconds. */
#include <stdlib.h>

#include "plan/greedy.h"

enum {
    TRIED_WORK = 200000,
    LEAST_TRIES = 48,
    DEPTH = 24,
    PATIENCE = 64,
    LEAST_CLOSED = 200,
    CLOSED_WORK = 400000, /* over the ops: gaps closed in one call, at most */
    CLOSED_BETWEEN_SPREADS = 8
};

struct candidate {
    uint32_t value, next_use;
    double score;
};

static int by_score(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->value > y->value) - (x->value < y->value);
}

/* Values that may be made again, alive across `slot` and not used in it. */
static size_t find_candidates(const struct sequence *s, uint32_t slot, struct candidate *out) {
    const struct plan_problem *p = s->problem;
    size_t n = 0;
    for (uint32_t v = 0; v < p->n_values; v++) {
        const struct plan_value *value = &p->values[v];
        const struct slots *uses = &s->uses[v];
        if (value->persistent || value->producer == PLAN_NONE || !value->bytes ||
            plan_op_once(&p->ops[value->producer]) || !uses->n)
            continue;
        uint32_t use = slots_below(uses, slot);
        if (use == uses->n || uses->at[use] == slot)
            continue;
        struct sequence_life life = sequence_life_at(s, v, slot);
        if (life.end < uses->at[use] || life.start == slot || !life.start)
            continue;
        double seconds = p->ops[value->producer].seconds;
        out[n++] = (struct candidate){v, uses->at[use], (double)value->bytes / (seconds + 1e-12)};
    }
    qsort(out, n, sizeof *out, by_score);
    size_t tries = TRIED_WORK / p->n_ops;
    tries = tries < LEAST_TRIES ? LEAST_TRIES : tries;
    return n < tries ? n : tries;
}

/* Runs op o before `slot`, and with it what makes the inputs that are not alive there. */
static bool make_before(struct sequence *s, uint32_t o, uint32_t slot, int depth) {
    const struct plan_problem *p = s->problem;
    uint32_t room = slot - 1;
    if (!room || !sequence_can_insert(s, o, room))
        return false;
    sequence_insert(s, o, room);
    const struct plan_span inputs = p->ops[o].inputs;
    for (uint32_t i = 0; i < inputs.n && depth > 0; i++) {
        uint32_t v = p->ids[inputs.first + i], maker = p->values[v].producer;
        if (p->values[v].persistent || maker == PLAN_NONE || plan_op_once(&p->ops[maker]))
            continue;
        if (sequence_life_at(s, v, room).end <= room && !make_before(s, maker, room, depth - 1))
            return false;
    }
    return true;
}

struct greedy {
    struct sequence *s;
    int64_t target;
    struct candidate *candidates;
};

/* What a trial is worth: excess taken per second; < 0: nothing. */
static double try(struct greedy *g, const struct candidate *c, int depth, int64_t excess) {
    struct sequence *s = g->s;
    double seconds = s->seconds;
    bool made = make_before(s, s->problem->values[c->value].producer, c->next_use, depth);
    double taken = (double)(excess - profile_area(&s->profile, g->target));
    double score = made ? taken / (s->seconds - seconds + 1e-12) : -1;
    sequence_undo(s);
    return score;
}

static bool close_best_gap(struct greedy *g) {
    struct sequence *s = g->s;
    int64_t excess = profile_area(&s->profile, g->target);
    size_t n = find_candidates(s, profile_peak_slot(&s->profile), g->candidates);
    const struct candidate *best = NULL;
    int best_depth = 0;
    double best_score = 0;
    for (size_t i = 0; i < n; i++)
        for (int depth = 0; depth <= DEPTH; depth += DEPTH) {
            double score = try(g, &g->candidates[i], depth, excess);
            if (score > best_score) {
                best = &g->candidates[i];
                best_depth = depth;
                best_score = score;
            }
        }
    if (!best)
        return false;
    make_before(s, s->problem->values[best->value].producer, best->next_use, best_depth);
    sequence_commit(s);
    return true;
}

struct extra {
    uint32_t slot;
    double seconds;
};

static int by_seconds(const void *a, const void *b) {
    const struct extra *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Takes back executions without which the limit holds, the longest first. */
static neap_error *take_back(struct sequence *s, int64_t limit) {
    struct extra *extras;
    size_t n = 0;
    TRY(memory_alloc(s->n_taken, sizeof *extras, &extras));
    for (uint32_t i = 0; i < s->n_taken; i++) {
        uint32_t slot = s->taken[i], o = s->op_at[slot];
        if (s->runs[plan_primary(s->problem, o)].n > 1)
            extras[n++] = (struct extra){slot, s->problem->ops[o].seconds};
    }
    qsort(extras, n, sizeof *extras, by_seconds);
    for (size_t i = 0; i < n; i++) {
        if (!sequence_can_remove(s, extras[i].slot))
            continue;
        sequence_remove(s, extras[i].slot);
        if (profile_peak(&s->profile) <= limit)
            sequence_commit(s);
        else
            sequence_undo(s);
    }
    free(extras);
    return NULL;
}

neap_error *plan_greedy(struct sequence *s, int64_t target_bytes, struct plan_schedule *schedule) {
    struct greedy g = {.s = s, .target = target_bytes};
    neap_error *error;
    int64_t least;
    int patience = PATIENCE;
    uint32_t room = LEAST_CLOSED + CLOSED_WORK / s->problem->n_ops;
    TRY(memory_alloc(s->problem->n_values, sizeof *g.candidates, &g.candidates));
    TRY_GOTO(sequence_load(s, schedule));
    least = profile_peak(&s->profile);
    for (uint32_t closed = 0;
         patience-- > 0 && room-- > 0 && profile_peak(&s->profile) > target_bytes;) {
        bool found = close_best_gap(&g);
        if (!found && closed == 0)
            break;
        closed = found ? closed + 1 : 0;
        if (!found || closed == CLOSED_BETWEEN_SPREADS) {
            TRY_GOTO(sequence_spread(s));
            closed = 0;
        }
        if (profile_peak(&s->profile) < least) {
            least = profile_peak(&s->profile);
            patience = PATIENCE;
            TRY_GOTO(sequence_store(s, schedule));
        }
    }
    TRY_GOTO(sequence_load(s, schedule));
    TRY_GOTO(take_back(s, least > target_bytes ? least : target_bytes));
    error = sequence_store(s, schedule);
done:
    free(g.candidates);
    return error;
}
