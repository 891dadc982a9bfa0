/* The ops that a group of blocks runs, in the three ways that it can, and their peak. O(ops ×
 * degree).
 *
 * A forward run makes what is asked of it, out of the group's entry: the first with all ops,
 * another with those it takes. A backward makes what it lacks just before its first use and keeps
 * it to its last; but before weights change it makes all that it will still need of them. */
#include <stdlib.h>

#include "plan/chain.h"

neap_error *chain_walk_open(const struct chain *chain, struct chain_walk *walk) {
    uint32_t n = chain->problem->n_values;
    *walk = (struct chain_walk){.chain = chain};
    TRY(memory_alloc(n, sizeof *walk->live, &walk->live));
    TRY(memory_alloc(n, sizeof *walk->read, &walk->read));
    TRY(memory_alloc(n, sizeof *walk->kept, &walk->kept));
    TRY(memory_alloc(n, sizeof *walk->spoken, &walk->spoken));
    return memory_alloc(n, sizeof *walk->last, &walk->last);
}

void chain_walk_close(struct chain_walk *walk) {
    free(walk->live);
    free(walk->read);
    free(walk->kept);
    free(walk->spoken);
    free(walk->last);
    plan_schedule_free(&walk->ops);
}

bool chain_makes(const struct chain *chain, const struct chain_group *group, uint32_t v) {
    const struct plan_value *value = &chain->problem->values[v];
    return !value->persistent && !chain->fixed[v] && value->producer < chain->border &&
           chain->made[v] >= group->first && chain->made[v] <= group->last;
}

/* What is needed behind the group, with what comes from before it; *n of them. */
static const uint32_t *values_behind(const struct chain *chain, const struct chain_group *group,
                                     uint32_t *n) {
    bool none = group->last + 1 == chain->n_blocks;
    *n = none ? 0 : chain->blocks[group->last + 1].n_entry;
    return none ? NULL : chain->blocks[group->last + 1].entry;
}

/* Marks what the run is to make, or finds there. */
static void mark_kept(const struct chain_walk *walk, const struct chain_run *run, uint32_t *marks) {
    uint32_t n;
    const uint32_t *behind = values_behind(walk->chain, run->group, &n);
    for (uint32_t i = 0; i < run->n_kept; i++)
        marks[run->group->keepable[i]] = walk->mark;
    for (uint32_t i = 0; i < n; i++)
        if (walk->chain->made[behind[i]] >= run->exit_from)
            marks[behind[i]] = walk->mark;
}

/* ---- which ops ------------------------------------------------------------------------------ */

static neap_error *run_op(struct chain_walk *walk, uint32_t o) {
    const struct plan_problem *p = walk->chain->problem;
    for (uint32_t i = 0; i < p->ops[o].outputs.n; i++)
        walk->live[p->ids[p->ops[o].outputs.first + i]] = walk->mark;
    if (o < walk->chain->border)
        walk->seconds += p->ops[o].seconds;
    return plan_schedule_push(&walk->ops, o);
}

/* A group's ops are those between two: forward from the first block's to the last's, backward the
 * other way round. */
static const struct chain_block *first_block(const struct chain_walk *walk,
                                             const struct chain_group *group) {
    return &walk->chain->blocks[group->first];
}

static const struct chain_block *last_block(const struct chain_walk *walk,
                                            const struct chain_group *group) {
    return &walk->chain->blocks[group->last];
}

static neap_error *run_first(struct chain_walk *walk, const struct chain_group *group) {
    for (uint32_t o = first_block(walk, group)->first; o < last_block(walk, group)->end; o++)
        TRY(run_op(walk, o));
    return NULL;
}

static bool makes_wanted(const struct chain_walk *walk, uint32_t o) {
    const struct plan_problem *p = walk->chain->problem;
    for (uint32_t i = 0; i < p->ops[o].outputs.n && walk->chain->again[o]; i++) {
        uint32_t v = p->ids[p->ops[o].outputs.first + i];
        if (walk->kept[v] == walk->mark && !walk->chain->fixed[v])
            return true;
    }
    return false;
}

