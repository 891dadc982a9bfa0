/* settle: see settle.h.
 *
 * Search moves executions about where neither seconds nor peak tell the difference, and lives that
 * lie criss-cross are hard to place: in the base order they nest. So every first execution is put
 * right behind that of the op before it, and every further one right in front of its next reader,
 * if the peak allows. */
#include "plan/settle.h"

enum { PASSES = 2 };

/* Moves the execution in `from` to right in front of `before`, if it may be there. */
static neap_error *move_before(struct sequence *s, uint32_t from, uint32_t before,
                               int64_t limit_bytes) {
    uint32_t o = s->op_at[from], to;
    if (sequence_next(s, from) == before || from == before)
        return NULL;
    to = sequence_room_before(s, before);
    if (s->crowded)
        return sequence_spread(s); /* this one stays where it is */
    sequence_remove(s, from);
    if (sequence_can_insert(s, o, to)) {
        sequence_insert(s, o, to);
        if (profile_peak(&s->profile) <= limit_bytes) {
            sequence_commit(s);
            return NULL;
        }
    }
    sequence_undo(s);
    return NULL;
}

/* The first read of what the execution makes; its own slot where there is none. */
static uint32_t first_reader(const struct sequence *s, uint32_t slot) {
    const struct plan_problem *p = s->problem;
    const struct plan_span outputs = p->ops[s->op_at[slot]].outputs;
    uint32_t reader = s->n_slots;
    for (uint32_t i = 0; i < outputs.n; i++) {
        const struct slots *uses = &s->uses[p->ids[outputs.first + i]];
        uint32_t use = slots_below(uses, slot);
        if (use < uses->n && uses->at[use] < reader)
            reader = uses->at[use];
    }
    return reader < s->n_slots ? reader : slot;
}

static neap_error *settle_first_runs(struct sequence *s, int64_t limit_bytes) {
    const struct plan_problem *p = s->problem;
    for (uint32_t o = 1; o < p->n_ops; o++) {
        if (p->ops[o].update_part)
            continue;
        uint32_t behind = sequence_next(s, s->runs[o - 1].at[0]);
        if (behind < s->n_slots)
            TRY(move_before(s, s->runs[o].at[0], behind, limit_bytes));
    }
    return NULL;
}

static neap_error *settle_other_runs(struct sequence *s, int64_t limit_bytes) {
    const struct plan_problem *p = s->problem;
    for (uint32_t o = p->n_ops; o-- > 0;)
        for (uint32_t i = 1; i < s->runs[o].n; i++) {
            uint32_t slot = s->runs[o].at[i], reader = first_reader(s, slot);
            TRY(move_before(s, slot, reader, limit_bytes));
        }
    return NULL;
}

neap_error *settle(struct sequence *s, int64_t limit_bytes, struct plan_schedule *schedule) {
    TRY(sequence_load(s, schedule));
    for (int pass = 0; pass < PASSES; pass++) {
        TRY(settle_first_runs(s, limit_bytes));
        TRY(settle_other_runs(s, limit_bytes));
    }
    return sequence_store(s, schedule);
}
