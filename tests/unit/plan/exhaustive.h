/* Exhaustive search for the best schedule of a small problem: the oracle of what is planned.
 *
 * A state is which ops have run and which values are kept; moves run an op, or an alternative, for
 * the first time or again, or forget a value. Dijkstra's algorithm over all of them gives the least
 * peak, or the least seconds within a budget, and a schedule that reaches it, in the base order or
 * in any. Exact for all that problem.h knows but updates of values in the arena, which it refuses.
 *
 *   struct exhaustive e;
 *   if (exhaustive_open(&e, &problem, fixed_order, 20)) {   false: more states than 2^20
 *       int64_t least_bytes = (int64_t)exhaustive_solve(&e, true, INT64_MAX, &schedule);
 *       double seconds = exhaustive_solve(&e, false, budget_bytes, &schedule);   INFINITY: none
 *   }
 *   exhaustive_close(&e);
 *
 * States: 2 to the number of values that are read, times 2 to the number of ops, or times that
 * number where the order is fixed. A second at 2^20. */
#ifndef NEAP_TESTS_UNIT_PLAN_EXHAUSTIVE_H
#define NEAP_TESTS_UNIT_PLAN_EXHAUSTIVE_H

#include <math.h>

#include "unit/plan/random_problem.h"

enum { exhaustive_ops = 24 };

struct exhaustive_arrival {
    double cost; /* the peak so far, or the seconds */
    uint32_t state;
};

struct exhaustive {
    const struct plan_problem *problem;
    struct order_rules *rules;
    bool fixed_order, by_peak;
    int64_t budget_bytes;
    int64_t unread_input_bytes;  /* of inputs that nobody reads: they live in step 0 */
    uint32_t n_bits;             /* values that are read and in the arena, a bit each */
    uint32_t bit_of[max_values]; /* by value: its mask; 0: persistent, or read by nobody */
    double *cost;                /* by state */
    uint32_t *from, *op;         /* by state; op PLAN_NONE: something was forgotten */
    struct exhaustive_arrival *heap;
    size_t n, heap_capacity;
    uint32_t *touched; /* states to be reset */
    size_t n_touched, touched_capacity;
};

/* ---- states ------------------------------------------------------------------------------- */

static inline uint32_t exhaustive_state(const struct exhaustive *e, uint32_t done, uint32_t kept) {
    uint32_t ops = e->fixed_order ? (uint32_t)__builtin_popcount(done) : done;
    return ops << e->n_bits | kept;
}

static inline uint32_t exhaustive_done(const struct exhaustive *e, uint32_t state) {
    uint32_t ops = state >> e->n_bits;
    return e->fixed_order ? (1u << ops) - 1 : ops;
}

static inline uint32_t exhaustive_kept(const struct exhaustive *e, uint32_t state) {
    return state & ((1u << e->n_bits) - 1);
}

static inline void exhaustive_push(struct exhaustive *e, struct exhaustive_arrival arrival) {
    assert_null(memory_grow(&e->heap, &e->heap_capacity, e->n + 1, sizeof *e->heap));
    size_t at = e->n++;
    for (; at > 0 && e->heap[(at - 1) / 2].cost > arrival.cost; at = (at - 1) / 2)
        e->heap[at] = e->heap[(at - 1) / 2];
    e->heap[at] = arrival;
}

static inline struct exhaustive_arrival exhaustive_pop(struct exhaustive *e) {
    struct exhaustive_arrival top = e->heap[0], last = e->heap[--e->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < e->n; at = child) {
        if (child + 1 < e->n && e->heap[child + 1].cost < e->heap[child].cost)
            child++;
        if (e->heap[child].cost >= last.cost)
            break;
        e->heap[at] = e->heap[child];
    }
    e->heap[at] = last;
    return top;
}

static inline void exhaustive_arrive(struct exhaustive *e, uint32_t state, double cost,
                                     uint32_t from, uint32_t op) {
    if (cost >= e->cost[state])
        return;
    if (isinf(e->cost[state])) {
        assert_null(
            memory_grow(&e->touched, &e->touched_capacity, e->n_touched + 1, sizeof *e->touched));
        e->touched[e->n_touched++] = state;
    }
    e->cost[state] = cost;
    e->from[state] = from;
    e->op[state] = op;
    exhaustive_push(e, (struct exhaustive_arrival){cost, state});
}

