/* The second opinion on a finished plan: accepts or refuses it by the definitions in problem.h.
 *
 * Shares nothing with the code that makes plans. Every refusal names the rule that is broken:
 *   once, order, liveness, hazard, seam   the schedule's, see problem.h
 *   life       lives are exactly what the reads ask for, in the order in which they are made
 *   in place   only where the op allows it, of bytes that die there, by one life
 *   offset     aligned, inside the arena
 *   overlap    no byte in two lives at once
 *   arena, peak, seconds   as claimed
 *
 * Expected load: 100,000 steps. O(steps × degree × log updates + lives × (log lives + lives / 64)).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "plan/problem.h"

#define REFUSE(rule, ...)                                                                          \
    return error_make(NEAP_ERROR_INTERNAL, "the plan breaks '" rule "': " __VA_ARGS__)

static const double seconds_tolerance = 1e-9;

/* A life as the schedule asks for it. */
struct wanted {
    uint32_t value, first_step, last_step;
};

struct check {
    const struct plan_problem *problem;
    const struct plan_schedule *schedule;
    const struct plan_lives *lives;
    const struct plan_claim *claim;
    uint32_t *runs;         /* by op */
    size_t update_part;     /* its first step; SIZE_MAX: there is none */
    uint32_t *changers;     /* by value a slice: the ops that make or update it, in base order */
    uint32_t *first_change; /* by value: where its slice starts; one more at the end */
    uint32_t *held; /* by value: how many of those, from the first on, it holds the work of */
    uint32_t *open; /* by value: its latest in wanted, PLAN_NONE */
    struct wanted *wanted; /* in the order in which they are made */
    size_t n_wanted, wanted_capacity;
};

static const struct plan_op *op_at(const struct check *c, size_t step) {
    return &c->problem->ops[c->schedule->ops[step]];
}

/* ---- the sequence --------------------------------------------------------------------------- */

static bool only_once(const struct plan_op *op) {
    return op->effect || op->phase != PLAN_FORWARD || op->updates.n > 0;
}

/* Where op o stands in the base order. */
static uint32_t place_of(const struct plan_problem *p, uint32_t o) {
    return o < p->n_ops ? o : p->ops[o].alternative_of;
}

static neap_error *check_turn(struct check *c, size_t step) {
    const struct plan_problem *p = c->problem;
    uint32_t op = c->schedule->ops[step];
    if (op >= p->n_ops + p->n_alternatives)
        REFUSE("once", "step %zu runs op %" PRIu32 " of %" PRIu32, step, op,
               p->n_ops + p->n_alternatives);
    uint32_t place = place_of(p, op);
    if (c->runs[place]++ && only_once(&p->ops[place]))
        REFUSE("once", "step %zu runs op %" PRIu32 " again", step, place);
    if (p->ops[place].update_part && c->update_part == SIZE_MAX)
        c->update_part = step;
    if (!p->ops[place].update_part && c->update_part != SIZE_MAX)
        REFUSE("order",
               "step %zu runs op %" PRIu32 " of a micro-batch behind the update of step %zu", step,
               op, c->update_part);
    return NULL;
}

static neap_error *check_sequence(struct check *c) {
    double seconds = 0, claimed = c->claim->seconds;
    c->update_part = SIZE_MAX;
    for (size_t step = 0; step < c->schedule->n; step++) {
        TRY(check_turn(c, step));
        seconds += op_at(c, step)->seconds;
    }
    for (uint32_t op = 0; op < c->problem->n_ops; op++)
        if (!c->runs[op])
            REFUSE("once", "op %" PRIu32 " never runs", op);
    if (!(fabs(seconds - claimed) <= seconds_tolerance * fabs(seconds)))
        REFUSE("seconds", "%.17g are claimed, the steps take %.17g", claimed, seconds);
    return NULL;
}

/* ---- who changes what ----------------------------------------------------------------------- */

static void count_changes(struct check *c, struct plan_span span) {
    for (uint32_t i = 0; i < span.n; i++)
        c->first_change[c->problem->ids[span.first + i] + 1]++;
}

/* `held` counts how much of each slice is there. */
static void note_changes(struct check *c, struct plan_span span, uint32_t op) {
    for (uint32_t i = 0; i < span.n; i++) {
        uint32_t value = c->problem->ids[span.first + i];
        c->changers[c->first_change[value] + c->held[value]++] = op;
    }
}

