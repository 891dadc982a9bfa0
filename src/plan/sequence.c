/* sequence: see sequence.h. What an insertion adds to the profile, a removal takes away again: one
 * range for each value that the op reads (its life reaches to here now) and one for each that it
 * makes (the life before ends at its last use). */
#include "plan/sequence.h"

#include <stdlib.h>
#include <string.h>

enum { SPACING = 8 }; /* slots per execution after spreading */

/* ---- lists of slots ------------------------------------------------------------------------- */

uint32_t slots_below(const struct slots *list, uint32_t slot) {
    uint32_t low = 0, n = list->n;
    while (n > 8) {
        uint32_t half = n / 2;
        low += list->at[low + half - 1] < slot ? half : 0;
        n -= half;
    }
    for (uint32_t end = low + n; low < end && list->at[low] < slot;)
        low++;
    return low;
}

static bool slots_reserve(struct sequence *s, struct slots *list) {
    if (list->n < list->capacity)
        return true;
    uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
    uint32_t *at = realloc(list->at, capacity * sizeof *at);
    if (!at) {
        if (!s->error)
            s->error = error_memory(capacity * sizeof *at);
        return false;
    }
    list->at = at;
    list->capacity = capacity;
    return true;
}

/* There is room: sequence_can_insert saw to that. */
static void slots_add(struct slots *list, uint32_t slot) {
    uint32_t i = slots_below(list, slot);
    memmove(list->at + i + 1, list->at + i, (list->n - i) * sizeof *list->at);
    list->at[i] = slot;
    list->n++;
}

static void slots_drop(struct slots *list, uint32_t slot) {
    uint32_t i = slots_below(list, slot);
    list->n--;
    memmove(list->at + i, list->at + i + 1, (list->n - i) * sizeof *list->at);
}

/* ---- lives ---------------------------------------------------------------------------------- */

struct sequence_life sequence_life_at(const struct sequence *s, uint32_t v, uint32_t slot) {
    const struct plan_value *value = &s->problem->values[v];
    struct sequence_life life = {.end = s->first};
    uint32_t next = s->n_slots;
    if (value->producer != PLAN_NONE) {
        const struct slots *runs = &s->runs[value->producer];
        uint32_t run = slots_below(runs, slot);
        life.end = life.start = run ? runs->at[run - 1] : 0;
        next = run < runs->n ? runs->at[run] : next;
    }
    const struct slots *uses = &s->uses[v];
    uint32_t i = slots_below(uses, slot);
    life.used = i && uses->at[i - 1] > life.start ? uses->at[i - 1] : life.start;
    if (next != s->n_slots)
        i = slots_below(uses, next);
    else
        i = uses->n;
    life.end = i && uses->at[i - 1] > life.start ? uses->at[i - 1] : life.end;
    return life;
}

/* Does the value that is read in `slot` die there? */
static bool dies_in(const struct sequence *s, uint32_t v, uint32_t slot) {
    const struct slots *uses = &s->uses[v];
    uint32_t use = slots_below(uses, slot + 1);
    if (use == uses->n)
        return true;
    if (s->problem->values[v].producer == PLAN_NONE)
        return false;
    const struct slots *runs = &s->runs[s->problem->values[v].producer];
    uint32_t run = slots_below(runs, slot + 1);
    return run < runs->n && runs->at[run] < uses->at[use];
}

/* The bytes that the execution in `slot` saves by taking over inputs that die in it: the rule of
 * plan_replay. */
static int64_t saved_in_place(const struct sequence *s, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    const struct plan_op *op = &p->ops[s->op_at[slot]];
    const struct plan_overwrite *pairs = p->overwrites + op->first_overwrite;
    uint64_t taken = 0;
    int64_t saved = 0;
    for (uint32_t i = 0; i < op->n_overwrites && i < 64; i++) {
        const struct plan_value *input = &p->values[pairs[i].input],
                                *output = &p->values[pairs[i].output];
        bool free = !input->persistent && !output->persistent && output->bytes <= input->bytes;
        for (uint32_t j = 0; j < i && free; j++)
            free = !(taken >> j & 1) ||
                   (pairs[j].input != pairs[i].input && pairs[j].output != pairs[i].output);
        if (!free || !dies_in(s, pairs[i].input, slot))
            continue;
        taken |= (uint64_t)1 << i;
        saved += output->bytes;
    }
    return saved;
}

