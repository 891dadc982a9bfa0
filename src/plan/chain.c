/* chain: dynamic programming over a chain of blocks.
 *
 *   forward 0 1 2 │ backward 2' 1' 0', two tensors of room   →   0 1 2 2' 0 1' 0'
 *
 * Blocks (chain_blocks.c) are stretches of the forward with the stretch of the backward that reads
 * their values. What a block's forward reads of earlier ones is its entry, what later ones need of
 * it its exit. cost(s, t, m) is the fewest seconds of forward ops run again from the moment that
 * the entry of s is there, to that when the backward of blocks t … s is through, in m bytes besides
 * the entry. It is the least of
 *   turn     where s = t: run the block, keeping one of its options, and its backward at once;
 *   keep     run s with an option, then (s + 1, t) in what that leaves, then the backward of s;
 *   split    run s … e - 1 keeping nothing but the entry of e, then (e, t) beside that, then
 *            (s, e - 1) in all of m.
 * That is Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous
 * chains", with several options to a block, entries of several tensors, and one thing more: when
 * (e, t) is through, the entry of e is still in memory, and the backward of e - 1 may read it before
 * it goes (`exit` below). Where t is the last block all forward runs are the first ones, which cost
 * nothing extra; elsewhere they are further ones.
 *
 * Bytes are counted in slots, exactly where all are multiples of a large enough one. Otherwise kept
 * bytes are rounded up, so that plans stay below m: then the largest m is taken whose schedule, as
 * replayed, is within the budget. O(blocks³ × slots / 6) additions.
 *
 * Needs: backward blocks in the order of the forward's. Does not: give back a kept entry before its
 * backward, or keep a part of it. So a chain of unequal tensors can have better schedules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/chain.h"
#include "plan/plan.h"

enum {
    MOST_SLOTS = 2000,
    FEWEST_SLOTS = 300,
    MOST_ADDITIONS = 400 << 20,
    MOST_COSTS = 16 << 20, /* in the table */
    MOST_LEAST = 8         /* schedules tried where none is within the budget */
};

struct table {
    const struct chain *chain;
    uint32_t n_blocks;
    int64_t slot_bytes;
    size_t n_slots; /* costs are known for 0 … n_slots */
    float *costs;   /* see costs_of */
    float *zeros;
};

/* What is to be done: blocks s to t. With `exit`, that of t is there besides, to be read before it
 * goes. */
struct stretch {
    uint32_t s, t;
    bool exit;
};

/* One way to do it. In m slots, at least `least`, it costs the seconds, what is done in m - shift
 * slots, and then what is done in all m. */
struct way {
    enum { TURN, LAZY, KEEP, SPLIT, LEAVE, IDLE } kind;
    uint32_t index; /* KEEP, TURN: the option; SPLIT: e */
    float seconds;
    int64_t least, shift;
    const float *within, *then;
};

