/* The sequence: a schedule under change, whose peak and seconds are always known.
 *
 * Executions sit in slots with empty ones between, so that one more fits anywhere. Per op the slots
 * of its executions are kept in order, per value those of its reads. Inserting or removing an
 * execution then changes one range of live bytes for each value that the op touches: O(degree)
 * range additions, about a microsecond. What replay.c finds for the schedule is what stands here.
 *
 * Changes are logged until they are committed or undone. */
#ifndef NEAP_PLAN_SEQUENCE_H
#define NEAP_PLAN_SEQUENCE_H

#include "plan/hazards.h"
#include "plan/profile.h"

enum { SEQUENCE_CHANGES = 64 }; /* before a commit or undo; no more can be made */

/* Slots in ascending order. */
struct slots {
    uint32_t *at, n, capacity;
};

struct change {
    uint32_t op, slot;
    bool inserted;
};

struct sequence {
    const struct plan_problem *problem;
    bool fixed_order;
    double seconds;
    struct profile profile;
    uint32_t *op_at;   /* by slot, PLAN_NONE: empty */
    uint32_t *rank_at; /* by slot: its index in `taken` */
    int64_t *saved;    /* by slot: bytes that in-place execution saves there */
    uint32_t *taken;   /* occupied slots in no order */
    uint32_t n_slots, n_taken, most_taken;
    uint32_t seam;        /* the first slot of the update's part: nothing else moves behind it */
    uint32_t first;       /* the first occupied slot, where an execution is */
    int64_t unread_bytes; /* of inputs that nobody reads */
    struct slots *runs;   /* by primary op */
    struct slots *uses;   /* by value */
    struct hazards hazards;
    struct change log[SEQUENCE_CHANGES];
    uint32_t n_log;
    bool crowded;      /* there was no room where an execution was to go: spread before going on */
    neap_error *error; /* memory ran out; the sequence stands, but does not change any more */
};

MUST_USE neap_error *sequence_create(const struct plan_problem *problem, bool fixed_order,
                                     struct sequence **out);
void sequence_free(struct sequence *s);

/* Takes over a schedule that replays; forgets what was there. */
MUST_USE neap_error *sequence_load(struct sequence *s, const struct plan_schedule *schedule);
MUST_USE neap_error *sequence_store(const struct sequence *s, struct plan_schedule *schedule);
/* The same executions with room between all of them; nothing may be uncommitted. */
MUST_USE neap_error *sequence_spread(struct sequence *s);

/* May op o be executed in this slot, may this execution go, with data and hazards kept? */
bool sequence_can_insert(struct sequence *s, uint32_t o, uint32_t slot);
bool sequence_can_remove(const struct sequence *s, uint32_t slot);
/* Only what can be; but an op's last execution may be removed if the next change puts it back. */
void sequence_insert(struct sequence *s, uint32_t o, uint32_t slot);
void sequence_remove(struct sequence *s, uint32_t slot);

void sequence_commit(struct sequence *s);
void sequence_undo(struct sequence *s);

/* The nearest occupied slot in front of `slot` and behind it; 0 and n_slots where there is none. */
uint32_t sequence_previous(const struct sequence *s, uint32_t slot);
uint32_t sequence_next(const struct sequence *s, uint32_t slot);
/* An empty slot in the middle of those right in front of `slot`; 0, and crowded, where none is. */
uint32_t sequence_room_before(struct sequence *s, uint32_t slot);

/* Entries below `slot`. */
uint32_t slots_below(const struct slots *list, uint32_t slot);

/* The life of value v that is read in `slot`: the slot it starts in (0: an input), of its last use
 * before `slot` (its start where there is none), and of its end. */
struct sequence_life {
    uint32_t start, used, end;
};
struct sequence_life sequence_life_at(const struct sequence *s, uint32_t v, uint32_t slot);

#endif
