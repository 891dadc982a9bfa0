/* The ops that one block runs, in the three ways that it can, and their peak. O(ops × degree).
 *
 * A forward run makes what is asked of it, out of the block's entry: the first with all ops,
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
    TRY(memory_alloc(n, sizeof *walk->touched, &walk->touched));
    return memory_alloc(n, sizeof *walk->last, &walk->last);
}

void chain_walk_close(struct chain_walk *walk) {
    free(walk->live);
    free(walk->read);
    free(walk->kept);
    free(walk->spoken);
    free(walk->touched);
    free(walk->last);
    plan_schedule_free(&walk->ops);
}

bool chain_makes(const struct chain *chain, uint32_t block, uint32_t v) {
    const struct plan_value *value = &chain->problem->values[v];
    return !value->persistent && !chain->fixed[v] && value->producer < chain->border &&
           chain->made[v] == block;
}

/* Marks what the run is to make, or finds there. */
static void mark_kept(const struct chain_walk *walk, const struct chain_run *run, uint32_t *marks) {
    const struct chain *chain = walk->chain;
    const struct chain_block *block = &chain->blocks[run->block];
    for (uint32_t i = 0; i < run->n_kept; i++)
        marks[block->keepable[i]] = walk->mark;
    if (!run->exit || run->block + 1 == chain->n_blocks)
        return;
    for (uint32_t i = 0; i < block[1].n_entry; i++)
        if (chain->made[block[1].entry[i]] == run->block)
            marks[block[1].entry[i]] = walk->mark;
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

static neap_error *run_first(struct chain_walk *walk, const struct chain_block *block) {
    for (uint32_t o = block->first; o < block->end; o++)
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
    const struct chain_block *block = &walk->chain->blocks[run->block];
    mark_kept(walk, run, walk->kept);
    for (uint32_t o = block->end; o-- > block->first;)
        for (uint32_t i = 0; makes_wanted(walk, o) && i < p->ops[o].inputs.n; i++)
            walk->kept[p->ids[p->ops[o].inputs.first + i]] = walk->mark;
    for (uint32_t o = block->first; o < block->end; o++)
        if (makes_wanted(walk, o))
            TRY(run_op(walk, o));
    return NULL;
}

static neap_error *make_inputs(struct chain_walk *walk, uint32_t o, uint32_t block);

/* Makes v live, if it is of the block's own forward. */
static neap_error *make_value(struct chain_walk *walk, uint32_t v, uint32_t block) {
    uint32_t producer = walk->chain->problem->values[v].producer;
    if (walk->live[v] == walk->mark || !chain_makes(walk->chain, block, v))
        return NULL;
    TRY(make_inputs(walk, producer, block));
    return run_op(walk, producer);
}

static neap_error *make_inputs(struct chain_walk *walk, uint32_t o, uint32_t block) {
    const struct plan_problem *p = walk->chain->problem;
    for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
        TRY(make_value(walk, p->ids[p->ops[o].inputs.first + i], block));
    return NULL;
}

/* Makes what backward ops from op o on read, and what lingers. */
static neap_error *make_rest(struct chain_walk *walk, uint32_t o, uint32_t k) {
    const struct plan_problem *p = walk->chain->problem;
    const struct chain_block *block = &walk->chain->blocks[k];
    for (; o < block->back_end; o++)
        TRY(make_inputs(walk, o, k));
    for (o = block->first; o < block->end; o++)
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].outputs.first + i];
            if (walk->chain->lowest[v] < k)
                TRY(make_value(walk, v, k));
        }
    return NULL;
}

/* Does op o change what the block's forward touches, or end all forward? */
static bool ends_forward(const struct chain_walk *walk, uint32_t o) {
    const struct plan_problem *p = walk->chain->problem;
    bool ends = p->ops[o].update_part;
    for (uint32_t i = 0; i < p->ops[o].updates.n; i++)
        ends = ends || walk->touched[p->ids[p->ops[o].updates.first + i]] == walk->mark;
    return ends;
}

static neap_error *run_back(struct chain_walk *walk, const struct chain_run *run) {
    const struct plan_problem *p = walk->chain->problem;
    const struct chain_block *block = &walk->chain->blocks[run->block];
    mark_kept(walk, run, walk->live);
    for (uint32_t o = block->first; o < block->end; o++) {
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            walk->touched[p->ids[p->ops[o].inputs.first + i]] = walk->mark;
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++)
            walk->touched[p->ids[p->ops[o].outputs.first + i]] = walk->mark;
    }
    for (uint32_t o = block->back_first; o < block->back_end; o++) {
        if (ends_forward(walk, o))
            TRY(make_rest(walk, o, run->block));
        TRY(make_inputs(walk, o, run->block));
        TRY(run_op(walk, o));
    }
    return make_rest(walk, block->back_end, run->block);
}

neap_error *chain_walk_run(struct chain_walk *walk, const struct chain_run *run) {
    walk->mark++;
    walk->ops.n = 0;
    walk->seconds = 0;
    if (run->kind == CHAIN_FIRST)
        return run_first(walk, &walk->chain->blocks[run->block]);
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
        return chain->lowest[v] < t->run->block;
    return t->walk->kept[v] == t->walk->mark ||
           (chain->made[v] < t->run->block && chain->deepest[v] > t->run->block);
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

/* What is live before the run, if the run reads it or hands it on. */
static void enter_all(struct tally *t) {
    struct chain_walk *walk = t->walk;
    const struct chain *chain = walk->chain;
    const struct chain_block *block = &chain->blocks[t->run->block];
    bool back = t->run->kind == CHAIN_BACK;
    const uint32_t *there = back ? block->arriving : block->entry;
    for (uint32_t i = 0; i < (back ? block->n_arriving : block->n_entry); i++)
        if (walk->read[there[i]] == walk->mark || survives(t, there[i]))
            enter(t, there[i]);
    for (uint32_t i = 0; back && i < t->run->n_kept; i++)
        if (walk->read[block->keepable[i]] == walk->mark || survives(t, block->keepable[i]))
            enter(t, block->keepable[i]);
    if (!back || !t->run->exit || t->run->block + 1 == chain->n_blocks)
        return;
    for (uint32_t i = 0; i < block[1].n_entry; i++) {
        uint32_t v = block[1].entry[i];
        if (chain->made[v] == t->run->block && (walk->read[v] == walk->mark || survives(t, v)))
            enter(t, v);
    }
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