static neap_error *list_changes(struct check *c) {
    const struct plan_problem *p = c->problem;
    for (uint32_t op = 0; op < p->n_ops; op++) {
        count_changes(c, p->ops[op].updates);
        count_changes(c, p->ops[op].outputs);
    }
    for (uint32_t v = 0; v < p->n_values; v++)
        c->first_change[v + 1] += c->first_change[v];
    TRY(memory_alloc(c->first_change[p->n_values], sizeof *c->changers, &c->changers));
    for (uint32_t op = 0; op < p->n_ops; op++) {
        note_changes(c, p->ops[op].updates, op);
        note_changes(c, p->ops[op].outputs, op);
    }
    return NULL;
}

/* Of the changes of a value, how many stand before this op in the base order. */
static uint32_t changes_before(const struct check *c, uint32_t value, uint32_t op) {
    uint32_t low = c->first_change[value], high = c->first_change[value + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->changers[middle] < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low - c->first_change[value];
}

/* ---- liveness and hazards ------------------------------------------------------------------- */

static neap_error *want_life(struct check *c, uint32_t value, uint32_t step) {
    TRY(memory_grow(&c->wanted, &c->wanted_capacity, c->n_wanted + 1, sizeof *c->wanted));
    c->open[value] = (uint32_t)c->n_wanted;
    c->wanted[c->n_wanted++] = (struct wanted){value, step, step};
    return NULL;
}

static neap_error *check_access(struct check *c, uint32_t step, uint32_t value) {
    uint32_t op = c->schedule->ops[step];
    if (!c->problem->values[value].persistent) {
        if (c->open[value] == PLAN_NONE)
            REFUSE("liveness",
                   "step %" PRIu32 " (op %" PRIu32 ") reads value %" PRIu32 ", which is not live",
                   step, op, value);
        c->wanted[c->open[value]].last_step = step;
    }
    uint32_t due = changes_before(c, value, place_of(c->problem, op));
    if (c->held[value] != due)
        REFUSE("hazard",
               "step %" PRIu32 " runs op %" PRIu32 " on value %" PRIu32 " behind %" PRIu32
               " of the ops that change it, not behind %" PRIu32,
               step, op, value, c->held[value], due);
    return NULL;
}

/* Behind a change the value holds the op's work, whatever was there before. */
static neap_error *check_write(struct check *c, uint32_t step, uint32_t value) {
    const struct plan_value *v = &c->problem->values[value];
    if (v->input)
        REFUSE("life", "step %" PRIu32 " makes value %" PRIu32 ", which is an input", step, value);
    c->held[value] = 1 + changes_before(c, value, place_of(c->problem, c->schedule->ops[step]));
    return v->persistent ? NULL : want_life(c, value, step);
}

static neap_error *check_step(struct check *c, uint32_t step) {
    const struct plan_op *op = op_at(c, step);
    const uint32_t *ids = c->problem->ids;
    for (uint32_t i = 0; i < op->inputs.n; i++)
        TRY(check_access(c, step, ids[op->inputs.first + i]));
    for (uint32_t i = 0; i < op->updates.n; i++)
        TRY(check_access(c, step, ids[op->updates.first + i]));
    for (uint32_t i = 0; i < op->updates.n; i++)
        c->held[ids[op->updates.first + i]]++;
    for (uint32_t i = 0; i < op->outputs.n; i++)
        TRY(check_write(c, step, ids[op->outputs.first + i]));
    return NULL;
}

static neap_error *check_steps(struct check *c) {
    const struct plan_problem *p = c->problem;
    for (uint32_t v = 0; v < p->n_values; v++) {
        c->held[v] = 0;
        c->open[v] = PLAN_NONE;
        if (p->values[v].input && !p->values[v].persistent)
            TRY(want_life(c, v, 0));
    }
    for (size_t step = 0; step < c->schedule->n; step++)
        TRY(check_step(c, (uint32_t)step));
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].persistent && c->held[v] != c->first_change[v + 1] - c->first_change[v])
            REFUSE("hazard", "value %" PRIu32 " ends without the work of op %" PRIu32, v,
                   c->changers[c->first_change[v] + c->held[v]]);
    return NULL;
}

/* ---- lives ---------------------------------------------------------------------------------- */

