/* order: beam search. A state is a set of ops that ran, with the peak on the way and the bytes that
 * are live; of two ways to the same set the better is kept. */
#include "plan/order.h"

#include <stdlib.h>
#include <string.h>

#include "plan/hazards.h"

enum { MOST_READY = 64 }; /* ops tried from one state */

/* A prefix of an order. */
struct state {
    int64_t peak, live;
    uint64_t hash;     /* of the set of ops that ran */
    uint32_t *waiting; /* by op: inputs and hazards that have not run yet */
    uint32_t *readers; /* by value: ops that will still read it */
    uint32_t trail;    /* its last step */
};

/* Steps of all prefixes, sharing their beginnings. */
struct step {
    uint32_t op, before;
};

struct child {
    int64_t peak, live;
    uint64_t hash;
    uint32_t state, op;
};

struct beam {
    const struct plan_problem *problem;
    struct hazards hazards;
    uint32_t *readers_of, *first_reader; /* by value: ops that read it */
    struct state *states, *next;
    uint32_t n_states, width;
    struct child *children;
    size_t n_children;
    struct step *steps;
    size_t n_steps, steps_capacity;
};

static uint64_t hash_of(uint32_t op) {
    uint64_t z = (op + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    return z ^ z >> 29;
}

static bool planned(const struct plan_problem *p, uint32_t v) {
    return !p->values[v].persistent;
}

/* The state's numbers if op o ran next. */
static struct child look_ahead(const struct beam *b, const struct state *s, uint32_t o) {
    const struct plan_problem *p = b->problem;
    const struct plan_op *op = &p->ops[o];
    struct child c = {.peak = s->peak, .live = s->live, .hash = s->hash ^ hash_of(o), .op = o};
    int64_t after = 0;
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        uint32_t v = p->ids[op->outputs.first + i];
        c.live += planned(p, v) ? p->values[v].bytes : 0;
        after += planned(p, v) && !s->readers[v] ? p->values[v].bytes : 0;
    }
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        uint32_t v = p->ids[op->inputs.first + i];
        after += planned(p, v) && s->readers[v] == 1 ? p->values[v].bytes : 0;
    }
    c.peak = c.live > c.peak ? c.live : c.peak;
    c.live -= after;
    return c;
}

static void run(const struct beam *b, struct state *s, uint32_t o) {
    const struct plan_problem *p = b->problem;
    const struct plan_op *op = &p->ops[o];
    for (uint32_t i = 0; i < op->inputs.n; i++)
        s->readers[p->ids[op->inputs.first + i]]--;
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        uint32_t v = p->ids[op->outputs.first + i];
        for (uint32_t r = b->first_reader[v]; r < b->first_reader[v + 1] && planned(p, v); r++)
            s->waiting[b->readers_of[r]]--;
    }
    const struct op_rows *after = &b->hazards.after;
    for (uint32_t i = after->first[o]; i < after->first[o + 1]; i++)
        s->waiting[after->ops[i]]--;
    s->waiting[o] = PLAN_NONE; /* never ready again */
}

static int by_promise(const void *a, const void *b) {
    const struct child *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak < y->peak ? -1 : 1;
    if (x->live != y->live)
        return x->live < y->live ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->state > y->state) - (x->state < y->state);
}

/* What can run next from each state; the update's part only when nothing else is left. */
static void find_children(struct beam *b, uint32_t n_micro, uint32_t depth) {
    const struct plan_problem *p = b->problem;
    b->n_children = 0;
    for (uint32_t i = 0; i < b->n_states; i++) {
        uint32_t tried = 0;
        for (uint32_t o = 0; o < p->n_ops && tried < MOST_READY; o++) {
            if (b->states[i].waiting[o] || (p->ops[o].update_part && depth < n_micro))
                continue;
            b->children[b->n_children] = look_ahead(b, &b->states[i], o);
            b->children[b->n_children++].state = i;
            tried++;
        }
    }
    qsort(b->children, b->n_children, sizeof *b->children, by_promise);
}

