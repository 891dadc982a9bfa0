/* replay: what a schedule costs, by walking it once: see plan_replay in problem.h.
 *
 * Lives are opened at productions and stretched by reads; when all ends are known, in-place
 * executions are found step by step and the live bytes are summed over time. O(steps × degree). */
#include <stdlib.h>
#include <string.h>

#include "plan/problem.h"

struct replay {
    const struct plan_problem *problem;
    const struct plan_schedule *schedule;
    struct plan_lives *lives;
    uint32_t *life_of;  /* by value: its current life */
    uint32_t *executed; /* by op: how often so far */
    /* Ops that update each persistent value, in base order: a slice per value. */
    uint32_t *updaters, *first_updater;
};

static neap_error *open_life(struct replay *r, uint32_t value, uint32_t step) {
    struct plan_lives *lives = r->lives;
    TRY(memory_grow(&lives->at, &lives->capacity, lives->n + 1, sizeof *lives->at));
    r->life_of[value] = (uint32_t)lives->n;
    lives->at[lives->n++] = (struct plan_life){.value = value,
                                               .first_step = step,
                                               .last_step = step,
                                               .in_place_of = PLAN_NONE,
                                               .bytes = r->problem->values[value].bytes};
    return NULL;
}

static neap_error *index_updaters(struct replay *r) {
    const struct plan_problem *p = r->problem;
    TRY(memory_alloc(p->n_values + 1, sizeof *r->first_updater, &r->first_updater));
    for (int fill = 0; fill < 2; fill++) { /* count, then fill from the ends */
        for (uint32_t o = p->n_ops; o-- > 0;)
            for (uint32_t i = 0; i < p->ops[o].updates.n; i++) {
                uint32_t v = p->ids[p->ops[o].updates.first + i];
                if (fill)
                    r->updaters[--r->first_updater[v]] = o;
                else
                    r->first_updater[v]++;
            }
        for (uint32_t v = 0; !fill && v < p->n_values; v++)
            r->first_updater[v + 1] += r->first_updater[v];
        if (!fill)
            TRY(memory_alloc(r->first_updater[p->n_values], sizeof *r->updaters, &r->updaters));
    }
    return NULL;
}

/* An op touching persistent value v stays on its base-order side of every op that updates v. */
static neap_error *check_hazards(const struct replay *r, uint32_t op, uint32_t v, size_t step) {
    for (uint32_t i = r->first_updater[v]; i < r->first_updater[v + 1]; i++) {
        uint32_t updater = r->updaters[i];
        if (updater == op || (updater < op) == (r->executed[updater] > 0))
            continue;
        return error_make(NEAP_ERROR_INTERNAL,
                          "step %zu: op %u is on the wrong side of op %u, which updates value %u",
                          step, op, updater, v);
    }
    return NULL;
}

static neap_error *read_values(struct replay *r, uint32_t o, uint32_t step) {
    const struct plan_problem *p = r->problem;
    const struct plan_op *op = &p->ops[o];
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        uint32_t v = p->ids[op->inputs.first + i];
        if (p->values[v].persistent) {
            TRY(check_hazards(r, o, v, step));
            continue;
        }
        if (r->life_of[v] == PLAN_NONE)
            return error_make(NEAP_ERROR_INTERNAL,
                              "step %u: op %u reads value %u before it is made", step, o, v);
        r->lives->at[r->life_of[v]].last_step = step;
    }
    for (uint32_t i = 0; i < op->updates.n; i++)
        TRY(check_hazards(r, o, p->ids[op->updates.first + i], step));
    return NULL;
}

static neap_error *execute(struct replay *r, uint32_t o, uint32_t step, bool *updating) {
    const struct plan_op *op = &r->problem->ops[o];
    if (plan_op_once(op) && r->executed[o])
        return error_make(NEAP_ERROR_INTERNAL, "step %u: op %u may run only once", step, o);
    if (*updating && !op->update_part)
        return error_make(NEAP_ERROR_INTERNAL, "step %u: op %u comes after the update's part", step,
                          o);
    *updating = op->update_part;
    TRY(read_values(r, o, step));
    r->executed[o]++;
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        uint32_t v = r->problem->ids[op->outputs.first + i];
        if (!r->problem->values[v].persistent)
            TRY(open_life(r, v, step));
    }
    return NULL;
}