/* ---- moves -------------------------------------------------------------------------------- */

static inline uint32_t exhaustive_mask(const struct exhaustive *e, struct plan_span span) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < span.n; i++)
        mask |= e->bit_of[e->problem->ids[span.first + i]];
    return mask;
}

static inline int64_t exhaustive_kept_bytes(const struct exhaustive *e, uint32_t kept) {
    int64_t bytes = 0;
    for (uint32_t v = 0; v < e->problem->n_values; v++)
        bytes += kept & e->bit_of[v] ? e->problem->values[v].bytes : 0;
    return bytes;
}

static inline int64_t exhaustive_made_bytes(const struct exhaustive *e, struct plan_span outputs) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < outputs.n; i++) {
        const struct plan_value *value = &e->problem->values[e->problem->ids[outputs.first + i]];
        bytes += value->persistent ? 0 : value->bytes;
    }
    return bytes;
}

/* The bytes that outputs share with inputs that die in this execution. */
static inline int64_t exhaustive_shared_bytes(const struct exhaustive *e, const struct plan_op *op,
                                              uint32_t dying) {
    const struct plan_problem *p = e->problem;
    bool spoken[max_values] = {false};
    int64_t bytes = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        struct plan_overwrite pair = p->overwrites[op->first_overwrite + i];
        if (!(dying & e->bit_of[pair.input]) || spoken[pair.input] || spoken[pair.output] ||
            p->values[pair.output].bytes > p->values[pair.input].bytes)
            continue;
        spoken[pair.input] = spoken[pair.output] = true;
        bytes += p->values[pair.output].bytes;
    }
    return bytes;
}

static inline void exhaustive_execute(struct exhaustive *e, struct exhaustive_arrival at,
                                      uint32_t index) {
    const struct plan_op *op = &e->problem->ops[index];
    uint32_t done = exhaustive_done(e, at.state), kept = exhaustive_kept(e, at.state);
    uint32_t inputs = exhaustive_mask(e, op->inputs), outputs = exhaustive_mask(e, op->outputs);
    if ((inputs & kept) != inputs || (outputs & kept)) /* what is made again was forgotten */
        return;
    int64_t most = exhaustive_kept_bytes(e, kept) + exhaustive_made_bytes(e, op->outputs) +
                   (done ? 0 : e->unread_input_bytes);
    done |= 1u << plan_primary(e->problem, index);
    uint32_t dying = inputs;
    do { /* every set of inputs may die here */
        int64_t bytes = most - exhaustive_shared_bytes(e, op, dying);
        double cost = e->by_peak ? fmax(at.cost, (double)bytes) : at.cost + op->seconds;
        if (bytes <= e->budget_bytes)
            exhaustive_arrive(e, exhaustive_state(e, done, (kept | outputs) & ~dying), cost,
                              at.state, index);
        dying = (dying - 1) & inputs;
    } while (dying != inputs);
}

static inline void exhaustive_expand(struct exhaustive *e, struct exhaustive_arrival at) {
    const struct plan_problem *p = e->problem;
    uint32_t done = exhaustive_done(e, at.state), kept = exhaustive_kept(e, at.state);
    uint32_t runs[max_ops];
    for (uint32_t o = 0; o < p->n_ops; o++)
        runs[o] = done >> o & 1;
    for (uint32_t o = 0; o < p->n_ops + p->n_alternatives; o++) {
        uint32_t before = (1u << plan_primary(p, o)) - 1;
        if ((!e->fixed_order || (done & before) == before) && may_run(p, e->rules, runs, o))
            exhaustive_execute(e, at, o);
    }
    for (uint32_t bit = 1; bit < 1u << e->n_bits && done; bit <<= 1)
        if (kept & bit)
            exhaustive_arrive(e, at.state & ~bit, at.cost, at.state, PLAN_NONE);
}

/* ---- the search --------------------------------------------------------------------------- */