static void update_saved(struct sequence *s, uint32_t slot) {
    uint32_t o = s->op_at[slot];
    if (o == PLAN_NONE || !s->problem->ops[o].n_overwrites)
        return;
    int64_t saved = saved_in_place(s, slot);
    if (saved != s->saved[slot])
        profile_add(&s->profile, slot, slot, s->saved[slot] - saved);
    s->saved[slot] = saved;
}

/* ---- changes -------------------------------------------------------------------------------- */

static bool planned(const struct plan_problem *p, uint32_t v) {
    return !p->values[v].persistent;
}

static void add_bytes(struct sequence *s, uint32_t first, uint32_t end, int64_t bytes) {
    if (first < end && bytes)
        profile_add(&s->profile, first, end - 1, bytes);
}

/* An execution in `slot` starts a new life of v (sign 1) or gives it back to the one before (-1);
 * `runs` does not hold the slot. Lives' ends whose in-place rights change are updated. */
static void split_life(struct sequence *s, uint32_t v, uint32_t slot, int sign) {
    const struct slots *runs = &s->runs[s->problem->values[v].producer], *uses = &s->uses[v];
    int64_t bytes = sign * s->problem->values[v].bytes;
    struct sequence_life life = sequence_life_at(s, v, slot);
    bool first = !runs->n || slot < runs->at[0];
    if (first) { /* what is read before the next execution is read from here */
        uint32_t next = runs->n ? runs->at[0] : s->n_slots, i = slots_below(uses, next);
        uint32_t end = i && uses->at[i - 1] > slot ? uses->at[i - 1] : slot;
        add_bytes(s, slot, end + 1, bytes);
    } else if (life.end > slot) {
        add_bytes(s, life.used + 1, slot, -bytes);
    } else {
        add_bytes(s, slot, slot + 1, bytes);
    }
}

/* Inputs that nobody reads live to the first execution: replay's step 0. */
static void set_first(struct sequence *s, uint32_t slot) {
    if (slot < s->first)
        add_bytes(s, slot + 1, s->first + 1, -s->unread_bytes);
    else
        add_bytes(s, s->first + 1, slot + 1, s->unread_bytes);
    s->first = slot;
}

/* What counts as unread when v, that nobody else reads, gets or loses its reader. */
static int64_t unread_bytes(const struct sequence *s, uint32_t v) {
    const struct plan_value *value = &s->problem->values[v];
    return value->input && !s->uses[v].n ? value->bytes : 0;
}

static void link_execution(struct sequence *s, uint32_t o, uint32_t slot) {
    s->op_at[slot] = o;
    s->rank_at[slot] = s->n_taken;
    s->taken[s->n_taken++] = slot;
    s->seconds += s->problem->ops[o].seconds;
    slots_add(&s->runs[plan_primary(s->problem, o)], slot);
}

static void unlink_execution(struct sequence *s, uint32_t o, uint32_t slot) {
    uint32_t last = s->taken[--s->n_taken];
    s->taken[s->rank_at[slot]] = last;
    s->rank_at[last] = s->rank_at[slot];
    s->op_at[slot] = PLAN_NONE;
    s->seconds -= s->problem->ops[o].seconds;
    slots_drop(&s->runs[plan_primary(s->problem, o)], slot);
}

/* In-place rights where lives of the op's values end, or ended, around `slot`. */
static void update_ends(struct sequence *s, uint32_t o, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    const struct plan_op *op = &p->ops[o];
    if (!p->n_overwrites)
        return;
    for (uint32_t i = 0; i < op->inputs.n; i++)
        if (planned(p, p->ids[op->inputs.first + i]))
            update_saved(s, sequence_life_at(s, p->ids[op->inputs.first + i], slot).used);
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        if (!planned(p, p->ids[op->outputs.first + i]))
            continue;
        struct sequence_life life = sequence_life_at(s, p->ids[op->outputs.first + i], slot);
        update_saved(s, life.used);
        update_saved(s, sequence_life_at(s, p->ids[op->outputs.first + i], slot + 1).end);
    }
    update_saved(s, slot);
}