static neap_error *run_again(struct chain_walk *walk, const struct chain_run *run) {
    const struct plan_problem *p = walk->chain->problem;
    uint32_t first = first_block(walk, run->group)->first, end = last_block(walk, run->group)->end;
    mark_kept(walk, run, walk->kept);
    for (uint32_t o = end; o-- > first;)
        for (uint32_t i = 0; makes_wanted(walk, o) && i < p->ops[o].inputs.n; i++)
            walk->kept[p->ids[p->ops[o].inputs.first + i]] = walk->mark;
    for (uint32_t o = first; o < end; o++)
        if (makes_wanted(walk, o))
            TRY(run_op(walk, o));
    return NULL;
}

static neap_error *make_inputs(struct chain_walk *walk, uint32_t o,
                               const struct chain_group *group);

/* Makes v live, if it is of the group's own forward. */
static neap_error *make_value(struct chain_walk *walk, uint32_t v,
                              const struct chain_group *group) {
    uint32_t producer = walk->chain->problem->values[v].producer;
    if (walk->live[v] == walk->mark || !chain_makes(walk->chain, group, v))
        return NULL;
    TRY(make_inputs(walk, producer, group));
    return run_op(walk, producer);
}

static neap_error *make_inputs(struct chain_walk *walk, uint32_t o,
                               const struct chain_group *group) {
    const struct plan_problem *p = walk->chain->problem;
    for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
        TRY(make_value(walk, p->ids[p->ops[o].inputs.first + i], group));
    return NULL;
}

/* Makes what backward ops from op o on read, and what lingers. */
static neap_error *make_rest(struct chain_walk *walk, uint32_t o, const struct chain_group *group) {
    const struct plan_problem *p = walk->chain->problem;
    for (; o < first_block(walk, group)->back_end; o++)
        TRY(make_inputs(walk, o, group));
    for (o = first_block(walk, group)->first; o < last_block(walk, group)->end; o++)
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].outputs.first + i];
            if (walk->chain->lowest[v] < group->first)
                TRY(make_value(walk, v, group));
        }
    return NULL;
}

static neap_error *run_back(struct chain_walk *walk, const struct chain_run *run) {
    const struct chain_group *group = run->group;
    uint32_t end = first_block(walk, group)->back_end;
    mark_kept(walk, run, walk->live);
    for (uint32_t o = last_block(walk, group)->back_first; o < end; o++) {
        if (walk->chain->spoils[o])
            TRY(make_rest(walk, o, group));
        TRY(make_inputs(walk, o, group));
        TRY(run_op(walk, o));
    }
    return make_rest(walk, end, group);
}

neap_error *chain_walk_run(struct chain_walk *walk, const struct chain_run *run) {
    walk->mark++;
    walk->ops.n = 0;
    walk->seconds = 0;
    if (run->kind == CHAIN_FIRST)
        return run_first(walk, run->group);
    return run->kind == CHAIN_AGAIN ? run_again(walk, run) : run_back(walk, run);
}

/* ---- their peak ----------------------------------------------------------------------------- */

struct tally {
    struct chain_walk *walk;
    const struct chain_run *run;
    uint32_t held;
    int64_t live_bytes, peak_bytes;
};

static bool counts(const struct tally *t, uint32_t v) {
    const struct chain *chain = t->walk->chain;
    const struct plan_value *value = &chain->problem->values[v];
    return !value->persistent && !chain->fixed[v] &&
           (value->producer >= chain->border || chain->made[v] >= t->held);
}

/* Does the value outlive the run? */
static bool survives(const struct tally *t, uint32_t v) {
    const struct chain *chain = t->walk->chain;
    if (t->run->kind == CHAIN_BACK)
        return chain->lowest[v] < t->run->group->first;
    return t->walk->kept[v] == t->walk->mark ||
           (chain->made[v] < t->run->group->first && chain->deepest[v] > t->run->group->last);
}

static bool dies(const struct tally *t, uint32_t v, uint32_t step) {
    return (t->walk->read[v] != t->walk->mark || t->walk->last[v] <= step) && !survives(t, v);
}