/* Gives every value in the arena that is read its bit; false where there are too many. */
static inline bool exhaustive_number_values(struct exhaustive *e, uint32_t most_bits) {
    const struct plan_problem *p = e->problem;
    bool read[max_values] = {false};
    for (uint32_t o = 0; o < p->n_ops + p->n_alternatives; o++) {
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            read[p->ids[p->ops[o].inputs.first + i]] = true;
        for (uint32_t i = 0; i < p->ops[o].updates.n; i++)
            assert_true(p->values[p->ids[p->ops[o].updates.first + i]].persistent);
    }
    for (uint32_t v = 0; v < p->n_values; v++) {
        if (p->values[v].input && !read[v])
            e->unread_input_bytes += p->values[v].bytes;
        if (read[v] && !p->values[v].persistent && e->n_bits < most_bits)
            e->bit_of[v] = 1u << e->n_bits++;
    }
    return e->n_bits < most_bits;
}

static inline bool exhaustive_open(struct exhaustive *e, const struct plan_problem *problem,
                                   bool fixed_order, uint32_t most_bits) {
    *e = (struct exhaustive){.problem = problem, .fixed_order = fixed_order};
    uint32_t op_bits = fixed_order ? 0 : problem->n_ops;
    while (fixed_order && problem->n_ops >> op_bits)
        op_bits++;
    if (problem->n_ops > exhaustive_ops || !exhaustive_number_values(e, most_bits) ||
        op_bits + e->n_bits > most_bits)
        return false;
    size_t n_states = (size_t)1 << (op_bits + e->n_bits);
    assert_null(memory_alloc(1, sizeof *e->rules, &e->rules));
    assert_null(memory_alloc(n_states, sizeof *e->cost, &e->cost));
    assert_null(memory_alloc(n_states, sizeof *e->from, &e->from));
    assert_null(memory_alloc(n_states, sizeof *e->op, &e->op));
    for (size_t s = 0; s < n_states; s++)
        e->cost[s] = INFINITY;
    order_rules_of_problem(problem, e->rules);
    return true;
}

static inline void exhaustive_close(struct exhaustive *e) {
    free(e->rules);
    free(e->cost);
    free(e->from);
    free(e->op);
    free(e->heap);
    free(e->touched);
    *e = (struct exhaustive){0};
}

/* The ops on the way to a state, in order. */
static inline void exhaustive_trace(const struct exhaustive *e, uint32_t state,
                                    struct plan_schedule *schedule) {
    schedule->n = 0;
    for (uint32_t s = state; s != PLAN_NONE; s = e->from[s])
        if (e->op[s] != PLAN_NONE)
            push_op(schedule, e->op[s]);
    for (size_t i = 0; i < schedule->n / 2; i++) {
        uint32_t op = schedule->ops[i];
        schedule->ops[i] = schedule->ops[schedule->n - 1 - i];
        schedule->ops[schedule->n - 1 - i] = op;
    }
}

/* The least peak, or the least seconds whose peak is within the budget, and a schedule of it;
 * INFINITY and an empty schedule where none is. */
static inline double exhaustive_solve(struct exhaustive *e, bool by_peak, int64_t budget_bytes,
                                      struct plan_schedule *schedule) {
    uint32_t start = 0, all = (1u << e->problem->n_ops) - 1;
    for (uint32_t v = 0; v < e->problem->n_values; v++)
        start |= e->problem->values[v].input ? e->bit_of[v] : 0;
    while (e->n_touched)
        e->cost[e->touched[--e->n_touched]] = INFINITY;
    e->by_peak = by_peak;
    e->budget_bytes = budget_bytes;
    e->n = 0;
    schedule->n = 0;
    exhaustive_arrive(e, exhaustive_state(e, 0, start), 0, PLAN_NONE, PLAN_NONE);
    while (e->n) {
        struct exhaustive_arrival at = exhaustive_pop(e);
        if (at.cost > e->cost[at.state])
            continue;
        if (exhaustive_done(e, at.state) == all) {
            exhaustive_trace(e, at.state, schedule);
            return at.cost;
        }
        exhaustive_expand(e, at);
    }
    return INFINITY;
}

#endif
