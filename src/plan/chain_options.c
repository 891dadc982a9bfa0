/* Options: what groups of blocks can keep for their backward, and what everything costs.
 *
 * A group's keepable values are ordered once: of those still kept, the one goes whose bytes cost
 * the fewest seconds to make again, given what went before. What is kept is then a beginning of
 * that order, between all and nothing. Each option, and each pass over a block while an earlier
 * entry is kept, is run through exactly.
 *
 * Groups of one block are always there; those of more, in rising sizes, while the work that their
 * order takes is within bounds. O(blocks × ops) for passes, O(keepable × ops) for a group. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/chain.h"

enum {
    MOST_STEPS = 16, /* options of a group, besides that of keeping nothing */
    MOST_GROUP_SIZES = 24,
    MOST_ORDER_WORK = 4 << 20 /* keepable values × ops, over all groups */
};

/* ---- the order of what can be kept ---------------------------------------------------------- */

/* Marks what the group's backward reads. */
static void mark_reads(struct chain_walk *walk, const struct chain_group *group) {
    const struct chain *chain = walk->chain;
    const struct plan_problem *p = chain->problem;
    walk->mark++;
    for (uint32_t o = chain->blocks[group->last].back_first;
         o < chain->blocks[group->first].back_end; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            walk->read[p->ids[p->ops[o].inputs.first + i]] = walk->mark;
}

/* Values of the group that its backward reads or leaves behind. */
static neap_error *find_keepable(struct chain *chain, struct chain_group *group,
                                 struct chain_walk *walk) {
    const struct plan_problem *p = chain->problem;
    struct plan_schedule found = {0}; /* any growable array of ids */
    neap_error *error = NULL;
    mark_reads(walk, group);
    for (uint32_t o = chain->blocks[group->first].first; o < chain->blocks[group->last].end; o++)
        for (uint32_t i = 0; i < p->ops[o].outputs.n && !error; i++) {
            uint32_t v = p->ids[p->ops[o].outputs.first + i];
            bool needed = walk->read[v] == walk->mark || chain->lowest[v] < group->first;
            if (!needed || !chain_makes(chain, group, v))
                continue;
            if (chain->deepest[v] <= group->last)
                error = plan_schedule_push(&found, v);
            else if (group->first == group->last)
                chain->blocks[group->first].exit_bytes += p->values[v].bytes;
        }
    if (!error)
        error = pool_alloc(&chain->pool, found.n, sizeof *group->keepable, &group->keepable);
    if (!error && found.n)
        memcpy(group->keepable, found.ops, found.n * sizeof *found.ops);
    group->n_keepable = error ? 0 : (uint32_t)found.n;
    plan_schedule_free(&found);
    return error;
}

/* What losing a value would cost, in bytes for each second. */
struct loss {
    double score;
    uint32_t round; /* when it was found: what is lost later makes it cost more */
};

/* Seconds of the backward when the first n_kept keepable values and the exit are there. */
static neap_error *back_seconds(struct chain_walk *walk, const struct chain_group *group,
                                uint32_t n_kept, double *seconds) {
    struct chain_run run = {
        .group = group, .kind = CHAIN_BACK, .n_kept = n_kept, .exit_from = group->first};
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
static neap_error *lose_one(struct chain_walk *walk, const struct chain_group *group,
                            struct loss *losses, uint32_t n) {
    uint32_t *keepable = group->keepable;
    double now, without;
    TRY(back_seconds(walk, group, n, &now));
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n; i++)
            if (losses[i].score > losses[best].score)
                best = i;
        swap_to_end(keepable, losses, best, n);
        if (losses[n - 1].round == n)
            return NULL;
        TRY(back_seconds(walk, group, n - 1, &without));
        losses[n - 1].score =
            (double)walk->chain->problem->values[keepable[n - 1]].bytes / (without - now + 1e-12);
        losses[n - 1].round = n;
    }
}

static neap_error *order_keepable(struct chain_walk *walk, const struct chain_group *group) {
    uint32_t n = group->n_keepable;
    struct loss *losses;
    TRY(memory_alloc(n, sizeof *losses, &losses));
    for (uint32_t i = 0; i < n; i++)
        losses[i].score = INFINITY;
    neap_error *error = NULL;
    for (; n > 1 && !error; n--)
        error = lose_one(walk, group, losses, n);
    free(losses);
    return error;
}

/* ---- what they cost ------------------------------------------------------------------------- */

static neap_error *measure(struct chain_walk *walk, struct chain_run run, int64_t *peak_bytes,
                           double *seconds) {
    TRY(chain_walk_run(walk, &run));
    *peak_bytes = chain_walk_peak(walk, &run, run.group->first);
    *seconds = walk->seconds;
    return NULL;
}

static neap_error *measure_option(const struct chain *chain, struct chain_walk *walk,
                                  const struct chain_group *group, struct chain_option *option) {
    uint32_t first = group->first, behind = group->last + 1;
    struct chain_run run = {.group = group, .n_kept = option->n_kept, .exit_from = first};
    double none;
    run.kind = CHAIN_FIRST;
    TRY(measure(walk, run, &option->first_bytes, &none));
    run.kind = CHAIN_AGAIN;
    TRY(measure(walk, run, &option->again_bytes, &option->again_seconds));
    run.kind = CHAIN_BACK;
    TRY(measure(walk, run, &option->back_bytes, &option->back_seconds));
    run.exit_from = PLAN_NONE;
    TRY(measure(walk, run, &option->turn_bytes, &option->turn_seconds));
    run.kind = CHAIN_AGAIN;
    int64_t forward_bytes;
    double forward_seconds;
    TRY(measure(walk, run, &forward_bytes, &forward_seconds));
    forward_bytes += chain->blocks[group->last].arriving_bytes;
    option->turn_seconds += forward_seconds;
    option->turn_bytes = option->turn_bytes > forward_bytes ? option->turn_bytes : forward_bytes;
    if (behind < chain->n_blocks)
        option->held_bytes = chain->between[first * chain->n_blocks + behind];
    for (uint32_t i = 0; i < option->n_kept; i++)
        option->held_bytes += chain->problem->values[group->keepable[i]].bytes;
    return NULL;
}

