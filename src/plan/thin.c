/* thin: runs that turned out not to be needed go.
 *
 *   a b c | c' a b b'   →   a b c | c' b'      where b's output can stay from its first run on
 *
 * A repeated run whose outputs nobody reads goes for nothing. Another goes where its outputs can
 * stay from their last life on without a step needing more than the limit; the most seconds first.
 * What the run itself read may then die earlier, so after a round of removals the schedule is
 * replayed and another round begins, until nothing goes. First runs stay, and so does the order.
 * O(rounds × (steps × degree + runs × distance)). */
#include <stdlib.h>

#include "plan/plan.h"

enum { MOST_ROUNDS = 8 };

struct thin {
    const struct plan_problem *problem;
    struct plan_schedule *schedule;
    struct plan_lives lives;
    int64_t limit_bytes;
    int64_t *live_bytes;  /* by step */
    uint32_t *previous;   /* by life: of the same value */
    uint32_t *taker;      /* by life: which one takes its place in the end */
    uint32_t *first_life; /* by step: the first of the lives that it begins */
    bool *removed;        /* by step */
};

struct repeat {
    uint32_t step;
    double seconds;
};

static void free_round(struct thin *t) {
    free(t->live_bytes);
    free(t->previous);
    free(t->taker);
    free(t->first_life);
    free(t->removed);
}

/* Live bytes and how lives follow each other. */
static void survey(struct thin *t, uint32_t *latest) {
    struct plan_life *lives = t->lives.at;
    for (uint32_t v = 0; v < t->problem->n_values; v++)
        latest[v] = PLAN_NONE;
    for (uint32_t l = 0; l < t->lives.n; l++)
        t->taker[l] = PLAN_NONE;
    for (uint32_t l = 0; l < t->lives.n; l++) {
        uint32_t first = lives[l].first_step + (lives[l].in_place_of != PLAN_NONE);
        t->previous[l] = latest[lives[l].value];
        latest[lives[l].value] = l;
        if (lives[l].in_place_of != PLAN_NONE)
            t->taker[lives[l].in_place_of] = l;
        if (first > lives[l].last_step)
            continue;
        t->live_bytes[first] += lives[l].bytes;
        t->live_bytes[lives[l].last_step + 1] -= lives[l].bytes;
    }
    uint32_t l = 0;
    for (uint32_t s = 0; s < t->schedule->n; s++) {
        t->live_bytes[s] += s ? t->live_bytes[s - 1] : 0;
        while (l < t->lives.n &&
               (lives[l].first_step < s || t->problem->values[lives[l].value].input))
            l++;
        t->first_life[s] = l;
    }
}

static neap_error *start_round(struct thin *t) {
    uint32_t *latest = NULL;
    neap_error *error = NULL;
    struct plan_measure measure;
    TRY(plan_replay(t->problem, t->schedule, &measure, &t->lives));
    if (measure.peak_bytes > t->limit_bytes)
        t->limit_bytes = measure.peak_bytes;
    TRY_GOTO(memory_alloc(t->schedule->n + 1, sizeof *t->live_bytes, &t->live_bytes));
    TRY_GOTO(memory_alloc(t->schedule->n, sizeof *t->first_life, &t->first_life));
    TRY_GOTO(memory_alloc(t->schedule->n, sizeof *t->removed, &t->removed));
    TRY_GOTO(memory_alloc(t->lives.n, sizeof *t->previous, &t->previous));
    TRY_GOTO(memory_alloc(t->lives.n, sizeof *t->taker, &t->taker));
    TRY_GOTO(memory_alloc(t->problem->n_values, sizeof *latest, &latest));
    survey(t, latest);
done:
    free(latest);
    return error;
}

/* Could the life before l last until l begins, as far as this value alone goes? */
static bool may_stretch(const struct thin *t, uint32_t l) {
    const struct plan_life *lives = t->lives.at;
    int64_t most = t->limit_bytes - lives[l].bytes;
    for (uint32_t s = lives[t->previous[l]].last_step + 1; s < lives[l].first_step; s++)
        if (t->live_bytes[s] > most)
            return false;
    return true;
}

