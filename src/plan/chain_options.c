/* Options: what each block can keep for its backward, and what everything in the chain costs.
 *
 * A block's keepable values are ordered once: of those still kept, the one goes whose bytes cost
 * the fewest seconds to make again, given what went before. What is kept is then a beginning of
 * that order, between all and nothing, in at most MOST_OPTIONS steps. Each option, and each pass
 * over a block while an earlier entry is kept, is run through exactly. O(blocks × ops) for passes,
 * O(keepable²) runs of each block for the order. */
#include <math.h>
#include <stdlib.h>

#include "plan/chain.h"

enum { MOST_OPTIONS = 600 }; /* of all blocks together, but 8 of each are always found */

/* ---- the order of what can be kept ---------------------------------------------------------- */

/* Values of the block that its backward reads or leaves behind. */
static neap_error *find_keepable(struct chain *chain, uint32_t k, struct chain_walk *walk) {
    const struct plan_problem *p = chain->problem;
    struct chain_block *block = &chain->blocks[k];
    uint32_t n_made = 0;
    walk->mark++;
    for (uint32_t o = block->back_first; o < block->back_end; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            walk->read[p->ids[p->ops[o].inputs.first + i]] = walk->mark;
    for (uint32_t o = block->first; o < block->end; o++)
        n_made += p->ops[o].outputs.n;
    TRY(pool_alloc(&chain->pool, n_made, sizeof *block->keepable, &block->keepable));
    for (uint32_t o = block->first; o < block->end; o++)
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].outputs.first + i];
            if (!chain_makes(chain, k, v) || (walk->read[v] != walk->mark && chain->lowest[v] >= k))
                continue;
            if (chain->deepest[v] > k)
                block->exit_bytes += p->values[v].bytes;
            else
                block->keepable[block->n_keepable++] = v;
        }
    return NULL;
}

/* What losing a value would cost, in bytes for each second. */
struct loss {
    double score;
    uint32_t round; /* when it was found: what is lost later makes it cost more */
};

/* Seconds of the backward when the first n_kept keepable values and the exit are there. */
static neap_error *back_seconds(struct chain_walk *walk, uint32_t k, uint32_t n_kept,
                                double *seconds) {
    struct chain_run run = {.block = k, .kind = CHAIN_BACK, .n_kept = n_kept, .exit = true};
    TRY(chain_walk_run(walk, &run));
    *seconds = walk->seconds;
    return NULL;
}

static void swap_to_end(uint32_t *keepable, struct loss *losses, uint32_t i, uint32_t n) {
    uint32_t value = keepable[i];
    struct loss loss = losses[i];
    keepable[i] = keepable[n - 1];
    losses[i] = losses[n - 1];
    keepable[n - 1] = value;
    losses[n - 1] = loss;
}

/* Moves the value that is cheapest to lose to the end of the first n. Costs only grow, so the best
 * of old scores need be found anew alone. */
static neap_error *lose_one(const struct chain *chain, struct chain_walk *walk, uint32_t k,
                            struct loss *losses, uint32_t n) {
    uint32_t *keepable = chain->blocks[k].keepable;
    double now, without;
    TRY(back_seconds(walk, k, n, &now));
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n; i++)
            if (losses[i].score > losses[best].score)
                best = i;
        swap_to_end(keepable, losses, best, n);
        if (losses[n - 1].round == n)
            return NULL;
        TRY(back_seconds(walk, k, n - 1, &without));
        losses[n - 1].score =
            (double)chain->problem->values[keepable[n - 1]].bytes / (without - now + 1e-12);
        losses[n - 1].round = n;
    }
}

static neap_error *order_keepable(const struct chain *chain, struct chain_walk *walk, uint32_t k) {
    uint32_t n = chain->blocks[k].n_keepable;
    struct loss *losses;
    TRY(memory_alloc(n, sizeof *losses, &losses));
    for (uint32_t i = 0; i < n; i++)
        losses[i].score = INFINITY;
    neap_error *error = NULL;
    for (; n > 1 && !error; n--)
        error = lose_one(chain, walk, k, losses, n);
    free(losses);
    return error;
}

/* ---- what they cost ------------------------------------------------------------------------- */

