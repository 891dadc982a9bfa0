/* Every schedule of a step of a few ops: the least peak, and the least seconds within a budget.
 *
 * A state is which ops have run and which values are kept. Moves run an op that may, by any of its
 * implementations, or forget a value: any order, any number of recomputes. Written from the rules
 * in problem.h alone. Values that an op updates are persistent or made by an op that runs once, so
 * that what they hold follows from which ops have run. */
#ifndef NEAP_TESTS_UNIT_PLAN_ALL_SCHEDULES_H
#define NEAP_TESTS_UNIT_PLAN_ALL_SCHEDULES_H

#include <math.h>

#include "unit/plan/builder.h"

enum { all_most_ops = 8, all_most_values = 9, all_states = 1 << (all_most_ops + all_most_values) };

struct all_arrival {
    double cost;
    uint32_t state;
};

static struct all_schedules {
    const struct plan_problem *problem;
    bool fixed_order;
    uint32_t bit_of[max_values];  /* 0: persistent */
    uint32_t expected[max_ids];   /* by place in ids: 1 + the op whose work is found there */
    uint32_t writers[max_values]; /* ops */
    bool by_peak;
    int64_t budget_bytes;
    double cost[all_states];
    struct all_arrival *heap;
    size_t n, capacity;
} all;

static void all_push(struct all_arrival arrival) {
    assert_null(memory_grow(&all.heap, &all.capacity, all.n + 1, sizeof *all.heap));
    size_t at = all.n++;
    for (; at > 0 && all.heap[(at - 1) / 2].cost > arrival.cost; at = (at - 1) / 2)
        all.heap[at] = all.heap[(at - 1) / 2];
    all.heap[at] = arrival;
}

static struct all_arrival all_pop(void) {
    struct all_arrival top = all.heap[0], last = all.heap[--all.n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < all.n; at = child) {
        if (child + 1 < all.n && all.heap[child + 1].cost < all.heap[child].cost)
            child++;
        if (all.heap[child].cost >= last.cost)
            break;
        all.heap[at] = all.heap[child];
    }
    all.heap[at] = last;
    return top;
}

static uint32_t all_mask(struct plan_span span) {
    uint32_t mask = 0;
    for (uint32_t i = span.first; i < span.first + span.n; i++)
        mask |= all.bit_of[all.problem->ids[i]];
    return mask;
}

static int64_t all_bytes(uint32_t mask) {
    int64_t bytes = 0;
    for (uint32_t v = 0; v < all.problem->n_values; v++)
        bytes += mask & all.bit_of[v] ? all.problem->values[v].bytes : 0;
    return bytes;
}

static int64_t all_shared(const struct plan_op *op, uint32_t dying) {
    const struct plan_problem *p = all.problem;
    int64_t bytes = 0;
    uint32_t spoken = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        struct plan_overwrite pair = p->overwrites[op->first_overwrite + i];
        uint32_t both = all.bit_of[pair.input] | all.bit_of[pair.output];
        if (!(dying & all.bit_of[pair.input]) || both & spoken ||
            p->values[pair.output].bytes > p->values[pair.input].bytes)
            continue;
        spoken |= both;
        bytes += p->values[pair.output].bytes;
    }
    return bytes;
}

/* 1 + the last op, in base order, of those that ran and write the value. */
static uint32_t all_holds(uint32_t ran, uint32_t value) {
    uint32_t who = 0;
    for (ran &= all.writers[value]; ran; ran >>= 1)
        who++;
    return who;
}

static bool all_finds(uint32_t ran, struct plan_span span) {
    for (uint32_t i = span.first; i < span.first + span.n; i++)
        if (all_holds(ran, all.problem->ids[i]) != all.expected[i])
            return false;
    return true;
}

static bool all_may_run(uint32_t ran, uint32_t o, const struct plan_op *by) {
    const struct plan_op *op = &all.problem->ops[o];
    bool first = !(ran >> o & 1);
    if (!first && plan_op_once(op))
        return false;
    if (first && all.fixed_order && ran != (1u << o) - 1)
        return false;
    for (uint32_t u = 0; u < all.problem->n_ops; u++) /* the update's part comes last */
        if (all.problem->ops[u].update_part != op->update_part && (ran >> u & 1) != op->update_part)
            return false;
    return all_finds(ran, by->inputs) && all_finds(ran, by->updates);
}