/* Lets the life before l last until l begins (sign 1), or takes that back (-1); true while no step
 * between needs more than the limit. Where a value took the place of the earlier life, it now needs
 * its own. */
static bool stretch(struct thin *t, uint32_t l, int sign) {
    const struct plan_life *lives = t->lives.at;
    uint32_t earlier = t->previous[l], taker = t->taker[earlier];
    bool fits = true;
    for (uint32_t s = lives[earlier].last_step + 1; s < lives[l].first_step; s++) {
        t->live_bytes[s] += sign * lives[l].bytes;
        fits = fits && t->live_bytes[s] <= t->limit_bytes;
    }
    if (taker != PLAN_NONE) {
        int64_t *at = &t->live_bytes[lives[taker].first_step];
        *at += sign * lives[taker].bytes;
        fits = fits && *at <= t->limit_bytes;
    }
    return fits;
}

/* Removes the run at `step` if its outputs can stay from before. */
static bool remove_run(struct thin *t, uint32_t step) {
    const struct plan_life *lives = t->lives.at;
    uint32_t first = t->first_life[step], end = first;
    bool fits = true;
    for (; end < t->lives.n && lives[end].first_step == step; end++)
        if (lives[end].last_step > step && !may_stretch(t, end))
            return false;
    for (uint32_t l = first; l < end; l++)
        if (lives[l].last_step > step)
            fits = stretch(t, l, 1) && fits;
    for (uint32_t l = first; l < end; l++)
        if (lives[l].last_step > step) {
            if (fits)
                t->lives.at[t->previous[l]].last_step = lives[l].last_step;
            else
                stretch(t, l, -1);
        }
    return fits;
}

/* Runs of one op from the last to the first: so the life behind one that goes is settled already.
 */
static int by_seconds(const void *a, const void *b) {
    const struct repeat *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return (x->step < y->step) - (x->step > y->step);
}

/* Removes what can go; how many runs that is. */
static neap_error *remove_runs(struct thin *t, size_t *n_removed) {
    struct plan_schedule *schedule = t->schedule;
    struct repeat *repeats = NULL;
    bool *ran = NULL;
    size_t n = 0, kept = 0;
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(t->problem->n_ops, sizeof *ran, &ran));
    TRY_GOTO(memory_alloc(schedule->n, sizeof *repeats, &repeats));
    for (uint32_t s = 0; s < schedule->n; s++) {
        uint32_t o = schedule->ops[s];
        if (ran[o])
            repeats[n++] = (struct repeat){s, t->problem->ops[o].seconds};
        ran[o] = true;
    }
    qsort(repeats, n, sizeof *repeats, by_seconds);
    for (size_t i = 0; i < n; i++)
        t->removed[repeats[i].step] = remove_run(t, repeats[i].step);
    for (uint32_t s = 0; s < schedule->n; s++)
        if (!t->removed[s])
            schedule->ops[kept++] = schedule->ops[s];
    *n_removed = schedule->n - kept;
    schedule->n = kept;
done:
    free(repeats);
    free(ran);
    return error;
}

neap_error *plan_schedule_thin(const struct plan_problem *problem, int64_t limit_bytes,
                               struct plan_schedule *schedule) {
    struct thin t = {.problem = problem, .schedule = schedule, .limit_bytes = limit_bytes};
    neap_error *error = NULL;
    size_t n_removed = 1;
    for (int round = 0; round < MOST_ROUNDS && n_removed && !error; round++) {
        error = start_round(&t);
        if (!error)
            error = remove_runs(&t, &n_removed);
        free_round(&t);
        t.live_bytes = NULL;
        t.previous = t.taker = t.first_life = NULL;
        t.removed = NULL;
    }
    plan_lives_free(&t.lives);
    return error;
}
