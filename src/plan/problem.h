/* A planning problem: ops as (seconds, inputs, outputs, effects) and values as bytes.
 *
 * No graph, no device, no clock: the planner is a pure function of this. Ops stand in the base
 * order (forward, backward, update). A schedule is a sequence of op executions; see
 * docs/planner.md. Values are storages: views were resolved to their roots, bytes are as allocated
 * (aligned), scratch is an output that nobody reads. */
#ifndef NEAP_PLAN_PROBLEM_H
#define NEAP_PLAN_PROBLEM_H

#include "base/memory.h"
#include "base/status.h"

#define PLAN_NONE UINT32_MAX

enum plan_phase { PLAN_FORWARD, PLAN_BACKWARD, PLAN_UPDATE };

struct plan_value {
    int64_t bytes;
    bool persistent;   /* outside the arena: always live, costs nothing here */
    bool input;        /* filled before step 0, never produced by an op */
    uint32_t producer; /* op, PLAN_NONE for inputs and persistent values */
};

/* A slice of problem->ids. */
struct plan_span {
    uint32_t first, n;
};

struct plan_overwrite {
    uint32_t input, output; /* value ids */
};

struct plan_op {
    double seconds;
    enum plan_phase phase;
    bool effect;                               /* changes persistent state: executed exactly once */
    bool update_part;                          /* runs once per window, after all micro-batches */
    struct plan_span inputs, outputs, updates; /* value ids; no value twice in a span */
    uint32_t first_overwrite, n_overwrites;    /* slice of problem->overwrites */
    uint32_t alternative_of;                   /* of an alternative: the op it does the work of */
};

struct plan_problem {
    struct pool pool; /* owns everything below */
    struct plan_op *ops;
    struct plan_value *values;
    uint32_t *ids;
    struct plan_overwrite *overwrites;
    uint32_t n_ops, n_values, n_ids, n_overwrites;
    uint32_t n_alternatives; /* more ops, behind the n_ops: see plan_primary */
};

/* The op whose work op o does: itself, or for an alternative the one that it can stand in for.
 * An alternative is another implementation, with its own seconds, inputs, scratch and overwrites;
 * it makes and changes the same values to the last bit, is no faster, so that no schedule takes
 * less time than one run of each primary, and stands where its primary does in the base order. A
 * schedule may hold its number. Wherever this header speaks of an op, the op and its alternatives
 * count as one; the producer of a value, scratch too, is the primary. */
static inline uint32_t plan_primary(const struct plan_problem *problem, uint32_t o) {
    return o < problem->n_ops ? o : problem->ops[o].alternative_of;
}

/* An op that a schedule may hold only once: everything but forward ops that change nothing. */
static inline bool plan_op_once(const struct plan_op *op) {
    return op->effect || op->updates.n > 0 || op->phase != PLAN_FORWARD;
}

/* The execution sequence: ids of ops and alternatives. It may stand in any order, and is valid
 * where these rules hold, by which replay.c, check.c and tests/tools/check_plan.py judge:
 *   once      every op runs, and what may run only once does
 *   order     the update's part comes last: behind its first step runs nothing else
 *   liveness  what an execution reads or updates is an input or was made before
 *   hazard    what an execution reads or updates it finds as in the base order: as left by the same
 *             op, the last to make or to update it (or by none); and the schedule leaves the
 *             persistent values as the base order does. So updates of one value keep their order,
 *             reads keep their side of each update, and a forward op is not run again once a
 *             weight that it reads was updated
 *   seam      no life is of both parts: micro-batches follow each other before the update */
struct plan_schedule {
    uint32_t *ops;
    size_t n, capacity;
};
MUST_USE neap_error *plan_schedule_push(struct plan_schedule *schedule, uint32_t op);
MUST_USE neap_error *plan_schedule_copy(struct plan_schedule *to, const struct plan_schedule *from);
void plan_schedule_free(struct plan_schedule *schedule);

/* One life of a non-persistent value: from the execution that makes it (step 0 for an input) to its
 * last read or update before it is made again, steps inclusive; that step alone where there is
 * none.
 */
struct plan_life {
    uint32_t value;
    uint32_t first_step, last_step;
    uint32_t in_place_of; /* life whose bytes it takes over in first_step, or PLAN_NONE */
    int64_t offset, bytes;
};

struct plan_lives {
    /* Inputs in the order of values, then what the steps make, in their order and in that of the
     * op's outputs. Programs are made by walking lives and steps together. */
    struct plan_life *at;
    size_t n, capacity;
};
void plan_lives_free(struct plan_lives *lives);

/* What a schedule costs. */
struct plan_measure {
    double seconds;
    int64_t peak_bytes;
    uint32_t peak_step;  /* the first step that reaches it */
    uint32_t recomputed; /* executions of forward ops beyond their first */
};

/* The only judge that solvers use (replay.c): the schedule's peak and seconds, and its lives with
 * offset 0 when `lives` is not NULL. Refuses (NEAP_ERROR_INTERNAL) a schedule that breaks a rule.
 * O((ops + steps) × degree).
 *
 * In place: walking a step's overwrites in their order, an output takes over the storage of an
 * input whose life ends in that step, if its bytes are not more and neither is spoken for already.
 */
MUST_USE neap_error *plan_replay(const struct plan_problem *problem,
                                 const struct plan_schedule *schedule, struct plan_measure *measure,
                                 struct plan_lives *lives);

/* Written from the definitions above and sharing nothing with replay.c: accepts or refuses
 * (NEAP_ERROR_INTERNAL, saying which rule) a finished plan: the schedule's rules, every life in its
 * place and exactly as long as its reads, in-place only where allowed, no two lives overlapping in
 * bytes and time otherwise, offsets aligned, arena and peak as claimed. */
struct plan_claim {
    int64_t peak_bytes, arena_bytes, alignment_bytes;
    double seconds;
};
MUST_USE neap_error *plan_check(const struct plan_problem *problem,
                                const struct plan_schedule *schedule,
                                const struct plan_lives *lives, const struct plan_claim *claim);

#endif