static void all_arrive(uint32_t ran, uint32_t kept, double cost) {
    uint32_t state = ran << all_most_values | kept;
    if (cost >= all.cost[state])
        return;
    all.cost[state] = cost;
    all_push((struct all_arrival){cost, state});
}

static void all_execute(struct all_arrival at, uint32_t o, const struct plan_op *by) {
    uint32_t ran = at.state >> all_most_values, kept = at.state & ((1u << all_most_values) - 1);
    uint32_t used = all_mask(by->inputs) | all_mask(by->updates), made = all_mask(by->outputs);
    if (!all_may_run(ran, o, by) || (used & kept) != used || (made & kept))
        return;
    uint32_t dying = used;
    do { /* every set of them may die here */
        int64_t bytes = all_bytes(kept | made) - all_shared(by, dying);
        double cost = at.cost + by->seconds;
        if (all.by_peak)
            cost = fmax(at.cost, (double)bytes);
        if (bytes <= all.budget_bytes)
            all_arrive(ran | 1u << o, (kept | made) & ~dying, cost);
        dying = (dying - 1) & used;
    } while (dying != used);
}

static void all_expand(struct all_arrival at) {
    const struct plan_problem *p = all.problem;
    uint32_t ran = at.state >> all_most_values, kept = at.state & ((1u << all_most_values) - 1);
    for (uint32_t k = 0; k < p->n_ops + p->n_alternatives; k++)
        all_execute(at, plan_primary(p, k), &p->ops[k]);
    for (uint32_t bit = 1; bit < 1u << all_most_values && ran;
         bit <<= 1) /* all inputs are in step 0 */
        if (kept & bit)
            all_arrive(ran, kept & ~bit, at.cost);
}

/* False where the problem is too large. */
static bool all_open(const struct plan_problem *p, bool fixed_order) {
    uint32_t n = 0, holds[max_values] = {0};
    all.problem = p;
    all.fixed_order = fixed_order;
    memset(all.writers, 0, sizeof all.writers);
    for (uint32_t v = 0; v < p->n_values; v++)
        n += !p->values[v].persistent;
    if (n > all_most_values || p->n_ops > all_most_ops)
        return false;
    n = 0;
    for (uint32_t v = 0; v < p->n_values; v++)
        all.bit_of[v] = p->values[v].persistent ? 0 : 1u << n++;
    for (uint32_t o = 0; o < p->n_ops; o++) {
        for (uint32_t k = 0; k < p->n_ops + p->n_alternatives; k++)
            for (uint32_t i = 0; plan_primary(p, k) == o && i < p->n_ids; i++)
                if (i - p->ops[k].inputs.first < p->ops[k].inputs.n ||
                    i - p->ops[k].updates.first < p->ops[k].updates.n)
                    all.expected[i] = holds[p->ids[i]];
        for (uint32_t i = 0; i < p->n_ids; i++)
            if (i - p->ops[o].outputs.first < p->ops[o].outputs.n ||
                i - p->ops[o].updates.first < p->ops[o].updates.n) {
                holds[p->ids[i]] = o + 1;
                all.writers[p->ids[i]] |= 1u << o;
            }
    }
    return true;
}

/* The least peak, or the least seconds within the budget; INFINITY where nothing fits. */
static double all_solve(bool by_peak, int64_t budget_bytes) {
    const struct plan_problem *p = all.problem;
    uint32_t kept = 0;
    all.by_peak = by_peak;
    all.budget_bytes = budget_bytes;
    all.n = 0;
    for (uint32_t s = 0; s < 1u << (p->n_ops + all_most_values); s++)
        all.cost[s] = INFINITY;
    for (uint32_t v = 0; v < p->n_values; v++)
        kept |= p->values[v].input ? all.bit_of[v] : 0;
    all_arrive(0, kept, 0);
    while (all.n) {
        struct all_arrival at = all_pop();
        if (at.cost > all.cost[at.state])
            continue;
        if (at.state >> all_most_values == (1u << p->n_ops) - 1)
            return at.cost;
        all_expand(at);
    }
    return INFINITY;
}

#endif