static int64_t slots(const struct table *table, int64_t bytes) {
    return (bytes + table->slot_bytes - 1) / table->slot_bytes;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static struct stretch stretch_of(const struct table *table, uint32_t s, uint32_t t, bool exit) {
    return (struct stretch){s, t, exit && table->chain->blocks[t].exit_bytes > 0};
}

/* By t, s ≤ t, exit and slots. */
static float *costs_of(const struct table *table, struct stretch at) {
    size_t cell = ((size_t)at.t * (at.t + 1) / 2 + at.s) * 2 + at.exit;
    return table->costs + cell * (table->n_slots + 1);
}

/* Bytes that are there until the backward of t. */
static int64_t arriving_bytes(const struct table *table, struct stretch at) {
    const struct chain_block *last = &table->chain->blocks[at.t];
    return last->arriving_bytes + (at.exit ? last->exit_bytes : 0);
}

/* Up to the last block, forward ops run for the first time. */
static bool is_first(const struct table *table, struct stretch at) {
    return at.t + 1 == table->n_blocks;
}

/* ---- the recurrence ------------------------------------------------------------------------- */

typedef void visitor(const struct table *table, const struct way *way, void *context);

static void visit_turns(const struct table *table, struct stretch at, visitor *visit,
                        void *context) {
    const struct chain_block *block = &table->chain->blocks[at.t];
    bool first = is_first(table, at);
    struct way way = {.within = table->zeros, .then = table->zeros};
    for (uint32_t i = 0; i < block->n_options && !at.exit; i++) {
        const struct chain_option *option = &block->options[i];
        int64_t bytes = option->turn_bytes + block->fixed_again_bytes;
        if (first)
            bytes = larger(option->first_bytes + block->fixed_first_bytes,
                           option->back_bytes + block->fixed_again_bytes);
        way.kind = TURN;
        way.index = i;
        way.seconds = (float)(first ? option->back_seconds : option->turn_seconds);
        way.least = slots(table, bytes);
        visit(table, &way, context);
    }
    if (first)
        return;
    way.kind = LAZY;
    way.seconds = (float)block->lazy_seconds[at.exit];
    way.least = slots(table, block->lazy_bytes[at.exit] + block->fixed_again_bytes);
    visit(table, &way, context);
}

static void visit_keeps(const struct table *table, struct stretch at, visitor *visit,
                        void *context) {
    const struct chain_block *block = &table->chain->blocks[at.s];
    bool first = is_first(table, at);
    int64_t fixed_bytes =
        first ? block->fixed_first_bytes : table->chain->blocks[at.t].fixed_again_bytes;
    struct way way = {.kind = KEEP,
                      .within = costs_of(table, stretch_of(table, at.s + 1, at.t, at.exit)),
                      .then = table->zeros};
    for (uint32_t i = 0; i < block->n_options; i++) {
        const struct chain_option *option = &block->options[i];
        int64_t forward_bytes = first ? option->first_bytes : option->again_bytes;
        way.index = i;
        way.seconds = (float)(option->back_seconds + (first ? 0 : option->again_seconds));
        way.least = slots(table, larger(forward_bytes + fixed_bytes + arriving_bytes(table, at),
                                        option->back_bytes + block->fixed_again_bytes));
        way.shift = slots(table, option->held_bytes);
        visit(table, &way, context);
    }
}

static void visit_splits(const struct table *table, struct stretch at, visitor *visit,
                         void *context) {
    const struct chain *chain = table->chain;
    bool first = is_first(table, at);
    int64_t most_bytes = 0;
    double seconds = 0;
    for (uint32_t e = at.s + 1; e <= at.t; e++) {
        const struct chain_block *block = &chain->blocks[e - 1];
        size_t row = (size_t)at.s * table->n_blocks;
        int64_t fixed_bytes =
            first ? block->fixed_first_bytes : chain->blocks[at.t].fixed_again_bytes;
        most_bytes = larger(most_bytes, chain->pass_bytes[!first][row + e - 1] + fixed_bytes);
        seconds += first ? 0 : block->again_seconds;
        struct way way = {.kind = SPLIT,
                          .index = e,
                          .seconds = (float)seconds,
                          .least = slots(table, most_bytes + arriving_bytes(table, at)),
                          .shift = slots(table, chain->between[row + e]),
                          .within = costs_of(table, stretch_of(table, e, at.t, at.exit)),
                          .then = costs_of(table, stretch_of(table, at.s, e - 1, true))};
        visit(table, &way, context);
    }
}

/* Every way to do a stretch. */
static void visit_ways(const struct table *table, struct stretch at, visitor *visit,
                       void *context) {
    const struct chain_block *last = &table->chain->blocks[at.t];
    struct way way = {.within = table->zeros, .then = table->zeros};
    if (last->idle && !is_first(table, at)) {
        way.kind = IDLE;
        if (at.s < at.t)
            way.then = costs_of(table, stretch_of(table, at.s, at.t - 1, false));
        visit(table, &way, context);
        return;
    }
    if (at.exit) {
        way.kind = LEAVE;
        way.then = costs_of(table, stretch_of(table, at.s, at.t, false));
        visit(table, &way, context);
    }
    if (at.s == at.t) {
        visit_turns(table, at, visit, context);
        return;
    }
    visit_keeps(table, at, visit, context);
    visit_splits(table, at, visit, context);
}

static void relax(float *restrict costs, const float *restrict within, const float *restrict then,
                  float seconds, size_t n) {
    for (size_t m = 0; m < n; m++) {
        float cost = seconds + within[m] + then[m];
        costs[m] = cost < costs[m] ? cost : costs[m];
    }
}

static void relax_all(const struct table *table, const struct way *way, void *context) {
    float *costs = context;
    size_t from = (size_t)larger(way->least, way->shift);
    if (from <= table->n_slots)
        relax(costs + from, way->within + from - way->shift, way->then + from, way->seconds,
              table->n_slots + 1 - from);
}

static void fill(const struct table *table) {
    for (uint32_t t = 0; t < table->n_blocks; t++)
        for (uint32_t s = t + 1; s-- > 0;)
            for (int exit = 0; exit <= stretch_of(table, s, t, true).exit; exit++) {
                struct stretch at = {s, t, exit};
                float *costs = costs_of(table, at);
                for (size_t m = 0; m <= table->n_slots; m++)
                    costs[m] = INFINITY;
                visit_ways(table, at, relax_all, costs);
            }
}

/* ---- from costs to a schedule --------------------------------------------------------------- */

struct choice {
    size_t m;
    float cost;
    struct way way;
};

static void choose(const struct table *table, const struct way *way, void *context) {
    struct choice *choice = context;
    if ((int64_t)choice->m < larger(way->least, way->shift))
        return;
    float cost = way->seconds + way->within[choice->m - (size_t)way->shift] + way->then[choice->m];
    if (cost < choice->cost) {
        choice->cost = cost;
        choice->way = *way;
    }
    (void)table;
}

struct writer {
    const struct table *table;
    struct chain_walk *walk;
    struct plan_schedule *schedule;
};

static neap_error *write_run(struct writer *w, struct chain_run run) {
    TRY(chain_walk_run(w->walk, &run));
    for (size_t i = 0; i < w->walk->ops.n; i++)
        TRY(plan_schedule_push(w->schedule, w->walk->ops.ops[i]));
    return NULL;
}

static neap_error *write(struct writer *w, struct stretch at, size_t m) {
    const struct table *table = w->table;
    struct choice choice = {.m = m, .cost = INFINITY};
    visit_ways(table, at, choose, &choice);
    const struct way *way = &choice.way;
    struct chain_run run = {.block = at.s,
                            .kind = is_first(table, at) ? CHAIN_FIRST : CHAIN_AGAIN,
                            .exit = way->kind == KEEP || way->kind == SPLIT};
    if (way->kind == LEAVE)
        return write(w, (struct stretch){at.s, at.t, false}, m);
    if (way->kind == IDLE)
        return at.s < at.t ? write(w, (struct stretch){at.s, at.t - 1, false}, m) : NULL;
    if (way->kind == SPLIT) {
        for (; run.block < way->index; run.block++)
            TRY(write_run(w, run));
        TRY(write(w, stretch_of(table, way->index, at.t, at.exit), m - (size_t)way->shift));
        return write(w, stretch_of(table, at.s, way->index - 1, true), m);
    }
    if (way->kind == LAZY) {
        run.exit = at.exit;
    } else {
        run.n_kept = table->chain->blocks[at.s].options[way->index].n_kept;
        TRY(write_run(w, run));
    }
    if (way->kind == KEEP)
        TRY(write(w, stretch_of(table, at.s + 1, at.t, at.exit), m - (size_t)way->shift));
    run.kind = CHAIN_BACK;
    return write_run(w, run);
}

/* ---- the table ------------------------------------------------------------------------------ */

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Slots for capacity_bytes: of all bytes' common divisor, or a multiple where those are too many. */
static void choose_slots(struct table *table, int64_t capacity_bytes) {
    const struct plan_problem *p = table->chain->problem;
    double n = table->n_blocks, cells = n * (n + 1), additions = cells * (n + 2) / 3;
    double most = fmin(MOST_SLOTS, fmin(MOST_COSTS / cells, MOST_ADDITIONS / additions));
    int64_t divisor = 0, most_slots = most < FEWEST_SLOTS ? FEWEST_SLOTS : (int64_t)most;
    for (uint32_t v = 0; v < p->n_values; v++)
        if (!p->values[v].persistent)
            divisor = common_divisor(p->values[v].bytes, divisor);
    divisor = larger(divisor, 1);
    table->slot_bytes = divisor * larger((capacity_bytes / divisor + most_slots - 1) / most_slots, 1);
    table->n_slots = (size_t)(capacity_bytes / table->slot_bytes);
}

static void table_close(struct table *table) {
    free(table->costs);
    free(table->zeros);
}

static neap_error *table_open(const struct chain *chain, int64_t capacity_bytes,
                              struct table *table) {
    size_t n = chain->n_blocks;
    *table = (struct table){.chain = chain, .n_blocks = chain->n_blocks};
    choose_slots(table, capacity_bytes);
    neap_error *error = memory_alloc(table->n_slots + 1, sizeof *table->zeros, &table->zeros);
    if (!error)
        error = memory_alloc(n * (n + 1) * (table->n_slots + 1), sizeof *table->costs,
                             &table->costs);
    if (error)
        table_close(table);
    else
        fill(table);
    return error;
}

/* ---- the schedule that uses the budget best -------------------------------------------------- */

struct search {
    const struct plan_problem *problem;
    int64_t budget_bytes;
    struct plan_schedule *best, tried;
    struct plan_measure of_best;
};

static bool better(const struct search *search, const struct plan_measure *measure) {
    const struct plan_measure *best = &search->of_best;
    bool fits = measure->peak_bytes <= search->budget_bytes;
    if (search->best->n == 0 || fits != (best->peak_bytes <= search->budget_bytes))
        return search->best->n == 0 || fits;
    if (fits ? measure->seconds == best->seconds : measure->peak_bytes != best->peak_bytes)
        return measure->peak_bytes < best->peak_bytes;
    return measure->seconds < best->seconds;
}

static neap_error *consider(struct search *search, const struct table *table, size_t m,
                            bool *fits) {
    struct chain_walk walk;
    struct writer writer = {table, &walk, &search->tried};
    struct plan_measure measure;
    search->tried.n = 0;
    neap_error *error = chain_walk_open(table->chain, &walk);
    if (!error)
        error = write(&writer, (struct stretch){0, table->n_blocks - 1, false}, m);
    chain_walk_close(&walk);
    if (error)
        return error;
    TRY(plan_replay(search->problem, &search->tried, &measure, NULL));
    *fits = measure.peak_bytes <= search->budget_bytes;
    if (!better(search, &measure))
        return NULL;
    search->of_best = measure;
    return plan_schedule_copy(search->best, &search->tried);
}

static const float *root_costs(const struct table *table) {
    return costs_of(table, (struct stretch){0, table->n_blocks - 1, false});
}

/* Up to n_slots: the fewest in which there is any schedule; more than n_slots where there is none. */
static size_t fewest_slots(const struct table *table) {
    size_t m = 0;
    while (m <= table->n_slots && isinf(root_costs(table)[m]))
        m++;
    return m;
}

/* From the most slots on, until a schedule fits. */
static neap_error *search_down(struct search *search, const struct table *table, bool *fits) {
    const float *costs = root_costs(table);
    for (size_t end = table->n_slots + 1; end > 0 && !isinf(costs[end - 1]) && !*fits; end--) {
        while (end > 1 && costs[end - 2] == costs[end - 1])
            end--;
        TRY(consider(search, table, end - 1, fits));
    }
    return NULL;
}

/* The smallest peaks. */
static neap_error *search_least(struct search *search, const struct chain *chain,
                                int64_t most_bytes) {
    struct table table;
    bool fits = false;
    TRY(table_open(chain, most_bytes, &table));
    size_t fewest = fewest_slots(&table);
    bool any = fewest <= table.n_slots;
    int64_t least_bytes = (int64_t)fewest * table.slot_bytes;
    table_close(&table);
    if (!any)
        return NULL;
    TRY(table_open(chain, least_bytes + least_bytes / 16, &table));
    size_t m = fewest_slots(&table);
    neap_error *error = NULL;
    for (int i = 0; i < MOST_LEAST && m + i <= table.n_slots && !error; i++)
        error = consider(search, &table, m + i, &fits);
    table_close(&table);
    return error;
}

/* The chains that one problem is seen as. Many blocks allow many levels of recompute; few large ones
 * let anything inside them go. */
static const struct {
    uint32_t most_blocks;
    bool every_place;
} views[] = {{128, true}, {128, false}, {20, false}, {12, false}, {8, false}, {5, false}, {3, false}};
enum { N_VIEWS = sizeof views / sizeof *views };

static neap_error *open_view(struct chain *chain, int view) {
    bool *cut;
    uint32_t n_blocks;
    TRY(chain_find_levels(chain));
    if (!chain->border)
        return NULL;
    TRY(memory_alloc(chain->problem->n_ops, sizeof *cut, &cut));
    neap_error *error =
        chain_find_cuts(chain, views[view].most_blocks, views[view].every_place, cut, &n_blocks);
    if (!error && n_blocks > 1)
        error = chain_find_blocks(chain, cut, n_blocks);
    if (!error && n_blocks > 1)
        error = chain_find_options(chain);
    free(cut);
    return error;
}

static neap_error *search_view(struct search *search, const struct chain *chain, int64_t all_bytes,
                               bool *fits) {
    struct table table;
    int64_t capacity_bytes = search->budget_bytes + search->budget_bytes / 8;
    TRY(table_open(chain, capacity_bytes < all_bytes ? capacity_bytes : all_bytes, &table));
    neap_error *error = search_down(search, &table, fits);
    table_close(&table);
    return error;
}

static neap_error *search_views(struct search *search, struct chain *chains, int64_t all_bytes) {
    bool any_fits = false;
    neap_error *error = NULL;
    for (int i = 0; i < N_VIEWS && !error; i++) {
        error = open_view(&chains[i], i);
        bool fits = false;
        if (!error && chains[i].n_blocks)
            error = search_view(search, &chains[i], all_bytes, &fits);
        any_fits = any_fits || fits;
    }
    for (int i = 0; i < N_VIEWS && !error && !any_fits; i++)
        if (chains[i].n_blocks)
            error = search_least(search, &chains[i], all_bytes);
    return error;
}

neap_error *plan_seed_chain(const struct plan_problem *problem, int64_t budget_bytes,
                            struct plan_schedule *schedule) {
    struct search search = {.problem = problem, .budget_bytes = budget_bytes, .best = schedule};
    struct chain chains[N_VIEWS];
    struct plan_measure all;
    schedule->n = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        TRY(plan_schedule_push(schedule, o));
    TRY(plan_replay(problem, schedule, &all, NULL));
    schedule->n = 0;
    for (int i = 0; i < N_VIEWS; i++)
        chains[i] = (struct chain){.problem = problem};
    neap_error *error = search_views(&search, chains, all.peak_bytes);
    for (int i = 0; i < N_VIEWS; i++)
        pool_free(&chains[i].pool);
    plan_schedule_free(&search.tried);
    return error;
}