static void apply_insert(struct sequence *s, uint32_t o, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    const struct plan_op *op = &p->ops[o];
    if (slot < s->first || !s->n_taken)
        set_first(s, slot);
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        uint32_t v = p->ids[op->inputs.first + i];
        if (!planned(p, v))
            continue;
        s->unread_bytes -= unread_bytes(s, v);
        add_bytes(s, sequence_life_at(s, v, slot).end + 1, slot + 1, p->values[v].bytes);
        slots_add(&s->uses[v], slot);
    }
    for (uint32_t i = 0; i < op->outputs.n; i++)
        if (planned(p, p->ids[op->outputs.first + i]))
            split_life(s, p->ids[op->outputs.first + i], slot, 1);
    link_execution(s, o, slot);
    update_ends(s, o, slot);
}

static void apply_remove(struct sequence *s, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    uint32_t o = s->op_at[slot];
    const struct plan_op *op = &p->ops[o];
    if (s->saved[slot])
        profile_add(&s->profile, slot, slot, s->saved[slot]);
    s->saved[slot] = 0;
    unlink_execution(s, o, slot);
    for (uint32_t i = 0; i < op->outputs.n; i++)
        if (planned(p, p->ids[op->outputs.first + i]))
            split_life(s, p->ids[op->outputs.first + i], slot, -1);
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        uint32_t v = p->ids[op->inputs.first + i];
        if (!planned(p, v))
            continue;
        slots_drop(&s->uses[v], slot);
        s->unread_bytes += unread_bytes(s, v);
        add_bytes(s, sequence_life_at(s, v, slot).end + 1, slot + 1, -p->values[v].bytes);
    }
    if (slot == s->first && s->n_taken)
        set_first(s, sequence_next(s, slot));
    update_ends(s, o, slot);
}

static void log_change(struct sequence *s, uint32_t o, uint32_t slot, bool inserted) {
    s->log[s->n_log++] = (struct change){o, slot, inserted};
}

void sequence_insert(struct sequence *s, uint32_t o, uint32_t slot) {
    log_change(s, o, slot, true);
    apply_insert(s, o, slot);
}

void sequence_remove(struct sequence *s, uint32_t slot) {
    log_change(s, s->op_at[slot], slot, false);
    apply_remove(s, slot);
}

void sequence_commit(struct sequence *s) {
    s->n_log = 0;
}

void sequence_undo(struct sequence *s) {
    while (s->n_log) {
        const struct change *change = &s->log[--s->n_log];
        if (change->inserted)
            apply_remove(s, change->slot);
        else
            apply_insert(s, change->op, change->slot);
    }
}

/* ---- what may be changed -------------------------------------------------------------------- */

/* Everything that an insertion will need to grow has grown. */
static bool reserve(struct sequence *s, uint32_t o) {
    const struct plan_problem *p = s->problem;
    const struct plan_op *op = &p->ops[o];
    bool ok = s->n_taken < s->most_taken && slots_reserve(s, &s->runs[plan_primary(p, o)]);
    for (uint32_t i = 0; i < op->inputs.n && ok; i++)
        ok = !planned(p, p->ids[op->inputs.first + i]) ||
             slots_reserve(s, &s->uses[p->ids[op->inputs.first + i]]);
    return ok && s->n_log + 1 < SEQUENCE_CHANGES;
}

static bool hazards_allow(const struct sequence *s, uint32_t o, uint32_t slot) {
    const struct hazards *h = &s->hazards;
    for (uint32_t i = h->before.first[o]; i < h->before.first[o + 1]; i++) {
        const struct slots *runs = &s->runs[h->before.ops[i]];
        if (runs->n && runs->at[runs->n - 1] > slot)
            return false;
    }
    for (uint32_t i = h->after.first[o]; i < h->after.first[o + 1]; i++) {
        const struct slots *runs = &s->runs[h->after.ops[i]];
        if (runs->n && runs->at[0] < slot)
            return false;
    }
    return true;
}

/* Is nothing that op o makes read before `slot`? */
static bool unread_before(const struct sequence *s, uint32_t o, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    const struct plan_span outputs = p->ops[o].outputs;
    for (uint32_t i = 0; i < outputs.n; i++) {
        const struct slots *uses = &s->uses[p->ids[outputs.first + i]];
        if (uses->n && uses->at[0] < slot)
            return false;
    }
    return true;
}

