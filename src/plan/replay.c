/* replay: what a schedule costs, by walking it once: see plan_replay in problem.h.
 *
 * A walk of the base order notes for every access of a value which op left what it finds there; in
 * the schedule it must find the same. Lives are opened at productions and stretched by reads; when
 * all ends are known, in-place executions are found step by step and the live bytes are summed over
 * time. O((ops + steps) × degree). */
#include <stdlib.h>
#include <string.h>

#include "plan/problem.h"

struct replay {
    const struct plan_problem *problem;
    const struct plan_schedule *schedule;
    struct plan_lives *lives;
    uint32_t *life_of;  /* by value: its current life */
    uint32_t *executed; /* by op: how often so far */
    uint32_t *expected; /* by place in problem->ids: the op whose work an access finds there */
    uint32_t *left_by;  /* by value: the op whose work it holds; PLAN_NONE: what was there before */
    uint32_t *final;    /* by value: the same at the base order's end */
    uint32_t seam;      /* the first step of the update's part */
};

/* ---- the base order ------------------------------------------------------------------------- */

static void expect(struct replay *r, struct plan_span span) {
    for (uint32_t i = span.first; i < span.first + span.n; i++)
        r->expected[i] = r->final[r->problem->ids[i]];
}

static void leave(const struct replay *r, uint32_t *left_by, struct plan_span span, uint32_t o) {
    for (uint32_t i = span.first; i < span.first + span.n; i++)
        left_by[r->problem->ids[i]] = o;
}

/* Alternatives find what their primary finds: by primary, chained in `next`, which the caller made
 * all PLAN_NONE. */
static void chain_alternatives(const struct plan_problem *p, uint32_t *next) {
    for (uint32_t a = p->n_ops + p->n_alternatives; a-- > p->n_ops;) {
        next[a] = next[p->ops[a].alternative_of];
        next[p->ops[a].alternative_of] = a;
    }
}

static neap_error *walk_base_order(struct replay *r) {
    const struct plan_problem *p = r->problem;
    uint32_t n_all = p->n_ops + p->n_alternatives, *next;
    TRY(memory_alloc(n_all, sizeof *next, &next));
    for (uint32_t o = 0; o < n_all; o++)
        next[o] = PLAN_NONE;
    for (uint32_t v = 0; v < p->n_values; v++)
        r->final[v] = r->left_by[v] = PLAN_NONE;
    chain_alternatives(p, next);
    for (uint32_t o = 0; o < p->n_ops; o++) {
        for (uint32_t a = o; a != PLAN_NONE; a = next[a]) {
            expect(r, p->ops[a].inputs);
            expect(r, p->ops[a].updates);
        }
        leave(r, r->final, p->ops[o].updates, o);
        leave(r, r->final, p->ops[o].outputs, o);
    }
    free(next);
    return NULL;
}

/* ---- the schedule --------------------------------------------------------------------------- */

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

/* Is it what it would be in the base order? */
static neap_error *check_found(const struct replay *r, uint32_t place, uint32_t step) {
    uint32_t v = r->problem->ids[place];
    if (r->left_by[v] == r->expected[place])
        return NULL;
    return error_make(NEAP_ERROR_INTERNAL,
                      "step %u: op %u finds in value %u what op %d left, in the base order that of "
                      "op %d",
                      step, r->schedule->ops[step], v, (int)r->left_by[v], (int)r->expected[place]);
}

static neap_error *find_values(struct replay *r, struct plan_span span, uint32_t step) {
    const struct plan_problem *p = r->problem;
    for (uint32_t i = span.first; i < span.first + span.n; i++) {
        uint32_t v = p->ids[i];
        if (!p->values[v].persistent) {
            if (r->life_of[v] == PLAN_NONE)
                return error_make(NEAP_ERROR_INTERNAL,
                                  "step %u: op %u reads value %u before it is made", step,
                                  r->schedule->ops[step], v);
            struct plan_life *life = &r->lives->at[r->life_of[v]];
            if (life->first_step < r->seam && r->seam <= step)
                return error_make(NEAP_ERROR_INTERNAL,
                                  "step %u: op %u of the update's part reads value %u of a "
                                  "micro-batch",
                                  step, r->schedule->ops[step], v);
            life->last_step = step;
        }
        TRY(check_found(r, i, step));
    }
    return NULL;
}

