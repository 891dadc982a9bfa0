/* Offsets for lives: dynamic storage allocation with fixed lifetimes, which is NP-hard.
 *
 * Lives that take each other's place are one chain with one offset; a chain needs at each step the
 * bytes of the member that lives there. Chains are laid one after another, each into a gap between
 * those laid before that share a step with it: the smallest gap that holds it (the lowest of
 * equals), or the lowest. Four orders are tried with either rule; where none reaches the lower
 * bound, the best is improved by small changes under the lowest-gap rule, with which some order
 * gives the optimum; a change stays if the arena does not grow. Effort is counted in comparisons of
 * chains, not in seconds, and random numbers are Philox's: the same lives always get the same
 * offsets.
 *
 * Expected load: up to 5,000 lives, for which the orders cost 100 million comparisons at worst
 * (0.2 s); on training steps the first order mostly ends it.
 * Does not: prove an arena above the lower bound optimal; see docs/planner.md. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "plan/place.h"

enum { comparisons_limit = 20000000 };

/* The steps in which a member needs its bytes: in the step where it takes its predecessor's place,
 * that one's suffice. */
struct member {
    uint32_t from, to;
    int64_t bytes;
};

struct chain {
    uint32_t from, to;
    uint32_t first_member, n_members;
    int64_t bytes; /* the most of any member, which is the first */
    int64_t offset;
};

/* Where a chain cannot start because of one that is laid: behind `low` and before `high`. */
struct block {
    int64_t low, high;
};

struct placement {
    const struct plan_lives *lives;
    struct member *members;
    struct chain *chains;
    uint32_t *chain_of; /* by life */
    uint32_t n_chains;
    uint32_t *laid; /* chains that have their offset, by offset */
    uint32_t n_laid;
    struct block *blocks;
    uint64_t comparisons;
};

/* ---- chains --------------------------------------------------------------------------------- */

static neap_error *check_link(const struct plan_lives *lives, size_t i, const uint32_t *next) {
    uint32_t from = lives->at[i].in_place_of;
    if (from < i && next[from] == PLAN_NONE && lives->at[from].bytes >= lives->at[i].bytes &&
        lives->at[from].last_step == lives->at[i].first_step)
        return NULL;
    return error_make(NEAP_ERROR_INTERNAL, "life %zu cannot be in place of life %u", i, from);
}

static void add_chain(struct placement *p, uint32_t life, const uint32_t *next, int64_t alignment,
                      uint32_t *n_members) {
    struct chain *chain = &p->chains[p->n_chains];
    *chain = (struct chain){.from = p->lives->at[life].first_step,
                            .first_member = *n_members,
                            .bytes = round_up(p->lives->at[life].bytes, alignment)};
    for (; life != PLAN_NONE; life = next[life]) {
        const struct plan_life *l = &p->lives->at[life];
        p->chain_of[life] = p->n_chains;
        chain->to = l->last_step;
        p->members[(*n_members)++] =
            (struct member){.from = l->first_step + (l->in_place_of != PLAN_NONE),
                            .to = l->last_step,
                            .bytes = round_up(l->bytes, alignment)};
    }
    chain->n_members = *n_members - chain->first_member;
    p->n_chains++;
}

static neap_error *make_chains(struct placement *p, int64_t alignment) {
    uint32_t *next, n_members = 0;
    TRY(memory_alloc(p->lives->n, sizeof *next, &next));
    neap_error *error = NULL;
    for (size_t i = 0; i < p->lives->n; i++)
        next[i] = PLAN_NONE;
    for (size_t i = 0; i < p->lives->n; i++) {
        if (p->lives->at[i].in_place_of == PLAN_NONE)
            continue;
        TRY_GOTO(check_link(p->lives, i, next));
        next[p->lives->at[i].in_place_of] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < p->lives->n; i++)
        if (p->lives->at[i].in_place_of == PLAN_NONE)
            add_chain(p, i, next, alignment, &n_members);
done:
    free(next);
    return error;
}

/* The most bytes live at any step: no arena is smaller. */
static neap_error *lower_bound(const struct placement *p, int64_t *bound) {
    size_t n_steps = 1, n_members = p->lives->n;
    int64_t *change, live = 0;
    for (size_t i = 0; i < n_members; i++)
        if (n_steps <= p->members[i].to)
            n_steps = (size_t)p->members[i].to + 1;
    TRY(memory_alloc(n_steps + 1, sizeof *change, &change));
    for (size_t i = 0; i < n_members; i++) {
        if (p->members[i].from > p->members[i].to)
            continue;
        change[p->members[i].from] += p->members[i].bytes;
        change[p->members[i].to + 1] -= p->members[i].bytes;
    }
    *bound = 0;
    for (size_t step = 0; step < n_steps; step++) {
        live += change[step];
        *bound = *bound < live ? live : *bound;
    }
    free(change);
    return NULL;
}

