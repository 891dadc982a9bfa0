/* Blocks: what stands between cuts, which values they hand to each other, and which are fixed.
 *
 * Everything that a value can be to the chain follows from three numbers: the block that makes it
 * and the deepest and the lowest that need it. Kept at a cut is what is made before and needed
 * behind. What the backward of an earlier block reads lingers from the backward of the block that
 * makes it to there. Fixed is what cannot be made again: inputs, and outputs of ops that run
 * once. */
#include <string.h>

#include "plan/chain.h"

static bool forward_value(const struct chain *chain, uint32_t v) {
    const struct plan_value *value = &chain->problem->values[v];
    return !value->persistent && (value->input || value->producer < chain->border);
}

static void assign_ops(struct chain *chain, const bool *cut) {
    uint32_t block = 0;
    for (uint32_t o = 0; o < chain->border; o++) {
        block += cut[o];
        chain->block_of[o] = block;
        if (o == 0 || cut[o])
            chain->blocks[block].first = o;
        chain->blocks[block].end = o + 1;
    }
    uint32_t o = chain->border;
    for (uint32_t k = chain->n_blocks; k-- > 0;) {
        chain->blocks[k].back_first = o;
        for (; o < chain->problem->n_ops && chain->level[o] >= chain->blocks[k].first; o++)
            chain->block_of[o] = k;
        chain->blocks[k].back_end = o;
    }
}

/* An op may not run again behind an op that updates what it touches: not in forward, nor in the
 * backward of a later block. */
static neap_error *find_again(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    uint32_t *spoiled_from; /* by persistent value: 1 + the last op that rules out earlier ones */
    TRY(pool_alloc(&chain->pool, p->n_values, sizeof *spoiled_from, &spoiled_from));
    for (uint32_t o = 0; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].updates.n; i++) {
            uint32_t *from = &spoiled_from[p->ids[p->ops[o].updates.first + i]];
            uint32_t until = o < chain->border ? o : chain->blocks[chain->block_of[o]].first;
            *from = *from > until ? *from : until;
        }
    for (uint32_t o = 0; o < chain->border; o++) {
        const struct plan_op *op = &p->ops[o];
        chain->again[o] = !plan_op_once(op);
        for (uint32_t i = 0; i < op->inputs.n; i++)
            chain->again[o] = chain->again[o] && o >= spoiled_from[p->ids[op->inputs.first + i]];
        for (uint32_t i = 0; i < op->outputs.n; i++)
            chain->again[o] = chain->again[o] && o >= spoiled_from[p->ids[op->outputs.first + i]];
    }
    return NULL;
}

/* The last op of the backward for which op o might run again; by forward op. */
static void find_last_needs(const struct chain *chain, uint32_t *last_need) {
    const struct plan_problem *p = chain->problem;
    for (uint32_t o = chain->border; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t producer = p->values[p->ids[p->ops[o].inputs.first + i]].producer;
            if (producer < chain->border)
                last_need[producer] = o;
        }
    for (uint32_t o = chain->border; o-- > 0;)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t producer = p->values[p->ids[p->ops[o].inputs.first + i]].producer;
            if (producer != PLAN_NONE && last_need[producer] < last_need[o])
                last_need[producer] = last_need[o];
        }
}

static neap_error *find_spoils(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    uint32_t *last_need, *needed_until; /* by forward op; by persistent value */
    TRY(pool_alloc(&chain->pool, p->n_ops, sizeof *last_need, &last_need));
    TRY(pool_alloc(&chain->pool, p->n_values, sizeof *needed_until, &needed_until));
    find_last_needs(chain, last_need);
    uint32_t last = 0;
    for (uint32_t o = 0; o < chain->border; o++) {
        const struct plan_op *op = &p->ops[o];
        last = last_need[o] > last ? last_need[o] : last;
        for (uint32_t i = 0; i < op->inputs.n + op->outputs.n; i++) {
            uint32_t v = p->ids[i < op->inputs.n ? op->inputs.first + i
                                                 : op->outputs.first + i - op->inputs.n];
            if (needed_until[v] < last_need[o])
                needed_until[v] = last_need[o];
        }
    }
    for (uint32_t o = chain->border; o < p->n_ops; o++) {
        chain->spoils[o] = p->ops[o].update_part && last > o;
        for (uint32_t i = 0; i < p->ops[o].updates.n; i++)
            if (needed_until[p->ids[p->ops[o].updates.first + i]] > o)
                chain->spoils[o] = true;
    }
    return NULL;
}

static void read_by(struct chain *chain, uint32_t v, uint32_t o) {
    uint32_t k = chain->block_of[o];
    bool late = o >= chain->border || chain->again[o];
    chain->deepest[v] = k > chain->deepest[v] ? k : chain->deepest[v];
    chain->lowest[v] = late && k < chain->lowest[v] ? k : chain->lowest[v];
}

