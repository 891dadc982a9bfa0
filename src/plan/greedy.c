/* greedy: keep everything, then drop what frees the most bytes at the peak per second of recompute,
 * until the peak fits; then take back what turned out not to be needed.
 *
 * Every candidate that lives across the peak is scored with the seconds of making it again, dropped
 * ancestors included; the best few are replayed exactly. Good at mild budgets; it never makes a
 * value twice behind the border, so very tight budgets are out of its reach. O(drops × tries ×
 * steps). */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

enum { TRIES = 6 }; /* candidates replayed at each step */

struct greedy {
    const struct plan_problem *problem;
    int64_t target_bytes;
    bool *drop, *droppable, *seen;
    struct plan_schedule schedule;
    struct plan_lives lives;
    struct plan_measure now;
};

struct candidate {
    uint32_t value;
    double score;
};

static neap_error *measure(struct greedy *g) {
    TRY(plan_schedule_dropping(g->problem, g->drop, &g->schedule));
    return plan_replay(g->problem, &g->schedule, &g->now, &g->lives);
}

/* Seconds of making v again, with dropped inputs that are not yet paid for. */
static double remake_seconds(const struct greedy *g, uint32_t v, bool *seen) {
    const struct plan_problem *p = g->problem;
    uint32_t o = p->values[v].producer;
    double seconds = p->ops[o].seconds;
    for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
        uint32_t input = p->ids[p->ops[o].inputs.first + i];
        if (g->drop[input] && !seen[input]) {
            seen[input] = true;
            seconds += 0.25 * remake_seconds(g, input, seen); /* often made for itself anyway */
        }
    }
    return seconds;
}

/* The best candidates across the peak, best first; how many. */
static int find_candidates(struct greedy *g, struct candidate best[TRIES]) {
    int n = 0;
    uint32_t peak = g->now.peak_step;
    for (size_t l = 0; l < g->lives.n; l++) {
        const struct plan_life *life = &g->lives.at[l];
        uint32_t v = life->value;
        if (life->first_step >= peak || life->last_step <= peak || g->drop[v] || !g->droppable[v])
            continue;
        memset(g->seen, 0, g->problem->n_values * sizeof *g->seen);
        struct candidate c = {v, (double)life->bytes / (remake_seconds(g, v, g->seen) + 1e-12)};
        int at = n < TRIES ? n++ : TRIES;
        for (; at > 0 && c.score > best[at - 1].score; at--)
            if (at < TRIES)
                best[at] = best[at - 1];
        if (at < TRIES)
            best[at] = c;
    }
    return n;
}

/* Drops the candidate whose exact replay frees the most per second; false where there is none. */
static neap_error *drop_one(struct greedy *g, bool *dropped) {
    struct candidate candidates[TRIES];
    int n = find_candidates(g, candidates);
    struct plan_measure before = g->now;
    uint32_t best = PLAN_NONE;
    double best_score = -1;
    for (int i = 0; i < n; i++) {
        g->drop[candidates[i].value] = true;
        TRY(measure(g));
        g->drop[candidates[i].value] = false;
        int64_t need = before.peak_bytes - g->target_bytes;
        int64_t freed = before.peak_bytes - g->now.peak_bytes;
        double score =
            (double)(freed < need ? freed : need) / (g->now.seconds - before.seconds + 1e-12);
        if (score > best_score && freed > 0) {
            best = candidates[i].value;
            best_score = score;
        }
    }
    if (best == PLAN_NONE &&
        n) /* no single one lowers the peak: several may, the best guess first */
        best = candidates[0].value;
    *dropped = best != PLAN_NONE;
    if (*dropped)
        g->drop[best] = true;
    return measure(g);
}

static int by_score(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->value > y->value) - (x->value < y->value);
}

/* Keeps again what the target does not need dropped, the most seconds per byte first. */
static neap_error *take_back(struct greedy *g) {
    const struct plan_problem *p = g->problem;
    struct candidate *dropped;
    size_t n = 0;
    neap_error *error = NULL;
    TRY(memory_alloc(p->n_values, sizeof *dropped, &dropped));
    for (uint32_t v = 0; v < p->n_values; v++)
        if (g->drop[v])
            dropped[n++] = (struct candidate){v, p->ops[p->values[v].producer].seconds /
                                                     (double)(p->values[v].bytes + 1)};
    qsort(dropped, n, sizeof *dropped, by_score);
    for (size_t i = 0; i < n && !error; i++) {
        double seconds = g->now.seconds;
        g->drop[dropped[i].value] = false;
        error = measure(g);
        if (error || (g->now.peak_bytes <= g->target_bytes && g->now.seconds <= seconds))
            continue;
        g->drop[dropped[i].value] = true;
        error = measure(g);
    }
    free(dropped);
    return error;
}

static neap_error *search(struct greedy *g, bool *best_drop) {
    const size_t bytes = g->problem->n_values * sizeof *g->drop;
    TRY(measure(g));
    int64_t best_peak = g->now.peak_bytes;
    memcpy(best_drop, g->drop, bytes);
    for (bool dropped = true; dropped && g->now.peak_bytes > g->target_bytes;) {
        TRY(drop_one(g, &dropped));
        if (g->now.peak_bytes < best_peak) {
            best_peak = g->now.peak_bytes;
            memcpy(best_drop, g->drop, bytes);
        }
    }
    memcpy(g->drop, best_drop, bytes);
    if (best_peak > g->target_bytes)
        g->target_bytes =
            best_peak; /* out of reach: at least the smallest peak at the least time */
    TRY(measure(g));
    return take_back(g);
}

neap_error *plan_drop_greedily(const struct plan_problem *problem, int64_t target_bytes,
                               bool *drop) {
    struct greedy g = {.problem = problem,
                       .target_bytes = target_bytes,
                       .drop = drop,
                       .droppable = plan_droppable(problem)};
    bool *best = NULL;
    neap_error *error = g.droppable ? NULL : error_memory(problem->n_values);
    if (!error)
        error = memory_alloc(problem->n_values, sizeof *g.seen, &g.seen);
    if (!error)
        error = memory_alloc(problem->n_values, sizeof *best, &best);
    if (!error)
        error = search(&g, best);
    free(best);
    free(g.seen);
    free(g.droppable);
    plan_schedule_free(&g.schedule);
    plan_lives_free(&g.lives);
    return error;
}