/* ---- laying chains in an order -------------------------------------------------------------- */

/* Where `chain` cannot start because of `laid`: of each, the largest member that meets the other
 * counts. False when no member meets one. */
static bool blocks(const struct placement *p, const struct chain *laid, const struct chain *chain,
                   struct block *block) {
    if (laid->from > chain->to || chain->from > laid->to)
        return false;
    if (laid->n_members == 1 && chain->n_members == 1) {
        *block = (struct block){laid->offset - chain->bytes, laid->offset + laid->bytes};
        return true;
    }
    int64_t laid_bytes = -1, chain_bytes = -1;
    const struct member *a = p->members + laid->first_member, *a_end = a + laid->n_members;
    const struct member *b = p->members + chain->first_member, *b_end = b + chain->n_members;
    while (a < a_end && b < b_end) {
        if (a->from <= b->to && b->from <= a->to && a->from <= a->to && b->from <= b->to) {
            laid_bytes = laid_bytes < a->bytes ? a->bytes : laid_bytes;
            chain_bytes = chain_bytes < b->bytes ? b->bytes : chain_bytes;
        }
        if (a->to < b->to)
            a++;
        else
            b++;
    }
    *block = (struct block){laid->offset - chain_bytes, laid->offset + laid_bytes};
    return laid_bytes >= 0;
}

/* The blocks that the chains laid so far set against `chain`, by their lower ends. */
static uint32_t collect_blocks(struct placement *p, const struct chain *chain) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_laid; i++) {
        struct block block;
        if (!blocks(p, &p->chains[p->laid[i]], chain, &block))
            continue;
        uint32_t at = n++;
        for (; at > 0 && p->blocks[at - 1].low > block.low; at--)
            p->blocks[at] = p->blocks[at - 1];
        p->blocks[at] = block;
    }
    p->comparisons += p->n_laid;
    return n;
}

/* A fit gives the offset of a chain of which some starts are blocked. */
static int64_t lowest_fit(const struct block *blocks, uint32_t n) {
    int64_t start = 0;
    for (uint32_t i = 0; i < n && blocks[i].low < start; i++)
        start = start < blocks[i].high ? blocks[i].high : start;
    return start;
}

static int64_t smallest_fit(const struct block *blocks, uint32_t n) {
    int64_t start = 0, best = -1, best_slack = INT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        int64_t slack = blocks[i].low - start;
        if (slack >= 0 && slack < best_slack) {
            best = start;
            best_slack = slack;
        }
        start = start < blocks[i].high ? blocks[i].high : start;
    }
    return best >= 0 ? best : start;
}

typedef int64_t fit_function(const struct block *blocks, uint32_t n);
static fit_function *const fits[] = {smallest_fit, lowest_fit};
enum { n_fits = sizeof fits / sizeof *fits };

static void lay(struct placement *p, uint32_t index) {
    uint32_t at = p->n_laid++;
    int64_t offset = p->chains[index].offset;
    for (; at > 0 && p->chains[p->laid[at - 1]].offset > offset; at--)
        p->laid[at] = p->laid[at - 1];
    p->laid[at] = index;
}

/* Lays all chains in this order. Gives the arena, or INT64_MAX as soon as it exceeds `limit`. */
static int64_t lay_all(struct placement *p, const uint32_t *order, fit_function *fit,
                       int64_t limit) {
    int64_t arena = 0;
    p->n_laid = 0;
    for (uint32_t i = 0; i < p->n_chains; i++) {
        struct chain *chain = &p->chains[order[i]];
        chain->offset = fit(p->blocks, collect_blocks(p, chain));
        int64_t end = chain->offset + chain->bytes;
        if (end > limit)
            return INT64_MAX;
        arena = arena < end ? end : arena;
        lay(p, order[i]);
    }
    return arena;
}

/* ---- orders --------------------------------------------------------------------------------- */

struct order_key {
    double major, minor; /* ascending */
    uint32_t index;
};