static neap_error *walk(struct replay *r, struct plan_measure *measure) {
    const struct plan_problem *p = r->problem;
    bool updating = false;
    for (uint32_t v = 0; v < p->n_values; v++) {
        r->life_of[v] = PLAN_NONE;
        if (p->values[v].input)
            TRY(open_life(r, v, 0));
    }
    for (size_t s = 0; s < r->schedule->n; s++) {
        uint32_t o = r->schedule->ops[s];
        TRY(execute(r, o, (uint32_t)s, &updating));
        measure->seconds += p->ops[o].seconds;
        measure->recomputed += r->executed[o] > 1;
    }
    for (uint32_t o = 0; o < p->n_ops; o++)
        if (!r->executed[o])
            return error_make(NEAP_ERROR_INTERNAL, "op %u never runs", o);
    return NULL;
}

/* Lets outputs take over inputs that die in the step that makes them. */
static void find_in_place(struct replay *r) {
    const struct plan_problem *p = r->problem;
    struct plan_life *lives = r->lives->at;
    size_t next = 0;
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].input)
            r->life_of[v] = (uint32_t)next++;
    for (size_t s = 0; s < r->schedule->n; s++) {
        const struct plan_op *op = &p->ops[r->schedule->ops[s]];
        size_t first = next;
        while (next < r->lives->n && lives[next].first_step == s)
            next++;
        for (uint32_t i = 0; i < op->n_overwrites; i++) {
            struct plan_overwrite pair = p->overwrites[op->first_overwrite + i];
            uint32_t from = p->values[pair.input].persistent ? PLAN_NONE : r->life_of[pair.input];
            if (from == PLAN_NONE || lives[from].last_step != s)
                continue;
            bool taken = false;
            struct plan_life *to = NULL;
            for (size_t l = first; l < next; l++) {
                taken = taken || lives[l].in_place_of == from;
                if (lives[l].value == pair.output)
                    to = &lives[l];
            }
            if (!taken && to && to->in_place_of == PLAN_NONE && to->bytes <= lives[from].bytes)
                to->in_place_of = from;
        }
        for (size_t l = first; l < next; l++)
            r->life_of[lives[l].value] = (uint32_t)l;
    }
}

static neap_error *find_peak(const struct replay *r, struct plan_measure *measure) {
    int64_t *change, live = 0;
    TRY(memory_alloc(r->schedule->n + 1, sizeof *change, &change));
    for (size_t l = 0; l < r->lives->n; l++) {
        const struct plan_life *life = &r->lives->at[l];
        /* In place, the first step counts the bytes of the input alone. */
        uint32_t first = life->first_step + (life->in_place_of != PLAN_NONE);
        if (first > life->last_step)
            continue;
        change[first] += life->bytes;
        change[life->last_step + 1] -= life->bytes;
    }
    for (size_t s = 0; s < r->schedule->n; s++) {
        live += change[s];
        if (live > measure->peak_bytes) {
            measure->peak_bytes = live;
            measure->peak_step = (uint32_t)s;
        }
    }
    free(change);
    return NULL;
}

neap_error *plan_replay(const struct plan_problem *problem, const struct plan_schedule *schedule,
                        struct plan_measure *measure, struct plan_lives *lives) {
    struct plan_lives own = {0};
    struct replay r = {.problem = problem, .schedule = schedule, .lives = lives ? lives : &own};
    neap_error *error = NULL;
    *measure = (struct plan_measure){0};
    r.lives->n = 0;
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *r.life_of, &r.life_of));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *r.executed, &r.executed));
    TRY_GOTO(index_updaters(&r));
    TRY_GOTO(walk(&r, measure));
    find_in_place(&r);
    TRY_GOTO(find_peak(&r, measure));
done:
    free(r.life_of);
    free(r.executed);
    free(r.updaters);
    free(r.first_updater);
    plan_lives_free(&own);
    return error;
}