bool sequence_can_insert(struct sequence *s, uint32_t o, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    uint32_t primary = plan_primary(p, o);
    const struct plan_op *op = &p->ops[o];
    const struct slots *runs = &s->runs[primary];
    if (s->op_at[slot] != PLAN_NONE || slot == 0 ||
        (op->update_part ? slot < s->seam : slot > s->seam) ||
        (runs->n && plan_op_once(&p->ops[primary])))
        return false;
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        const struct plan_value *value = &p->values[p->ids[op->inputs.first + i]];
        if (value->persistent || value->producer == PLAN_NONE)
            continue;
        const struct slots *makers = &s->runs[value->producer];
        if (!makers->n || makers->at[0] > slot)
            return false;
    }
    bool first = !runs->n || slot < runs->at[0];
    if ((first && runs->n && s->fixed_order) ||
        !unread_before(s, primary, first ? slot : runs->at[0]))
        return false;
    return hazards_allow(s, primary, slot) && reserve(s, o);
}

bool sequence_can_remove(const struct sequence *s, uint32_t slot) {
    uint32_t primary = plan_primary(s->problem, s->op_at[slot]);
    const struct slots *runs = &s->runs[primary];
    if (runs->n < 2 || s->n_log + 1 >= SEQUENCE_CHANGES)
        return false;
    return slot != runs->at[0] || (!s->fixed_order && unread_before(s, primary, runs->at[1]));
}

/* ---- places --------------------------------------------------------------------------------- */

uint32_t sequence_previous(const struct sequence *s, uint32_t slot) {
    do
        slot--;
    while (slot > 0 && s->op_at[slot] == PLAN_NONE);
    return slot;
}

uint32_t sequence_next(const struct sequence *s, uint32_t slot) {
    do
        slot++;
    while (slot < s->n_slots && s->op_at[slot] == PLAN_NONE);
    return slot;
}

uint32_t sequence_room_before(struct sequence *s, uint32_t slot) {
    uint32_t low = slot - 1;
    if (slot < 2 || s->op_at[low] != PLAN_NONE) {
        s->crowded = true;
        return 0;
    }
    while (low > 1 && s->op_at[low - 1] == PLAN_NONE && slot - low < 2 * SPACING)
        low--;
    return low + (slot - low) / 2;
}

/* ---- loading -------------------------------------------------------------------------------- */

static void free_arrays(struct sequence *s) {
    profile_free(&s->profile);
    free(s->op_at);
    free(s->rank_at);
    free(s->saved);
    free(s->taken);
}

static neap_error *make_arrays(struct sequence *s, uint32_t n_slots) {
    if (s->n_slots == n_slots) {
        struct profile *p = &s->profile;
        memset(p->at, 0, p->n_slots * sizeof *p->at);
        memset(p->pending, 0, p->n_blocks * sizeof *p->pending);
        memset(p->most, 0, p->n_blocks * sizeof *p->most);
        memset(s->saved, 0, n_slots * sizeof *s->saved);
        return NULL;
    }
    free_arrays(s);
    s->op_at = s->rank_at = s->taken = NULL;
    s->saved = NULL;
    s->n_slots = n_slots;
    s->most_taken = n_slots;
    TRY(profile_create(n_slots, &s->profile));
    TRY(memory_alloc(n_slots, sizeof *s->op_at, &s->op_at));
    TRY(memory_alloc(n_slots, sizeof *s->rank_at, &s->rank_at));
    TRY(memory_alloc(n_slots, sizeof *s->saved, &s->saved));
    return memory_alloc(n_slots, sizeof *s->taken, &s->taken);
}

static neap_error *take_error(struct sequence *s) {
    neap_error *error = s->error;
    s->error = NULL;
    return error;
}

static neap_error *place_executions(struct sequence *s, const struct plan_schedule *schedule) {
    const struct plan_problem *p = s->problem;
    for (uint32_t slot = 0; slot < s->n_slots; slot++)
        s->op_at[slot] = PLAN_NONE;
    for (uint32_t o = 0; o < p->n_ops; o++)
        s->runs[o].n = 0;
    for (uint32_t v = 0; v < p->n_values; v++)
        s->uses[v].n = 0;
    s->n_log = 0;
    s->n_taken = 0;
    s->seconds = 0;
    s->seam = s->n_slots;
    s->first = 0;
    for (size_t i = 0; i < schedule->n; i++) {
        uint32_t o = schedule->ops[i];
        uint32_t slot = (uint32_t)((i + 1) * (uint64_t)s->n_slots / (schedule->n + 2)) + 1;
        const struct plan_op *op = &p->ops[o];
        if (!reserve(s, o))
            return take_error(s);
        if (i == 0)
            s->first = slot;
        if (op->update_part && s->seam == s->n_slots)
            s->seam = slot;
        for (uint32_t j = 0; j < op->inputs.n; j++)
            if (planned(p, p->ids[op->inputs.first + j]))
                slots_add(&s->uses[p->ids[op->inputs.first + j]], slot);
        link_execution(s, o, slot);
    }
    return NULL;
}