static void enter(struct tally *t, uint32_t v) {
    struct chain_walk *walk = t->walk;
    if (!counts(t, v) || walk->live[v] == walk->mark)
        return;
    walk->live[v] = walk->mark;
    t->live_bytes += walk->chain->problem->values[v].bytes;
}

static void enter_read(struct tally *t, const uint32_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (t->walk->read[values[i]] == t->walk->mark || survives(t, values[i]))
            enter(t, values[i]);
}

/* What is live before the run, if the run reads it or hands it on. */
static void enter_all(struct tally *t) {
    const struct chain *chain = t->walk->chain;
    const struct chain_group *group = t->run->group;
    const struct chain_block *first = first_block(t->walk, group);
    const struct chain_block *last = last_block(t->walk, group);
    if (t->run->kind != CHAIN_BACK) {
        enter_read(t, first->entry, first->n_entry);
        return;
    }
    enter_read(t, last->arriving, last->n_arriving);
    enter_read(t, group->keepable, t->run->n_kept);
    uint32_t n;
    const uint32_t *behind = values_behind(chain, group, &n);
    for (uint32_t i = 0; i < n; i++)
        if (chain->made[behind[i]] >= group->first && chain->made[behind[i]] >= t->run->exit_from)
            enter_read(t, &behind[i], 1);
}

/* Bytes of outputs that take the place of inputs at this step. */
static int64_t shared_bytes(const struct tally *t, const struct plan_op *op, uint32_t step) {
    const struct plan_problem *p = t->walk->chain->problem;
    struct chain_walk *walk = t->walk;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        uint32_t from = p->overwrites[op->first_overwrite + i].input;
        uint32_t to = p->overwrites[op->first_overwrite + i].output;
        if (!counts(t, from) || !counts(t, to) || !dies(t, from, step) ||
            walk->spoken[from] == walk->mark || walk->spoken[to] == walk->mark ||
            walk->live[to] == walk->mark || p->values[to].bytes > p->values[from].bytes)
            continue;
        walk->spoken[from] = walk->spoken[to] = walk->mark;
        bytes += p->values[to].bytes;
    }
    return bytes;
}

static void step_through(struct tally *t, uint32_t o, uint32_t step) {
    const struct plan_problem *p = t->walk->chain->problem;
    struct chain_walk *walk = t->walk;
    const struct plan_op *op = &p->ops[o];
    int64_t shared = shared_bytes(t, op, step);
    for (uint32_t i = 0; i < op->outputs.n; i++)
        enter(t, p->ids[op->outputs.first + i]);
    if (t->live_bytes - shared > t->peak_bytes)
        t->peak_bytes = t->live_bytes - shared;
    for (uint32_t i = 0; i < op->inputs.n + op->outputs.n; i++) {
        bool input = i < op->inputs.n;
        uint32_t v = p->ids[input ? op->inputs.first + i : op->outputs.first + i - op->inputs.n];
        if (walk->live[v] != walk->mark || !dies(t, v, step))
            continue;
        walk->live[v] = 0;
        t->live_bytes -= p->values[v].bytes;
    }
}

int64_t chain_walk_peak(struct chain_walk *walk, const struct chain_run *run, uint32_t held) {
    const struct plan_problem *p = walk->chain->problem;
    struct tally t = {.walk = walk, .run = run, .held = held};
    walk->mark++;
    mark_kept(walk, run, walk->kept);
    for (uint32_t step = 0; step < walk->ops.n; step++) {
        const struct plan_op *op = &p->ops[walk->ops.ops[step]];
        for (uint32_t i = 0; i < op->inputs.n; i++) {
            walk->read[p->ids[op->inputs.first + i]] = walk->mark;
            walk->last[p->ids[op->inputs.first + i]] = step;
        }
    }
    enter_all(&t);
    t.peak_bytes = t.live_bytes;
    for (uint32_t step = 0; step < walk->ops.n; step++)
        step_through(&t, walk->ops.ops[step], step);
    return t.peak_bytes;
}