static void sort_values(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    for (uint32_t v = 0; v < p->n_values; v++) {
        uint32_t producer = p->values[v].producer;
        chain->made[v] = producer == PLAN_NONE ? 0 : chain->block_of[producer];
        chain->deepest[v] = forward_value(chain, v) ? chain->made[v] : 0;
        chain->lowest[v] = PLAN_NONE;
    }
    for (uint32_t o = 0; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            read_by(chain, p->ids[p->ops[o].inputs.first + i], o);
    for (uint32_t v = 0; v < p->n_values; v++) {
        uint32_t producer = p->values[v].producer;
        chain->fixed[v] =
            forward_value(chain, v) && (producer == PLAN_NONE || !chain->again[producer]);
    }
}

/* Made in forward, and made again when needed. */
static bool moving(const struct chain *chain, uint32_t v) {
    return forward_value(chain, v) && !chain->fixed[v];
}

/* Calls for every value and block that keeps it at its entry, or at whose backward it arrives. */
static void each_crossing(struct chain *chain,
                          void (*visit)(struct chain *chain, uint32_t v, uint32_t block)) {
    const struct plan_problem *p = chain->problem;
    for (uint32_t v = 0; v < p->n_values; v++) {
        if (p->values[v].persistent || chain->fixed[v])
            continue;
        for (uint32_t k = chain->made[v] + 1; k <= chain->deepest[v]; k++)
            visit(chain, v, k);
        for (uint32_t k = chain->lowest[v]; k < chain->made[v]; k++)
            visit(chain, v, k);
    }
}

static void count_crossing(struct chain *chain, uint32_t v, uint32_t k) {
    struct chain_block *block = &chain->blocks[k];
    if (k > chain->made[v]) {
        block->n_entry++;
        return;
    }
    block->n_arriving++;
    block->arriving_bytes += chain->problem->values[v].bytes;
}

static void list_crossing(struct chain *chain, uint32_t v, uint32_t k) {
    struct chain_block *block = &chain->blocks[k];
    if (k > chain->made[v])
        block->entry[block->n_entry++] = v;
    else
        block->arriving[block->n_arriving++] = v;
}

static neap_error *list_crossings(struct chain *chain) {
    each_crossing(chain, count_crossing);
    for (uint32_t k = 0; k < chain->n_blocks; k++) {
        struct chain_block *block = &chain->blocks[k];
        TRY(pool_alloc(&chain->pool, block->n_entry, sizeof *block->entry, &block->entry));
        TRY(pool_alloc(&chain->pool, block->n_arriving, sizeof *block->arriving, &block->arriving));
        block->n_entry = block->n_arriving = 0;
    }
    each_crossing(chain, list_crossing);
    return NULL;
}

static void count_fixed(struct chain *chain) {
    uint32_t n = chain->n_blocks;
    for (uint32_t v = 0; v < chain->problem->n_values; v++) {
        int64_t bytes = chain->problem->values[v].bytes;
        if (!chain->fixed[v])
            continue;
        uint32_t end = chain->lowest[v] == PLAN_NONE ? chain->deepest[v] + 1 : n;
        for (uint32_t k = chain->made[v]; k < end; k++)
            chain->blocks[k].fixed_first_bytes += bytes;
        for (uint32_t k = chain->lowest[v]; k < n; k++)
            chain->blocks[k].fixed_again_bytes += bytes;
    }
}

static void count_between(struct chain *chain) {
    uint32_t n = chain->n_blocks;
    for (uint32_t v = 0; v < chain->problem->n_values; v++)
        for (uint32_t e = chain->made[v] + 1; moving(chain, v) && e <= chain->deepest[v]; e++)
            chain->between[chain->made[v] * n + e] += chain->problem->values[v].bytes;
    for (uint32_t e = 0; e < n; e++)
        for (uint32_t s = n - 1; s-- > 0;)
            chain->between[s * n + e] += chain->between[(s + 1) * n + e];
}

neap_error *chain_find_blocks(struct chain *chain, const bool *cut, uint32_t n_blocks) {
    const struct plan_problem *p = chain->problem;
    struct pool *pool = &chain->pool;
    chain->n_blocks = n_blocks;
    TRY(pool_alloc(pool, n_blocks, sizeof *chain->blocks, &chain->blocks));
    TRY(pool_alloc(pool, p->n_ops, sizeof *chain->block_of, &chain->block_of));
    TRY(pool_alloc(pool, p->n_ops, sizeof *chain->again, &chain->again));
    TRY(pool_alloc(pool, p->n_ops, sizeof *chain->spoils, &chain->spoils));
    TRY(pool_alloc(pool, p->n_values, sizeof *chain->fixed, &chain->fixed));
    TRY(pool_alloc(pool, p->n_values, sizeof *chain->made, &chain->made));
    TRY(pool_alloc(pool, p->n_values, sizeof *chain->deepest, &chain->deepest));
    TRY(pool_alloc(pool, p->n_values, sizeof *chain->lowest, &chain->lowest));
    TRY(pool_alloc(pool, (size_t)n_blocks * n_blocks, sizeof *chain->between, &chain->between));
    assign_ops(chain, cut);
    TRY(find_again(chain));
    TRY(find_spoils(chain));
    sort_values(chain);
    TRY(list_crossings(chain));
    count_fixed(chain);
    count_between(chain);
    return NULL;
}