static neap_error *check_turn(struct replay *r, uint32_t o, uint32_t step) {
    const struct plan_problem *p = r->problem;
    if (o >= p->n_ops + p->n_alternatives)
        return error_make(NEAP_ERROR_INTERNAL, "step %u: there is no op %u", step, o);
    const struct plan_op *op = &p->ops[plan_primary(p, o)];
    if (plan_op_once(op) && r->executed[plan_primary(p, o)])
        return error_make(NEAP_ERROR_INTERNAL, "step %u: op %u may run only once", step, o);
    if (r->seam <= step && !op->update_part)
        return error_make(NEAP_ERROR_INTERNAL, "step %u: op %u comes after the update's part", step,
                          o);
    if (op->update_part && step < r->seam)
        r->seam = step;
    return NULL;
}

static neap_error *execute(struct replay *r, uint32_t o, uint32_t step) {
    const struct plan_problem *p = r->problem;
    const struct plan_op *op = &p->ops[o];
    TRY(find_values(r, op->inputs, step));
    TRY(find_values(r, op->updates, step));
    leave(r, r->left_by, op->updates, plan_primary(p, o));
    leave(r, r->left_by, op->outputs, plan_primary(p, o));
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        uint32_t v = p->ids[op->outputs.first + i];
        if (!p->values[v].persistent)
            TRY(open_life(r, v, step));
    }
    return NULL;
}

/* Every op ran, and the persistent values are as the base order leaves them. */
static neap_error *check_end(const struct replay *r) {
    const struct plan_problem *p = r->problem;
    for (uint32_t o = 0; o < p->n_ops; o++)
        if (!r->executed[o])
            return error_make(NEAP_ERROR_INTERNAL, "op %u never runs", o);
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].persistent && r->left_by[v] != r->final[v])
            return error_make(NEAP_ERROR_INTERNAL,
                              "value %u is left by op %d, in the base order by op %d", v,
                              (int)r->left_by[v], (int)r->final[v]);
    return NULL;
}

static neap_error *walk(struct replay *r, struct plan_measure *measure) {
    const struct plan_problem *p = r->problem;
    r->seam = UINT32_MAX;
    for (uint32_t v = 0; v < p->n_values; v++) {
        r->life_of[v] = PLAN_NONE;
        if (p->values[v].input)
            TRY(open_life(r, v, 0));
    }
    for (uint32_t s = 0; s < r->schedule->n; s++) {
        uint32_t o = r->schedule->ops[s];
        TRY(check_turn(r, o, s));
        TRY(execute(r, o, s));
        measure->seconds += p->ops[o].seconds;
        measure->recomputed += r->executed[plan_primary(p, o)]++ > 0;
    }
    return check_end(r);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

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
    /* Ends lie one step behind; inputs have their step 0 in an empty schedule too. */
    TRY(memory_alloc(r->schedule->n + 2, sizeof *change, &change));
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
    TRY_GOTO(memory_alloc(problem->n_ids, sizeof *r.expected, &r.expected));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *r.left_by, &r.left_by));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *r.final, &r.final));
    TRY_GOTO(walk_base_order(&r));
    TRY_GOTO(walk(&r, measure));
    find_in_place(&r);
    TRY_GOTO(find_peak(&r, measure));
done:
    free(r.life_of);
    free(r.executed);
    free(r.expected);
    free(r.left_by);
    free(r.final);
    plan_lives_free(&own);
    return error;
}
