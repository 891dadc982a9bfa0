/* bound: what no schedule can beat, whatever its order and however often it recomputes.
 *
 * A schedule is seen at the first execution of each op w in turn. What is then live, or made again
 * later, is known (moment.c): the bytes beyond the budget must come from ops that run again, each
 * at its cost. Two bounds for each w:
 *   cover  the cheapest set of ops whose outputs cover the bytes: a knapsack, solved exactly where
 *          that is quick, else in fractions; for all w that could raise the maximum
 *   cut    ops that run again need their inputs too, and ops that are neither before nor after w in
 *          every schedule may be either (moment_cut.c); for the w with the most bytes
 * The largest over all w counts. What cannot be made again bounds the peak. docs/planner.md has the
 * proof.
 *
 * Seconds become integers of 52 bits, rounded down: sums are exact, and never above the truth.
 * Opening takes O(n × reads), a budget a part of it; n² / 4 bytes for n ops (free order). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/moment.h"
#include "plan/moment_cut.h"
#include "plan/plan.h"

enum {
    PIECES = 8,             /* of a cover, by which its cost is bounded above */
    MOST_SETS = 20000,      /* that the search for one cover makes */
    MOST_CUT_ARCS = 1 << 20 /* of all networks together */
};

/* What is remembered of a moment; by op and alternative. */
struct step {
    int64_t held_bytes, items_bytes, loose_bytes;
    int64_t floor_bytes;          /* live in any case */
    struct moment_line low, high; /* the ends of the cuts */
    int64_t delay;                /* cost beyond the fastest implementation's */
    int64_t at_most[PIECES];      /* no cover of the first i + 1 pieces of items_bytes costs more */
};

struct candidate {
    uint32_t op;
    int64_t key;
};

struct plan_bounds {
    const struct plan_problem *problem;
    struct moment moment;
    struct moment_cut cut;
    struct knapsack knapsack;
    int64_t *cost; /* by op: of its fastest implementation */
    int exponent;  /* costs are seconds × 2 ^ exponent */
    struct step *steps;
    struct candidate *heavy, *light; /* ops whose cut is looked at; the others */
    uint32_t n_heavy;
    int64_t floor_bytes;
    uint32_t floor_op;
    bool *again_cut, *again_by, *again_op, *again; /* of a cut, an implementation, an op, all */
};

static uint32_t next_of(const struct plan_bounds *b, uint32_t by) {
    return b->moment.precede.next[by];
}

/* ---- opening -------------------------------------------------------------------------------- */

static int64_t cost_of(const struct plan_bounds *b, double seconds) {
    return (int64_t)ldexp(seconds, b->exponent);
}

static double least_seconds(const struct plan_bounds *b, uint32_t o) {
    double least = b->problem->ops[o].seconds;
    for (uint32_t a = o; a != PLAN_NONE; a = next_of(b, a))
        least = fmin(least, b->problem->ops[a].seconds);
    return least;
}

/* What one run of w by this implementation costs beyond its fastest, rounded down. */
static int64_t delay_of(const struct plan_bounds *b, uint32_t w, uint32_t by) {
    int64_t least = (int64_t)ceil(ldexp(least_seconds(b, w), b->exponent));
    int64_t cost = cost_of(b, b->problem->ops[by].seconds);
    return cost > least ? cost - least : 0;
}

static void count_costs(struct plan_bounds *b) {
    const struct plan_problem *p = b->problem;
    double total = 0;
    for (uint32_t o = 0; o < p->n_ops + p->n_alternatives; o++)
        total += p->ops[o].seconds;
    b->exponent = total > 0 ? 51 - ilogb(total) : 0;
    for (uint32_t o = 0; o < p->n_ops; o++)
        b->cost[o] = cost_of(b, p->ops[o].seconds);
    for (uint32_t a = p->n_ops; a < p->n_ops + p->n_alternatives; a++) {
        int64_t *least = &b->cost[plan_primary(p, a)], cost = cost_of(b, p->ops[a].seconds);
        *least = cost < *least ? cost : *least;
    }
}

static int64_t end_of_piece(const struct step *step, int i) {
    return step->items_bytes / PIECES * (i + 1) + step->items_bytes % PIECES;
}

/* The moment's knapsack, and how much its covers cost at most. */
static void look_at(struct plan_bounds *b, uint32_t w, uint32_t by) {
    struct step *step = &b->steps[by];
    const struct moment *m = &b->moment;
    moment_set(&b->moment, w, by);
    knapsack_load(&b->knapsack, m->items, m->n_items);
    *step = (struct step){.held_bytes = m->held_bytes,
                          .items_bytes = m->items_bytes,
                          .loose_bytes = m->loose_bytes,
                          .floor_bytes = m->held_bytes,
                          .delay = delay_of(b, w, by)};
    for (int i = 0; i < PIECES; i++)
        step->at_most[i] = knapsack_greedy(&b->knapsack, end_of_piece(step, i));
}