/* The life of v that starts in this slot, as differences. */
static void add_life(struct sequence *s, uint32_t v, uint32_t start) {
    int64_t bytes = s->problem->values[v].bytes;
    uint32_t end = sequence_life_at(s, v, start + 1).end;
    s->profile.at[start] += bytes;
    if (end + 1 < s->n_slots)
        s->profile.at[end + 1] -= bytes;
}

/* The profile of all lives at once: differences, then their sums. */
static void sum_lives(struct sequence *s) {
    const struct plan_problem *p = s->problem;
    int64_t *at = s->profile.at, live = 0;
    s->unread_bytes = 0;
    for (uint32_t v = 0; v < p->n_values; v++) {
        if (!p->values[v].input)
            continue;
        s->unread_bytes += unread_bytes(s, v);
        add_life(s, v, 0);
    }
    for (uint32_t i = 0; i < s->n_taken; i++) {
        const struct plan_span outputs = p->ops[s->op_at[s->taken[i]]].outputs;
        for (uint32_t j = 0; j < outputs.n; j++)
            if (planned(p, p->ids[outputs.first + j]))
                add_life(s, p->ids[outputs.first + j], s->taken[i]);
    }
    for (uint32_t slot = 0; slot < s->n_slots; slot++) {
        live += at[slot];
        at[slot] = live;
    }
    for (uint32_t i = 0; i < s->n_taken; i++) {
        uint32_t slot = s->taken[i];
        s->saved[slot] = saved_in_place(s, slot);
        at[slot] -= s->saved[slot];
    }
    for (uint32_t b = 0; b < s->profile.n_blocks; b++) {
        int64_t most = INT64_MIN;
        for (uint32_t i = 0; i < PROFILE_BLOCK; i++)
            most = at[b * PROFILE_BLOCK + i] > most ? at[b * PROFILE_BLOCK + i] : most;
        s->profile.most[b] = most;
    }
}

neap_error *sequence_load(struct sequence *s, const struct plan_schedule *schedule) {
    uint64_t n_slots = s->n_slots;
    if (n_slots < (schedule->n + 2) * SPACING * 3 / 4)
        n_slots = round_up((int64_t)(schedule->n + 2) * SPACING * 3 / 2, PROFILE_BLOCK);
    if (n_slots > UINT32_MAX / 2)
        return error_make(NEAP_ERROR_USAGE, "a schedule of %zu steps is longer than can be planned",
                          schedule->n);
    TRY(make_arrays(s, (uint32_t)n_slots));
    TRY(place_executions(s, schedule));
    sum_lives(s);
    s->crowded = false;
    return NULL;
}

neap_error *sequence_store(const struct sequence *s, struct plan_schedule *schedule) {
    schedule->n = 0;
    for (uint32_t slot = 1; slot < s->n_slots; slot++)
        if (s->op_at[slot] != PLAN_NONE)
            TRY(plan_schedule_push(schedule, s->op_at[slot]));
    return NULL;
}

neap_error *sequence_spread(struct sequence *s) {
    struct plan_schedule schedule = {0};
    neap_error *error = sequence_store(s, &schedule);
    if (!error)
        error = sequence_load(s, &schedule);
    plan_schedule_free(&schedule);
    return error;
}

/* ---- life cycle ----------------------------------------------------------------------------- */

neap_error *sequence_create(const struct plan_problem *problem, bool fixed_order,
                            struct sequence **out) {
    struct sequence *s;
    neap_error *error;
    *out = NULL;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->problem = problem;
    s->fixed_order = fixed_order;
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *s->runs, &s->runs));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *s->uses, &s->uses));
    TRY_GOTO(hazards_find(problem, &s->hazards));
    *out = s;
    return NULL;
done:
    sequence_free(s);
    return error;
}

void sequence_free(struct sequence *s) {
    if (!s)
        return;
    for (uint32_t o = 0; s->runs && o < s->problem->n_ops; o++)
        free(s->runs[o].at);
    for (uint32_t v = 0; s->uses && v < s->problem->n_values; v++)
        free(s->uses[v].at);
    free_arrays(s);
    free(s->runs);
    free(s->uses);
    hazards_free(&s->hazards);
    neap_error_free(s->error);
    free(s);
}