/* Nothing, all, and about evenly many bytes between. */
static neap_error *measure_options(struct chain *chain, struct chain_walk *walk,
                                   struct chain_group *group) {
    double bytes = 0, kept_bytes = 0;
    for (uint32_t i = 0; i < group->n_keepable; i++)
        bytes += (double)chain->problem->values[group->keepable[i]].bytes;
    TRY(pool_alloc(&chain->pool, MOST_STEPS + 2, sizeof *group->options, &group->options));
    for (uint32_t n = 0; n <= group->n_keepable; n++) {
        if (n > 0)
            kept_bytes += (double)chain->problem->values[group->keepable[n - 1]].bytes;
        if (n > 0 && n < group->n_keepable &&
            (group->n_options > MOST_STEPS || kept_bytes < bytes * group->n_options / MOST_STEPS))
            continue;
        struct chain_option *option = &group->options[group->n_options++];
        option->n_kept = n;
        TRY(measure_option(chain, walk, group, option));
    }
    return NULL;
}

static neap_error *measure_group(struct chain *chain, struct chain_walk *walk,
                                 struct chain_group *group) {
    TRY(order_keepable(walk, group));
    TRY(measure_options(chain, walk, group));
    for (int exit = 0; exit < 2; exit++) {
        struct chain_run run = {
            .group = group, .kind = CHAIN_BACK, .exit_from = exit ? group->last : PLAN_NONE};
        TRY(measure(walk, run, &group->lazy_bytes[exit], &group->lazy_seconds[exit]));
    }
    for (uint32_t k = group->first; k <= group->last; k++)
        if (chain->blocks[k].fixed_first_bytes > group->fixed_first_bytes)
            group->fixed_first_bytes = chain->blocks[k].fixed_first_bytes;
    return NULL;
}

static neap_error *measure_passes(struct chain *chain, struct chain_walk *walk, uint32_t k) {
    struct chain_block *block = &chain->blocks[k];
    struct chain_run run = {.group = block->groups, .kind = CHAIN_BACK, .exit_from = PLAN_NONE};
    TRY(chain_walk_run(walk, &run));
    block->idle = walk->ops.n == 0;
    run.exit_from = k;
    for (int later = 0; later < 2; later++) {
        run.kind = later ? CHAIN_AGAIN : CHAIN_FIRST;
        TRY(chain_walk_run(walk, &run));
        for (uint32_t s = 0; s <= k; s++)
            chain->pass_bytes[later][s * chain->n_blocks + k] = chain_walk_peak(walk, &run, s);
        block->again_seconds = walk->seconds;
    }
    return NULL;
}

/* ---- groups --------------------------------------------------------------------------------- */

static int64_t n_ops_of(const struct chain *chain, const struct chain_group *group) {
    const struct chain_block *first = &chain->blocks[group->first];
    const struct chain_block *last = &chain->blocks[group->last];
    return (int64_t)(last->end - first->first) + (first->back_end - last->back_first);
}

/* Adds the groups of `size` blocks, and the work of ordering what they can keep. */
static neap_error *add_groups(struct chain *chain, struct chain_walk *walk, uint32_t size,
                              int64_t *work) {
    for (uint32_t k = 0; k + size <= chain->n_blocks; k++) {
        struct chain_block *block = &chain->blocks[k];
        struct chain_group *group = &block->groups[block->n_groups];
        *group = (struct chain_group){.first = k, .last = k + size - 1};
        TRY(find_keepable(chain, group, walk));
        *work += n_ops_of(chain, group) * group->n_keepable;
        if (size > 1 && *work > MOST_ORDER_WORK)
            return NULL;
        TRY(measure_group(chain, walk, group));
        block->n_groups++;
    }
    return NULL;
}

/* 1, 2, 3, 4, 6, 8, 12, 16 …, and all blocks. */
static neap_error *find_groups(struct chain *chain, struct chain_walk *walk) {
    int64_t work = 0;
    for (uint32_t k = 0; k < chain->n_blocks; k++)
        TRY(pool_alloc(&chain->pool, MOST_GROUP_SIZES, sizeof(struct chain_group),
                       &chain->blocks[k].groups));
    for (uint32_t size = 1; size < chain->n_blocks && work <= MOST_ORDER_WORK;
         size += size < 4            ? 1
                 : size & (size - 1) ? size / 3
                                     : size / 2)
        TRY(add_groups(chain, walk, size, &work));
    return work > MOST_ORDER_WORK ? NULL : add_groups(chain, walk, chain->n_blocks, &work);
}

neap_error *chain_find_options(struct chain *chain) {
    size_t n = chain->n_blocks;
    struct chain_walk walk;
    for (int later = 0; later < 2; later++)
        TRY(pool_alloc(&chain->pool, n * n, sizeof *chain->pass_bytes[later],
                       &chain->pass_bytes[later]));
    neap_error *error = chain_walk_open(chain, &walk);
    if (!error)
        error = find_groups(chain, &walk);
    for (uint32_t k = 0; k < n && !error; k++)
        error = measure_passes(chain, &walk, k);
    chain_walk_close(&walk);
    return error;
}