static void raise_floor(struct plan_bounds *b, uint32_t w, int64_t bytes) {
    if (bytes <= b->floor_bytes)
        return;
    b->floor_bytes = bytes;
    b->floor_op = w;
}

/* Before step 0 all inputs are there. */
static void start_floor(struct plan_bounds *b) {
    const struct plan_problem *p = b->problem;
    b->floor_op = PLAN_NONE;
    for (uint32_t v = 0; v < p->n_values; v++)
        b->floor_bytes += p->values[v].input && !p->values[v].persistent ? p->values[v].bytes : 0;
}

static void look_at_all(struct plan_bounds *b) {
    for (uint32_t w = 0; w < b->problem->n_ops; w++) {
        int64_t held_bytes = INT64_MAX, loose_bytes = INT64_MAX;
        for (uint32_t by = w; by != PLAN_NONE; by = next_of(b, by)) {
            const struct step *step = &b->steps[by];
            look_at(b, w, by);
            held_bytes = step->held_bytes < held_bytes ? step->held_bytes : held_bytes;
            loose_bytes = step->loose_bytes < loose_bytes ? step->loose_bytes : loose_bytes;
        }
        raise_floor(b, w, held_bytes);
        b->heavy[w] = (struct candidate){w, loose_bytes};
    }
}

static int by_key(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static void choose_heavy(struct plan_bounds *b) {
    const struct plan_problem *p = b->problem;
    size_t arcs = 2 * (size_t)p->n_ops + 3 * (size_t)b->moment.precede.n_reads;
    size_t n = MOST_CUT_ARCS / (arcs + 1) + 1;
    qsort(b->heavy, p->n_ops, sizeof *b->heavy, by_key);
    b->n_heavy = n < p->n_ops ? (uint32_t)n : p->n_ops;
    for (uint32_t i = 0; i < b->n_heavy; i++) {
        int64_t floor_bytes = INT64_MAX;
        for (uint32_t by = b->heavy[i].op; by != PLAN_NONE; by = next_of(b, by)) {
            moment_set(&b->moment, b->heavy[i].op, by);
            moment_cut_build(&b->cut);
            struct step *step = &b->steps[by];
            moment_cut_ends(&b->cut, &step->low, &step->high);
            if (step->high.bytes > step->floor_bytes)
                step->floor_bytes = step->high.bytes;
            floor_bytes = step->floor_bytes < floor_bytes ? step->floor_bytes : floor_bytes;
        }
        raise_floor(b, b->heavy[i].op, floor_bytes);
    }
}

neap_error *plan_bounds_open(const struct plan_problem *problem, bool fixed_order,
                             struct plan_bounds **out) {
    size_t n_ops = problem->n_ops;
    struct plan_bounds *b;
    neap_error *error = NULL;
    TRY(memory_alloc(1, sizeof *b, &b));
    b->problem = problem;
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->cost, &b->cost));
    TRY_GOTO(memory_alloc(n_ops + problem->n_alternatives, sizeof *b->steps, &b->steps));
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->heavy, &b->heavy));
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->light, &b->light));
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->again_cut, &b->again_cut));
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->again_by, &b->again_by));
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->again_op, &b->again_op));
    TRY_GOTO(memory_alloc(n_ops, sizeof *b->again, &b->again));
    TRY_GOTO(knapsack_open(n_ops, MOST_SETS, &b->knapsack));
    count_costs(b);
    TRY_GOTO(moment_open(problem, fixed_order, b->cost, &b->moment));
    TRY_GOTO(moment_cut_open(&b->moment, &b->cut));
    start_floor(b);
    look_at_all(b);
    choose_heavy(b);
done:
    if (error)
        plan_bounds_close(b);
    else
        *out = b;
    return error;
}

void plan_bounds_close(struct plan_bounds *b) {
    if (!b)
        return;
    moment_close(&b->moment);
    moment_cut_close(&b->cut);
    knapsack_close(&b->knapsack);
    free(b->cost);
    free(b->steps);
    free(b->heavy);
    free(b->light);
    free(b->again_cut);
    free(b->again_by);
    free(b->again_op);
    free(b->again);
    free(b);
}

/* ---- one budget ----------------------------------------------------------------------------- */

/* No cover at this moment costs more. */
static int64_t most_cover(const struct step *step, int64_t budget_bytes) {
    int64_t missing = step->held_bytes + step->items_bytes - budget_bytes;
    if (missing <= 0)
        return 0;
    int i = 0;
    while (i < PIECES - 1 && end_of_piece(step, i) < missing)
        i++;
    return step->at_most[i];
}