static neap_error *check_life(const struct check *c, uint32_t index) {
    const struct plan_life *life = &c->lives->at[index];
    const struct wanted *wanted = &c->wanted[index];
    if (life->value != wanted->value || life->first_step != wanted->first_step)
        REFUSE("life",
               "life %" PRIu32 " is of value %" PRIu32 " from step %" PRIu32
               ", where that of value %" PRIu32 " from step %" PRIu32 " should stand",
               index, life->value, life->first_step, wanted->value, wanted->first_step);
    int64_t bytes = c->problem->values[life->value].bytes;
    if (life->last_step != wanted->last_step)
        REFUSE("life",
               "life %" PRIu32 " of value %" PRIu32 " ends at step %" PRIu32
               ", its last read is at step %" PRIu32,
               index, life->value, life->last_step, wanted->last_step);
    if (life->bytes != bytes || bytes < 0)
        REFUSE("life", "life %" PRIu32 " has %" PRIi64 " bytes, its value %" PRIu32 " has %" PRIi64,
               index, life->bytes, life->value, bytes);
    if (life->first_step < c->update_part && c->update_part <= life->last_step)
        REFUSE("seam",
               "life %" PRIu32 " of value %" PRIu32 " from step %" PRIu32
               " reaches into the update of step %zu",
               index, life->value, life->first_step, c->update_part);
    return NULL;
}

static neap_error *check_lives(const struct check *c) {
    for (uint32_t i = 0; i < c->n_wanted && i < c->lives->n; i++)
        TRY(check_life(c, i));
    if (c->n_wanted != c->lives->n)
        REFUSE("life", "there are %zu lives, the steps make %zu", c->lives->n, c->n_wanted);
    return NULL;
}

/* ---- in place ------------------------------------------------------------------------------- */

static bool op_overwrites(const struct check *c, const struct plan_op *op, uint32_t input,
                          uint32_t output) {
    const struct plan_overwrite *allowed = c->problem->overwrites + op->first_overwrite;
    for (uint32_t i = 0; i < op->n_overwrites; i++)
        if (allowed[i].input == input && allowed[i].output == output)
            return true;
    return false;
}

static neap_error *check_taking(const struct check *c, uint32_t index, bool *taken) {
    const struct plan_life *life = &c->lives->at[index];
    if (life->in_place_of >= c->lives->n)
        REFUSE("in place", "life %" PRIu32 " is in place of life %" PRIu32 ", which is none", index,
               life->in_place_of);
    const struct plan_life *from = &c->lives->at[life->in_place_of];
    if (c->problem->values[life->value].input ||
        !op_overwrites(c, op_at(c, life->first_step), from->value, life->value))
        REFUSE("in place",
               "step %" PRIu32 " may not put value %" PRIu32 " in place of value %" PRIu32,
               life->first_step, life->value, from->value);
    if (from->last_step != life->first_step)
        REFUSE("in place",
               "life %" PRIu32 " takes life %" PRIu32 " at step %" PRIu32
               ", which ends at step %" PRIu32,
               index, life->in_place_of, life->first_step, from->last_step);
    if (life->bytes > from->bytes)
        REFUSE("in place",
               "life %" PRIu32 " of %" PRIi64 " bytes takes life %" PRIu32 " of %" PRIi64, index,
               life->bytes, life->in_place_of, from->bytes);
    if (life->offset != from->offset)
        REFUSE("in place",
               "life %" PRIu32 " lies at %" PRIi64 ", life %" PRIu32 " that it takes at %" PRIi64,
               index, life->offset, life->in_place_of, from->offset);
    if (taken[life->in_place_of])
        REFUSE("in place", "life %" PRIu32 " is taken twice", life->in_place_of);
    taken[life->in_place_of] = true;
    return NULL;
}

