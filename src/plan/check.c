/* The second opinion on a finished plan: accepts or refuses it by the definitions in problem.h.
 *
 * Shares nothing with the code that makes plans. Every refusal names the rule that is broken:
 *   once       each op runs, and what may not run twice does not
 *   order      nothing of a micro-batch runs behind the update
 *   liveness   what is read was made before
 *   hazard     accesses of a value that is changed keep their base-order side of each change
 *   life       lives are exactly what the reads ask for
 *   in place   only where the op allows it, of bytes that die there, by one life
 *   offset     aligned, inside the arena
 *   overlap    no byte in two lives at once
 *   arena, peak, seconds   as claimed
 *
 * Expected load: 100,000 steps. O(steps × degree + lives × (log lives + lives / 64)). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "plan/problem.h"

#define REFUSE(rule, ...)                                                                          \
    return error_make(NEAP_ERROR_INTERNAL, "the plan breaks '" rule "': " __VA_ARGS__)

static const double seconds_tolerance = 1e-9;

/* A life as the schedule asks for it; `given` is the plan's own. */
struct wanted {
    uint32_t value, first_step, last_step, given;
};

/* The base-order latest op that touched a value since it was made, and that changed it; -1: none.
 */
struct access {
    int64_t touched, changed;
};

struct check {
    const struct plan_problem *problem;
    const struct plan_schedule *schedule;
    const struct plan_lives *lives;
    const struct plan_claim *claim;
    uint32_t *runs;        /* by op */
    struct access *access; /* by value */
    uint32_t *open;        /* by value: its latest in wanted, PLAN_NONE */
    struct wanted *wanted;
    size_t n_wanted, wanted_capacity;
};

static const struct plan_op *op_at(const struct check *c, size_t step) {
    return &c->problem->ops[c->schedule->ops[step]];
}

/* ---- the sequence --------------------------------------------------------------------------- */

static bool only_once(const struct plan_op *op) {
    return op->effect || op->phase != PLAN_FORWARD || op->updates.n > 0;
}

static neap_error *check_sequence(struct check *c) {
    const struct plan_problem *p = c->problem;
    size_t update_part = SIZE_MAX;
    double seconds = 0;
    for (size_t step = 0; step < c->schedule->n; step++) {
        uint32_t op = c->schedule->ops[step];
        if (op >= p->n_ops)
            REFUSE("once", "step %zu runs op %" PRIu32 " of %" PRIu32, step, op, p->n_ops);
        if (c->runs[op]++ && only_once(&p->ops[op]))
            REFUSE("once", "step %zu runs op %" PRIu32 " again", step, op);
        if (p->ops[op].update_part && update_part == SIZE_MAX)
            update_part = step;
        if (!p->ops[op].update_part && update_part != SIZE_MAX)
            REFUSE("order",
                   "step %zu runs op %" PRIu32 " of a micro-batch behind the update of step %zu",
                   step, op, update_part);
        seconds += p->ops[op].seconds;
    }
    for (uint32_t op = 0; op < p->n_ops; op++)
        if (!c->runs[op])
            REFUSE("once", "op %" PRIu32 " never runs", op);
    double claimed = c->claim->seconds;
    if (!(fabs(seconds - claimed) <= seconds_tolerance * fabs(seconds)))
        REFUSE("seconds", "%.17g are claimed, the steps take %.17g", claimed, seconds);
    return NULL;
}

/* ---- liveness and hazards ------------------------------------------------------------------- */

static neap_error *want_life(struct check *c, uint32_t value, uint32_t step) {
    TRY(memory_grow(&c->wanted, &c->wanted_capacity, c->n_wanted + 1, sizeof *c->wanted));
    c->open[value] = (uint32_t)c->n_wanted;
    c->wanted[c->n_wanted++] =
        (struct wanted){.value = value, .first_step = step, .last_step = step, .given = PLAN_NONE};
    return NULL;
}

static neap_error *check_read(struct check *c, uint32_t step, uint32_t value) {
    uint32_t op = c->schedule->ops[step];
    struct access *access = &c->access[value];
    if (access->changed > op)
        REFUSE("hazard",
               "step %" PRIu32 " runs op %" PRIu32 ", which reads value %" PRIu32
               ", after op %" PRIi64 " changed it",
               step, op, value, access->changed);
    if (access->touched < op)
        access->touched = op;
    if (c->problem->values[value].persistent)
        return NULL;
    if (c->open[value] == PLAN_NONE)
        REFUSE("liveness",
               "step %" PRIu32 " (op %" PRIu32 ") reads value %" PRIu32 ", which is not live", step,
               op, value);
    c->wanted[c->open[value]].last_step = step;
    return NULL;
}

static neap_error *check_change(struct check *c, uint32_t step, uint32_t value) {
    uint32_t op = c->schedule->ops[step];
    struct access *access = &c->access[value];
    if (access->touched > op)
        REFUSE("hazard",
               "step %" PRIu32 " runs op %" PRIu32 ", which changes value %" PRIu32
               ", after op %" PRIi64 " used it",
               step, op, value, access->touched);
    access->touched = access->changed = op;
    return NULL;
}

/* A persistent value is written whole where it lies, which is a change; but the op that was the
 * last to change it may write the same again. Any other value starts a new life. */