/* The cheapest cover at the moment that is set; if up to `enough`, any such cost. */
static int64_t cover_cost(struct plan_bounds *b, int64_t budget_bytes, int64_t enough) {
    const struct moment *m = &b->moment;
    int64_t missing = m->held_bytes + m->items_bytes - budget_bytes;
    bool exact;
    memset(b->again_by, 0, b->problem->n_ops * sizeof *b->again_by);
    if (missing <= 0)
        return 0;
    knapsack_load(&b->knapsack, m->items, m->n_items);
    int64_t cost = knapsack_greedy(&b->knapsack, missing);
    if (cost > enough)
        cost = knapsack_cover(&b->knapsack, missing, &exact);
    for (size_t i = 0; i < m->n_items; i++)
        b->again_by[m->items[i].op] = b->knapsack.best[i];
    return cost;
}

/* What passing op w's first execution by one implementation costs at least. */
static int64_t cost_by(struct plan_bounds *b, uint32_t w, uint32_t by, int64_t budget_bytes,
                       bool with_cut, int64_t enough) {
    moment_set(&b->moment, w, by);
    int64_t cost = cover_cost(b, budget_bytes, enough);
    if (!with_cut || b->steps[by].low.bytes <= budget_bytes)
        return cost;
    enough = cost > enough ? cost : enough;
    moment_cut_build(&b->cut);
    int64_t cut = moment_cut_cost(&b->cut, b->steps[by].low, b->steps[by].high, budget_bytes,
                                  enough, b->again_cut);
    if (cut <= enough)
        return cost;
    memcpy(b->again_by, b->again_cut, b->problem->n_ops * sizeof *b->again_by);
    return cut;
}

/* Op w's first execution, if it costs more than any looked at so far. */
static void try_op(struct plan_bounds *b, uint32_t w, int64_t budget_bytes, bool with_cut,
                   int64_t *worst, uint32_t *op) {
    int64_t least = INT64_MAX;
    for (uint32_t by = w; by != PLAN_NONE; by = next_of(b, by)) {
        const struct step *step = &b->steps[by];
        if (step->floor_bytes > budget_bytes || step->delay >= least)
            continue;
        int64_t cost =
            step->delay + cost_by(b, w, by, budget_bytes, with_cut, *worst - step->delay);
        if (cost <= *worst)
            return;
        if (cost < least)
            memcpy(b->again_op, b->again_by, b->problem->n_ops * sizeof *b->again_op);
        least = cost < least ? cost : least;
    }
    memcpy(b->again, b->again_op, b->problem->n_ops * sizeof *b->again);
    *worst = least;
    *op = w;
}

/* No cover at op w's first execution costs more, whichever implementation it is. */
static int64_t most_of_op(const struct plan_bounds *b, uint32_t w, int64_t budget_bytes) {
    int64_t least = INT64_MAX;
    for (uint32_t by = w; by != PLAN_NONE; by = next_of(b, by)) {
        if (b->steps[by].floor_bytes > budget_bytes)
            continue;
        int64_t most = b->steps[by].delay + most_cover(&b->steps[by], budget_bytes);
        least = most < least ? most : least;
    }
    return least;
}

/* The cost, and at which op; the budget is at least the floor. */
static int64_t find_worst(struct plan_bounds *b, int64_t budget_bytes, uint32_t *op) {
    uint32_t n_ops = b->problem->n_ops, n_light = 0;
    int64_t worst = 0;
    b->cut.price = 0;
    for (uint32_t i = 0; i < b->n_heavy; i++)
        try_op(b, b->heavy[i].op, budget_bytes, true, &worst, op);
    for (uint32_t i = b->n_heavy; i < n_ops; i++) {
        int64_t most = most_of_op(b, b->heavy[i].op, budget_bytes);
        if (most > worst)
            b->light[n_light++] = (struct candidate){b->heavy[i].op, most};
    }
    qsort(b->light, n_light, sizeof *b->light, by_key);
    for (uint32_t i = 0; i < n_light && b->light[i].key > worst; i++)
        try_op(b, b->light[i].op, budget_bytes, false, &worst, op);
    return worst;
}

void plan_bounds_at(struct plan_bounds *b, int64_t budget_bytes, struct plan_bound *out,
                    bool *again) {
    size_t n_ops = b->problem->n_ops;
    *out = (struct plan_bound){b->floor_bytes, b->floor_op, INFINITY, PLAN_NONE};
    memset(b->again, 0, n_ops * sizeof *b->again);
    if (budget_bytes >= b->floor_bytes)
        out->extra_seconds = ldexp((double)find_worst(b, budget_bytes, &out->op), -b->exponent);
    if (again)
        memcpy(again, b->again, n_ops * sizeof *again);
}

neap_error *plan_bound(const struct plan_problem *problem, int64_t budget_bytes,
                       struct plan_bound *out) {
    struct plan_bounds *bounds;
    TRY(plan_bounds_open(problem, false, &bounds));
    plan_bounds_at(bounds, budget_bytes, out, NULL);
    plan_bounds_close(bounds);
    return NULL;
}