static int compare_keys(const void *a, const void *b) {
    const struct order_key *x = a, *y = b;
    if (x->major != y->major)
        return x->major < y->major ? -1 : 1;
    if (x->minor != y->minor)
        return x->minor < y->minor ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static double duration(const struct chain *chain) {
    return (double)(chain->to - chain->from) + 1;
}

static struct order_key by_bytes(const struct chain *chain) {
    return (struct order_key){.major = -(double)chain->bytes, .minor = -duration(chain)};
}

static struct order_key by_area(const struct chain *chain) {
    return (struct order_key){.major = -(double)chain->bytes * duration(chain),
                              .minor = -(double)chain->bytes};
}

static struct order_key by_duration(const struct chain *chain) {
    return (struct order_key){.major = -duration(chain), .minor = -(double)chain->bytes};
}

static struct order_key by_first_step(const struct chain *chain) {
    return (struct order_key){.major = chain->from, .minor = -(double)chain->bytes};
}

static struct order_key (*const orders[])(const struct chain *) = {by_bytes, by_area, by_duration,
                                                                   by_first_step};
enum { n_orders = sizeof orders / sizeof *orders };

/* ---- searching ------------------------------------------------------------------------------ */

struct search {
    struct placement *p;
    uint32_t *order, *best_order;
    int64_t *best_offset;
    int64_t best_bytes, bound_bytes;
    struct order_key *keys;
};

/* Lays the chains in s->order and keeps the result if it is not worse than the best. */
static void try_order(struct search *s, fit_function *fit) {
    int64_t arena = lay_all(s->p, s->order, fit, s->best_bytes);
    if (arena > s->best_bytes || arena == INT64_MAX)
        return;
    s->best_bytes = arena;
    memcpy(s->best_order, s->order, s->p->n_chains * sizeof *s->order);
    for (uint32_t i = 0; i < s->p->n_chains; i++)
        s->best_offset[i] = s->p->chains[i].offset;
}

static void try_sorted(struct search *s, struct order_key (*key)(const struct chain *)) {
    for (uint32_t i = 0; i < s->p->n_chains; i++) {
        s->keys[i] = key(&s->p->chains[i]);
        s->keys[i].index = i;
    }
    qsort(s->keys, s->p->n_chains, sizeof *s->keys, compare_keys);
    for (uint32_t i = 0; i < s->p->n_chains; i++)
        s->order[i] = s->keys[i].index;
    for (int i = 0; i < n_fits && s->best_bytes > s->bound_bytes; i++)
        try_order(s, fits[i]);
}

/* The position in the best order of a chain that ends where the arena does. */
static uint32_t top_position(const struct search *s, uint32_t random) {
    uint32_t n = s->p->n_chains, start = random % n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (start + i) % n, chain = s->best_order[at];
        if (s->best_offset[chain] + s->p->chains[chain].bytes == s->best_bytes)
            return at;
    }
    return start;
}

static void move_earlier(uint32_t *order, uint32_t from, uint32_t to) {
    uint32_t chain = order[from];
    memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = chain;
}

static void improve(struct search *s) {
    uint32_t n = s->p->n_chains;
    for (uint64_t round = 0; s->best_bytes > s->bound_bytes; round++) {
        if (s->p->comparisons > comparisons_limit)
            return;
        struct philox_block random = philox_at(0, 0, round);
        memcpy(s->order, s->best_order, n * sizeof *s->order);
        if (random.word[0] & 1) {
            uint32_t top = top_position(s, random.word[1]);
            move_earlier(s->order, top, random.word[2] % (top + 1));
        } else {
            uint32_t a = random.word[1] % n, b = random.word[2] % n, chain = s->order[a];
            s->order[a] = s->order[b];
            s->order[b] = chain;
        }
        s->p->comparisons += n; /* a try that fails at once counts too */
        try_order(s, lowest_fit);
    }
}

static neap_error *search(struct placement *p) {
    struct search s = {.p = p, .best_bytes = INT64_MAX};
    neap_error *error;
    TRY_GOTO(lower_bound(p, &s.bound_bytes));
    TRY_GOTO(memory_alloc(p->n_chains, sizeof *s.order, &s.order));
    TRY_GOTO(memory_alloc(p->n_chains, sizeof *s.best_order, &s.best_order));
    TRY_GOTO(memory_alloc(p->n_chains, sizeof *s.best_offset, &s.best_offset));
    TRY_GOTO(memory_alloc(p->n_chains, sizeof *s.keys, &s.keys));
    for (int i = 0; i < n_orders && s.best_bytes > s.bound_bytes; i++)
        try_sorted(&s, orders[i]);
    improve(&s);
    for (uint32_t i = 0; i < p->n_chains; i++)
        p->chains[i].offset = s.best_offset[i];
done:
    free(s.order);
    free(s.best_order);
    free(s.best_offset);
    free(s.keys);
    return error;
}

neap_error *plan_place(struct plan_lives *lives, int64_t alignment_bytes, int64_t *arena_bytes) {
    struct placement p = {.lives = lives};
    neap_error *error;
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.members, &p.members));
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.chains, &p.chains));
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.chain_of, &p.chain_of));
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.laid, &p.laid));
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.blocks, &p.blocks));
    TRY_GOTO(make_chains(&p, alignment_bytes));
    TRY_GOTO(search(&p));
    *arena_bytes = 0;
    for (size_t i = 0; i < lives->n; i++) {
        struct plan_life *life = &lives->at[i];
        life->offset = p.chains[p.chain_of[i]].offset;
        if (*arena_bytes < life->offset + life->bytes)
            *arena_bytes = life->offset + life->bytes;
    }
done:
    free(p.members);
    free(p.chains);
    free(p.chain_of);
    free(p.laid);
    free(p.blocks);
    return error;
}