/* The best children that lead to different sets of ops become the states. */
static neap_error *advance(struct beam *b) {
    const struct plan_problem *p = b->problem;
    uint32_t n = 0;
    for (size_t c = 0; c < b->n_children && n < b->width; c++) {
        const struct child *child = &b->children[c];
        bool known = false;
        for (uint32_t i = 0; i < n && !known; i++)
            known = b->next[i].hash == child->hash;
        if (known)
            continue;
        struct state *to = &b->next[n++];
        const struct state *from = &b->states[child->state];
        memcpy(to->waiting, from->waiting, p->n_ops * sizeof *to->waiting);
        memcpy(to->readers, from->readers, p->n_values * sizeof *to->readers);
        to->peak = child->peak;
        to->live = child->live;
        to->hash = child->hash;
        TRY(memory_grow(&b->steps, &b->steps_capacity, b->n_steps + 1, sizeof *b->steps));
        b->steps[b->n_steps] = (struct step){child->op, from->trail};
        to->trail = (uint32_t)b->n_steps++;
        run(b, to, child->op);
    }
    struct state *swap = b->states;
    b->states = b->next;
    b->next = swap;
    b->n_states = n;
    return NULL;
}

static neap_error *index_readers(struct beam *b) {
    const struct plan_problem *p = b->problem;
    TRY(memory_alloc((size_t)p->n_values + 1, sizeof *b->first_reader, &b->first_reader));
    TRY(memory_alloc(p->n_ids, sizeof *b->readers_of, &b->readers_of));
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t o = p->n_ops; o-- > 0;)
            for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
                uint32_t v = p->ids[p->ops[o].inputs.first + i];
                if (fill)
                    b->readers_of[--b->first_reader[v]] = o;
                else
                    b->first_reader[v]++;
            }
        for (uint32_t v = 0; !fill && v < p->n_values; v++)
            b->first_reader[v + 1] += b->first_reader[v];
    }
    return NULL;
}

static void start(struct beam *b) {
    const struct plan_problem *p = b->problem;
    struct state *s = &b->states[0];
    const struct op_rows *before = &b->hazards.before;
    s->trail = PLAN_NONE;
    for (uint32_t v = 0; v < p->n_values; v++) {
        s->readers[v] = b->first_reader[v + 1] - b->first_reader[v];
        s->live += p->values[v].input ? p->values[v].bytes : 0;
    }
    for (uint32_t o = 0; o < p->n_ops; o++) {
        s->waiting[o] = before->first[o + 1] - before->first[o];
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            const struct plan_value *value = &p->values[p->ids[p->ops[o].inputs.first + i]];
            s->waiting[o] += !value->persistent && value->producer != PLAN_NONE;
        }
    }
    s->peak = s->live;
    b->n_states = 1;
}

static neap_error *make_states(struct beam *b, struct state **states) {
    TRY(memory_alloc(b->width, sizeof **states, states));
    for (uint32_t i = 0; i < b->width; i++) {
        TRY(memory_alloc(b->problem->n_ops, sizeof(uint32_t), &(*states)[i].waiting));
        TRY(memory_alloc(b->problem->n_values, sizeof(uint32_t), &(*states)[i].readers));
    }
    return NULL;
}

static void free_states(struct beam *b, struct state *states) {
    for (uint32_t i = 0; states && i < b->width; i++) {
        free(states[i].waiting);
        free(states[i].readers);
    }
    free(states);
}

static neap_error *search(struct beam *b, struct plan_schedule *schedule) {
    const struct plan_problem *p = b->problem;
    uint32_t n_micro = 0;
    for (uint32_t o = 0; o < p->n_ops; o++)
        n_micro += !p->ops[o].update_part;
    start(b);
    for (uint32_t depth = 0; depth < p->n_ops; depth++) {
        find_children(b, n_micro, depth);
        TRY(advance(b));
    }
    schedule->n = 0;
    for (uint32_t t = b->states[0].trail; t != PLAN_NONE; t = b->steps[t].before)
        TRY(plan_schedule_push(schedule, b->steps[t].op));
    for (size_t i = 0, j = schedule->n; i + 1 < j; i++) {
        uint32_t op = schedule->ops[i];
        schedule->ops[i] = schedule->ops[--j];
        schedule->ops[j] = op;
    }
    return NULL;
}

neap_error *plan_order_beam(const struct plan_problem *problem, uint32_t width,
                            struct plan_schedule *schedule) {
    struct beam b = {.problem = problem, .width = width};
    neap_error *error;
    TRY_GOTO(hazards_find(problem, &b.hazards));
    TRY_GOTO(index_readers(&b));
    TRY_GOTO(make_states(&b, &b.states));
    TRY_GOTO(make_states(&b, &b.next));
    TRY_GOTO(memory_alloc((size_t)width * MOST_READY, sizeof *b.children, &b.children));
    TRY_GOTO(search(&b, schedule));
done:
    hazards_free(&b.hazards);
    free(b.readers_of);
    free(b.first_reader);
    free_states(&b, b.states);
    free_states(&b, b.next);
    free(b.children);
    free(b.steps);
    return error;
}