static neap_error *measure(struct chain_walk *walk, struct chain_run run, int64_t *peak_bytes,
                           double *seconds) {
    TRY(chain_walk_run(walk, &run));
    *peak_bytes = chain_walk_peak(walk, &run, run.block);
    *seconds = walk->seconds;
    return NULL;
}

static neap_error *measure_option(const struct chain *chain, struct chain_walk *walk, uint32_t k,
                                  struct chain_option *option) {
    const struct chain_block *block = &chain->blocks[k];
    struct chain_run run = {.block = k, .n_kept = option->n_kept, .exit = true};
    double none;
    run.kind = CHAIN_FIRST;
    TRY(measure(walk, run, &option->first_bytes, &none));
    run.kind = CHAIN_AGAIN;
    TRY(measure(walk, run, &option->again_bytes, &option->again_seconds));
    run.kind = CHAIN_BACK;
    TRY(measure(walk, run, &option->back_bytes, &option->back_seconds));
    run.exit = false;
    TRY(measure(walk, run, &option->turn_bytes, &option->turn_seconds));
    run.kind = CHAIN_AGAIN;
    int64_t forward_bytes;
    double forward_seconds;
    TRY(measure(walk, run, &forward_bytes, &forward_seconds));
    forward_bytes += block->arriving_bytes;
    option->turn_seconds += forward_seconds;
    option->turn_bytes = option->turn_bytes > forward_bytes ? option->turn_bytes : forward_bytes;
    option->held_bytes = k + 1 < chain->n_blocks ? chain->between[k * chain->n_blocks + k + 1] : 0;
    for (uint32_t i = 0; i < option->n_kept; i++)
        option->held_bytes += chain->problem->values[block->keepable[i]].bytes;
    return NULL;
}

static neap_error *measure_options(struct chain *chain, struct chain_walk *walk, uint32_t k) {
    struct chain_block *block = &chain->blocks[k];
    uint32_t n = block->n_keepable, steps = MOST_OPTIONS / chain->n_blocks;
    steps = steps < 7 ? 7 : steps;
    steps = steps < n ? steps : n;
    TRY(pool_alloc(&chain->pool, steps + 1, sizeof *block->options, &block->options));
    block->n_options = steps + 1;
    for (uint32_t i = 0; i <= steps; i++) {
        block->options[i].n_kept = steps ? (uint32_t)((uint64_t)n * i / steps) : 0;
        TRY(measure_option(chain, walk, k, &block->options[i]));
    }
    return NULL;
}

static neap_error *measure_block(struct chain *chain, struct chain_walk *walk, uint32_t k) {
    struct chain_block *block = &chain->blocks[k];
    for (int exit = 0; exit < 2; exit++) {
        struct chain_run run = {.block = k, .kind = CHAIN_BACK, .exit = exit};
        TRY(measure(walk, run, &block->lazy_bytes[exit], &block->lazy_seconds[exit]));
        block->idle = exit ? block->idle : walk->ops.n == 0;
    }
    for (int later = 0; later < 2; later++) {
        struct chain_run run = {
            .block = k, .kind = later ? CHAIN_AGAIN : CHAIN_FIRST, .exit = true};
        TRY(chain_walk_run(walk, &run));
        for (uint32_t s = 0; s <= k; s++)
            chain->pass_bytes[later][s * chain->n_blocks + k] = chain_walk_peak(walk, &run, s);
        block->again_seconds = walk->seconds;
    }
    return NULL;
}

neap_error *chain_find_options(struct chain *chain) {
    size_t n = chain->n_blocks;
    struct chain_walk walk;
    for (int later = 0; later < 2; later++)
        TRY(pool_alloc(&chain->pool, n * n, sizeof *chain->pass_bytes[later],
                       &chain->pass_bytes[later]));
    neap_error *error = chain_walk_open(chain, &walk);
    for (uint32_t k = 0; k < n && !error; k++) {
        error = find_keepable(chain, k, &walk);
        if (!error)
            error = order_keepable(chain, &walk, k);
        if (!error)
            error = measure_options(chain, &walk, k);
        if (!error)
            error = measure_block(chain, &walk, k);
    }
    chain_walk_close(&walk);
    return error;
}