static neap_error *check_in_place(const struct check *c) {
    bool *taken;
    TRY(memory_alloc(c->lives->n, sizeof *taken, &taken));
    neap_error *error = NULL;
    for (uint32_t i = 0; i < c->lives->n && !error; i++)
        if (c->lives->at[i].in_place_of != PLAN_NONE)
            error = check_taking(c, i, taken);
    free(taken);
    return error;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static neap_error *check_offsets(const struct check *c) {
    int64_t arena = c->claim->arena_bytes, top = 0;
    if (c->claim->alignment_bytes <= 0)
        REFUSE("offset", "an alignment of %" PRIi64 " bytes", c->claim->alignment_bytes);
    for (size_t i = 0; i < c->lives->n; i++) {
        const struct plan_life *life = &c->lives->at[i];
        if (life->offset < 0 || life->offset % c->claim->alignment_bytes)
            REFUSE("offset", "life %zu lies at %" PRIi64 ", not a multiple of %" PRIi64, i,
                   life->offset, c->claim->alignment_bytes);
        if (life->bytes > arena || life->offset > arena - life->bytes)
            REFUSE("arena",
                   "life %zu of %" PRIi64 " bytes at %" PRIi64 " exceeds the arena's %" PRIi64, i,
                   life->bytes, life->offset, arena);
        if (top < life->offset + life->bytes)
            top = life->offset + life->bytes;
    }
    if (top != arena)
        REFUSE("arena", "%" PRIi64 " bytes are claimed, %" PRIi64 " are used", arena, top);
    return NULL;
}

/* The step from which a life has bytes of its own: in its first step, one in place of another lies
 * inside that one. */
static uint32_t own_from(const struct plan_life *life) {
    return life->first_step + (life->in_place_of != PLAN_NONE);
}

/* Lives by the steps at which they come and go: index lists chained through `next`. */
struct timetable {
    uint32_t *coming, *going; /* by step: the first of a list, PLAN_NONE */
    uint32_t *next_coming, *next_going;
};

static void timetable_free(struct timetable *t) {
    free(t->coming);
    free(t->going);
    free(t->next_coming);
    free(t->next_going);
}

/* Lives without bytes, and those that die inside the life whose place they take, do not appear. */
static neap_error *timetable_make(const struct check *c, struct timetable *t) {
    size_t n_steps = c->schedule->n + 1; /* inputs have their step 0 in an empty schedule too */
    TRY(memory_alloc(n_steps, sizeof *t->coming, &t->coming));
    TRY(memory_alloc(n_steps, sizeof *t->going, &t->going));
    TRY(memory_alloc(c->lives->n, sizeof *t->next_coming, &t->next_coming));
    TRY(memory_alloc(c->lives->n, sizeof *t->next_going, &t->next_going));
    for (size_t s = 0; s < n_steps; s++)
        t->coming[s] = t->going[s] = PLAN_NONE;
    for (uint32_t i = 0; i < c->lives->n; i++) {
        const struct plan_life *life = &c->lives->at[i];
        if (life->bytes == 0 || own_from(life) > life->last_step)
            continue;
        t->next_coming[i] = t->coming[own_from(life)];
        t->coming[own_from(life)] = i;
        t->next_going[i] = t->going[life->last_step];
        t->going[life->last_step] = i;
    }
    return NULL;
}

/* The lives present, as a set of their ranks by offset: neighbours in it are neighbours in memory,
 * and while no two overlap, a newcomer overlaps one of its neighbours or none. */
struct ranks {
    const struct plan_life *lives;
    uint32_t *life_of, *rank_of;
    uint64_t *present;
    size_t n_words;
};

struct offset_key {
    int64_t offset;
    uint32_t index;
};

static int compare_offsets(const void *a, const void *b) {
    const struct offset_key *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void ranks_free(struct ranks *r) {
    free(r->life_of);
    free(r->rank_of);
    free(r->present);
}

static neap_error *ranks_make(const struct plan_lives *lives, struct ranks *r) {
    struct offset_key *keys;
    r->lives = lives->at;
    r->n_words = lives->n / 64 + 1;
    TRY(memory_alloc(lives->n, sizeof *r->life_of, &r->life_of));
    TRY(memory_alloc(lives->n, sizeof *r->rank_of, &r->rank_of));
    TRY(memory_alloc(r->n_words, sizeof *r->present, &r->present));
    TRY(memory_alloc(lives->n, sizeof *keys, &keys));
    for (uint32_t i = 0; i < lives->n; i++)
        keys[i] = (struct offset_key){lives->at[i].offset, i};
    qsort(keys, lives->n, sizeof *keys, compare_offsets);
    for (uint32_t rank = 0; rank < lives->n; rank++) {
        r->life_of[rank] = keys[rank].index;
        r->rank_of[keys[rank].index] = rank;
    }
    free(keys);
    return NULL;
}

/* The life present next below or above a rank; PLAN_NONE. */
static uint32_t ranks_below(const struct ranks *r, uint32_t rank) {
    size_t w = rank / 64;
    uint64_t bits = r->present[w] & ((UINT64_C(1) << rank % 64) - 1);
    while (!bits && w > 0)
        bits = r->present[--w];
    return bits ? r->life_of[w * 64 + 63 - (unsigned)__builtin_clzll(bits)] : PLAN_NONE;
}

static uint32_t ranks_above(const struct ranks *r, uint32_t rank) {
    size_t w = rank / 64;
    uint64_t bits = r->present[w] & ~((UINT64_C(2) << rank % 64) - 1);
    while (!bits && w + 1 < r->n_words)
        bits = r->present[++w];
    return bits ? r->life_of[w * 64 + (unsigned)__builtin_ctzll(bits)] : PLAN_NONE;
}

static neap_error *ranks_enter(struct ranks *r, uint32_t index, size_t step) {
    uint32_t rank = r->rank_of[index];
    const struct plan_life *life = &r->lives[index];
    const uint32_t neighbours[] = {ranks_below(r, rank), ranks_above(r, rank)};
    for (int i = 0; i < 2; i++) {
        if (neighbours[i] == PLAN_NONE)
            continue;
        const struct plan_life *other = &r->lives[neighbours[i]];
        if (life->offset < other->offset + other->bytes &&
            other->offset < life->offset + life->bytes)
            REFUSE("overlap", "lives %" PRIu32 " and %" PRIu32 " share bytes at step %zu", index,
                   neighbours[i], step);
    }
    r->present[rank / 64] |= UINT64_C(1) << rank % 64;
    return NULL;
}

static void ranks_leave(struct ranks *r, uint32_t index) {
    r->present[r->rank_of[index] / 64] &= ~(UINT64_C(1) << r->rank_of[index] % 64);
}

/* Sweeps the steps once: who enters must not overlap, and the bytes present make the peak. */
static neap_error *sweep(const struct check *c, const struct timetable *t, struct ranks *r) {
    int64_t live_bytes = 0, peak_bytes = 0;
    for (size_t step = 0; step <= c->schedule->n; step++) {
        for (uint32_t i = t->coming[step]; i != PLAN_NONE; i = t->next_coming[i]) {
            TRY(ranks_enter(r, i, step));
            live_bytes += c->lives->at[i].bytes; /* disjoint in the arena: cannot overflow */
        }
        if (peak_bytes < live_bytes)
            peak_bytes = live_bytes;
        for (uint32_t i = t->going[step]; i != PLAN_NONE; i = t->next_going[i]) {
            ranks_leave(r, i);
            live_bytes -= c->lives->at[i].bytes;
        }
    }
    if (peak_bytes != c->claim->peak_bytes)
        REFUSE("peak", "%" PRIi64 " bytes are claimed, %" PRIi64 " are live at once",
               c->claim->peak_bytes, peak_bytes);
    return NULL;
}

static neap_error *check_bytes(const struct check *c) {
    struct timetable timetable = {0};
    struct ranks ranks = {0};
    neap_error *error;
    TRY_GOTO(timetable_make(c, &timetable));
    TRY_GOTO(ranks_make(c->lives, &ranks));
    TRY_GOTO(sweep(c, &timetable, &ranks));
done:
    timetable_free(&timetable);
    ranks_free(&ranks);
    return error;
}

/* ---- all of it ------------------------------------------------------------------------------ */

neap_error *plan_check(const struct plan_problem *problem, const struct plan_schedule *schedule,
                       const struct plan_lives *lives, const struct plan_claim *claim) {
    struct check c = {.problem = problem, .schedule = schedule, .lives = lives, .claim = claim};
    neap_error *error;
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *c.runs, &c.runs));
    TRY_GOTO(memory_alloc(problem->n_values + 1, sizeof *c.first_change, &c.first_change));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *c.held, &c.held));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *c.open, &c.open));
    TRY_GOTO(check_sequence(&c));
    TRY_GOTO(list_changes(&c));
    TRY_GOTO(check_steps(&c));
    TRY_GOTO(check_lives(&c));
    TRY_GOTO(check_in_place(&c));
    TRY_GOTO(check_offsets(&c));
    TRY_GOTO(check_bytes(&c));
done:
    free(c.runs);
    free(c.changers);
    free(c.first_change);
    free(c.held);
    free(c.open);
    free(c.wanted);
    return error;
}