static neap_error *check_write(struct check *c, uint32_t step, uint32_t value) {
    const struct plan_value *v = &c->problem->values[value];
    if (v->persistent && c->access[value].changed == c->schedule->ops[step])
        return NULL;
    if (v->persistent)
        return check_change(c, step, value);
    if (v->input)
        REFUSE("life", "step %" PRIu32 " makes value %" PRIu32 ", which is an input", step, value);
    c->access[value] = (struct access){-1, -1};
    return want_life(c, value, step);
}

static neap_error *check_step(struct check *c, uint32_t step) {
    const struct plan_op *op = op_at(c, step);
    const uint32_t *ids = c->problem->ids;
    for (uint32_t i = 0; i < op->inputs.n; i++)
        TRY(check_read(c, step, ids[op->inputs.first + i]));
    for (uint32_t i = 0; i < op->updates.n; i++)
        TRY(check_read(c, step, ids[op->updates.first + i]));
    for (uint32_t i = 0; i < op->updates.n; i++)
        TRY(check_change(c, step, ids[op->updates.first + i]));
    for (uint32_t i = 0; i < op->outputs.n; i++)
        TRY(check_write(c, step, ids[op->outputs.first + i]));
    return NULL;
}

static neap_error *check_steps(struct check *c) {
    for (uint32_t v = 0; v < c->problem->n_values; v++) {
        c->access[v] = (struct access){-1, -1};
        c->open[v] = PLAN_NONE;
        if (c->problem->values[v].input && !c->problem->values[v].persistent)
            TRY(want_life(c, v, 0));
    }
    for (size_t step = 0; step < c->schedule->n; step++)
        TRY(check_step(c, (uint32_t)step));
    return NULL;
}

/* ---- lives ---------------------------------------------------------------------------------- */

struct life_key {
    uint32_t value, first_step, index;
};

static int compare_life_keys(const void *a, const void *b) {
    const struct life_key *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->first_step > y->first_step) - (x->first_step < y->first_step);
}

/* Finds for each wanted life the one given. */
static neap_error *match_lives(struct check *c, const struct life_key *wanted,
                               const struct life_key *given) {
    size_t w = 0, g = 0;
    while (w < c->n_wanted || g < c->lives->n) {
        int order = w == c->n_wanted   ? 1
                    : g == c->lives->n ? -1
                                       : compare_life_keys(wanted + w, given + g);
        if (order < 0)
            REFUSE("life", "value %" PRIu32 " made at step %" PRIu32 " has no life",
                   wanted[w].value, wanted[w].first_step);
        if (order > 0)
            REFUSE("life",
                   "life %" PRIu32 " of value %" PRIu32 " from step %" PRIu32
                   " is not one that a step starts",
                   given[g].index, given[g].value, given[g].first_step);
        c->wanted[wanted[w++].index].given = given[g++].index;
    }
    return NULL;
}

static neap_error *check_life(const struct check *c, const struct wanted *wanted) {
    const struct plan_life *life = &c->lives->at[wanted->given];
    int64_t bytes = c->problem->values[life->value].bytes;
    if (life->last_step != wanted->last_step)
        REFUSE("life",
               "life %" PRIu32 " of value %" PRIu32 " ends at step %" PRIu32
               ", its last read is at step %" PRIu32,
               wanted->given, life->value, life->last_step, wanted->last_step);
    if (life->bytes != bytes || bytes < 0)
        REFUSE("life", "life %" PRIu32 " has %" PRIi64 " bytes, its value %" PRIu32 " has %" PRIi64,
               wanted->given, life->bytes, life->value, bytes);
    return NULL;
}

static neap_error *check_lives(struct check *c) {
    struct life_key *wanted = NULL, *given = NULL;
    neap_error *error;
    TRY_GOTO(memory_alloc(c->n_wanted, sizeof *wanted, &wanted));
    TRY_GOTO(memory_alloc(c->lives->n, sizeof *given, &given));
    for (uint32_t i = 0; i < c->n_wanted; i++)
        wanted[i] = (struct life_key){c->wanted[i].value, c->wanted[i].first_step, i};
    for (uint32_t i = 0; i < c->lives->n; i++)
        given[i] = (struct life_key){c->lives->at[i].value, c->lives->at[i].first_step, i};
    qsort(wanted, c->n_wanted, sizeof *wanted, compare_life_keys);
    qsort(given, c->lives->n, sizeof *given, compare_life_keys);
    TRY_GOTO(match_lives(c, wanted, given));
    for (size_t i = 0; i < c->n_wanted; i++)
        TRY_GOTO(check_life(c, &c->wanted[i]));
done:
    free(wanted);
    free(given);
    return error;
}

static neap_error *check_sorted(const struct check *c) {
    for (size_t i = 1; i < c->lives->n; i++)
        if (c->lives->at[i].first_step < c->lives->at[i - 1].first_step)
            REFUSE("life", "life %zu starts at step %" PRIu32 ", before the life that precedes it",
                   i, c->lives->at[i].first_step);
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
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *c.access, &c.access));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *c.open, &c.open));
    TRY_GOTO(check_sequence(&c));
    TRY_GOTO(check_steps(&c));
    TRY_GOTO(check_sorted(&c));
    TRY_GOTO(check_lives(&c));
    TRY_GOTO(check_in_place(&c));
    TRY_GOTO(check_offsets(&c));
    TRY_GOTO(check_bytes(&c));
done:
    free(c.runs);
    free(c.access);
    free(c.open);
    free(c.wanted);
    return error;
}
