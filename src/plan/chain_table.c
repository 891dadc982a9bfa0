/* The table of the dynamic program over a chain, and the schedules in it: see chain.c.
 *
 * cost(s, t, m) is the fewest seconds of forward ops run again from the moment that the entry of
 * block s is there, to that when the backward of blocks t … s is through, in m bytes besides that
 * entry. It is the least of
 *   turn     where s = t: run the block, keeping one of its options, then its backward;
 *   keep     run s with an option, then (s + 1, t) in what that leaves, then the backward of s;
 *   split    run s … e - 1 keeping nothing but the entry of e, then (e, t) beside that, then
 *            (s, e - 1) in all of m.
 * When (e, t) is through, the entry of e is still in memory: the backward of e - 1 may read what
 * e - 1 made of it before it goes (`exit`). Where t is the last block, all forward runs are the
 * first ones, which cost nothing extra; elsewhere they are further ones.
 *
 * Bytes are counted in slots: exactly where all are multiples of a large enough one, otherwise kept
 * bytes are rounded up. O(blocks³ × slots / 6) additions; blocks² × slots costs. */
#include <math.h>
#include <stdlib.h>

#include "plan/chain.h"

enum {
    MOST_SLOTS = 2000,
    FEWEST_SLOTS = 300,
    MOST_ADDITIONS = 400 << 20,
    MOST_COSTS = 16 << 20 /* in the table */
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
    uint32_t e;                        /* SPLIT */
    const struct chain_group *group;   /* TURN, LAZY, KEEP */
    const struct chain_option *option; /* TURN, KEEP */
    float seconds;
    int64_t least, shift;
    const float *within, *then;
};

static int64_t slots(const struct chain_table *table, int64_t bytes) {
    return (bytes + table->slot_bytes - 1) / table->slot_bytes;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static struct stretch stretch_of(const struct chain_table *table, uint32_t s, uint32_t t,
                                 bool exit) {
    return (struct stretch){s, t, exit && table->chain->blocks[t].exit_bytes > 0};
}

/* By t, s ≤ t, exit and slots. */
static float *costs_of(const struct chain_table *table, struct stretch at) {
    size_t cell = ((size_t)at.t * (at.t + 1) / 2 + at.s) * 2 + at.exit;
    return table->costs + cell * (table->n_slots + 1);
}

/* Bytes that are there until the backward of t. */
static int64_t arriving_bytes(const struct chain_table *table, struct stretch at) {
    const struct chain_block *last = &table->chain->blocks[at.t];
    return last->arriving_bytes + (at.exit ? last->exit_bytes : 0);
}

/* Up to the last block, forward ops run for the first time. */
static bool is_first(const struct chain_table *table, struct stretch at) {
    return at.t + 1 == table->n_blocks;
}

/* ---- the recurrence ------------------------------------------------------------------------- */

typedef void visitor(const struct chain_table *table, const struct way *way, void *context);

static void visit_turns(const struct chain_table *table, struct stretch at,
                        const struct chain_group *group, visitor *visit, void *context) {
    int64_t fixed_bytes = table->chain->blocks[at.t].fixed_again_bytes;
    bool first = is_first(table, at);
    struct way way = {.kind = TURN, .group = group, .within = table->zeros, .then = table->zeros};
    for (uint32_t i = 0; i < group->n_options && !at.exit; i++) {
        const struct chain_option *option = &group->options[i];
        int64_t bytes = option->turn_bytes + fixed_bytes;
        if (first)
            bytes = larger(option->first_bytes + group->fixed_first_bytes,
                           option->back_bytes + fixed_bytes);
        way.option = option;
        way.seconds = (float)(first ? option->back_seconds : option->turn_seconds);
        way.least = slots(table, bytes);
        visit(table, &way, context);
    }
    if (first)
        return;
    way.kind = LAZY;
    way.seconds = (float)group->lazy_seconds[at.exit];
    way.least = slots(table, group->lazy_bytes[at.exit] + fixed_bytes);
    visit(table, &way, context);
}

static void visit_keeps(const struct chain_table *table, struct stretch at,
                        const struct chain_group *group, visitor *visit, void *context) {
    const struct chain_block *blocks = table->chain->blocks;
    bool first = is_first(table, at);
    int64_t fixed_bytes = first ? group->fixed_first_bytes : blocks[at.t].fixed_again_bytes;
    struct way way = {.kind = KEEP,
                      .group = group,
                      .within = costs_of(table, stretch_of(table, group->last + 1, at.t, at.exit)),
                      .then = table->zeros};
    for (uint32_t i = 0; i < group->n_options; i++) {
        const struct chain_option *option = &group->options[i];
        int64_t forward_bytes = first ? option->first_bytes : option->again_bytes;
        way.option = option;
        way.seconds = (float)(option->back_seconds + (first ? 0 : option->again_seconds));
        way.least =
            slots(table, larger(forward_bytes + fixed_bytes + arriving_bytes(table, at),
                                option->back_bytes + blocks[group->last].fixed_again_bytes));
        way.shift = slots(table, option->held_bytes);
        visit(table, &way, context);
    }
}

static void visit_splits(const struct chain_table *table, struct stretch at, visitor *visit,
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
                          .e = e,
                          .seconds = (float)seconds,
                          .least = slots(table, most_bytes + arriving_bytes(table, at)),
                          .shift = slots(table, chain->between[row + e]),
                          .within = costs_of(table, stretch_of(table, e, at.t, at.exit)),
                          .then = costs_of(table, stretch_of(table, at.s, e - 1, true))};
        visit(table, &way, context);
    }
}

/* Every way to do a stretch. */
static void visit_ways(const struct chain_table *table, struct stretch at, visitor *visit,
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
    const struct chain_block *block = &table->chain->blocks[at.s];
    for (uint32_t i = 0; i < block->n_groups && block->groups[i].last <= at.t; i++)
        (block->groups[i].last == at.t ? visit_turns : visit_keeps)(table, at, &block->groups[i],
                                                                    visit, context);
    visit_splits(table, at, visit, context);
}

static void relax(float *restrict costs, const float *restrict within, const float *restrict then,
                  float seconds, size_t n) {
    for (size_t m = 0; m < n; m++) {
        float cost = seconds + within[m] + then[m];
        costs[m] = cost < costs[m] ? cost : costs[m];
    }
}

static void relax_all(const struct chain_table *table, const struct way *way, void *context) {
    float *costs = context;
    size_t from = (size_t)larger(way->least, way->shift);
    if (from <= table->n_slots)
        relax(costs + from, way->within + from - way->shift, way->then + from, way->seconds,
              table->n_slots + 1 - from);
}

static void fill(const struct chain_table *table) {
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

static void choose(const struct chain_table *table, const struct way *way, void *context) {
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
    const struct chain_table *table;
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
    const struct chain_table *table = w->table;
    struct choice choice = {.m = m, .cost = INFINITY};
    visit_ways(table, at, choose, &choice);
    const struct way *way = &choice.way;
    struct chain_run run = {.group = way->group,
                            .kind = is_first(table, at) ? CHAIN_FIRST : CHAIN_AGAIN,
                            .exit_from = way->kind == KEEP ? at.s : PLAN_NONE};
    if (way->kind == LEAVE)
        return write(w, (struct stretch){at.s, at.t, false}, m);
    if (way->kind == IDLE)
        return at.s < at.t ? write(w, (struct stretch){at.s, at.t - 1, false}, m) : NULL;
    if (way->kind == SPLIT) {
        for (run.exit_from = at.s; run.exit_from < way->e; run.exit_from++) {
            run.group = table->chain->blocks[run.exit_from].groups;
            TRY(write_run(w, run));
        }
        TRY(write(w, stretch_of(table, way->e, at.t, at.exit), m - (size_t)way->shift));
        return write(w, stretch_of(table, at.s, way->e - 1, true), m);
    }
    if (way->kind == LAZY) {
        run.exit_from = at.exit ? at.t : PLAN_NONE;
    } else {
        run.n_kept = way->option->n_kept;
        TRY(write_run(w, run));
    }
    if (way->kind == KEEP)
        TRY(write(w, stretch_of(table, way->group->last + 1, at.t, at.exit),
                  m - (size_t)way->shift));
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

/* Slots for capacity_bytes: of all bytes' common divisor, or a multiple where those are too many.
 */
static void choose_slots(struct chain_table *table, int64_t capacity_bytes) {
    const struct plan_problem *p = table->chain->problem;
    double n = table->n_blocks, cells = n * (n + 1), additions = cells * (n + 2) / 3;
    double most = fmin(MOST_SLOTS, fmin(MOST_COSTS / cells, MOST_ADDITIONS / additions));
    int64_t divisor = 0, most_slots = most < FEWEST_SLOTS ? FEWEST_SLOTS : (int64_t)most;
    for (uint32_t v = 0; v < p->n_values; v++)
        if (!p->values[v].persistent)
            divisor = common_divisor(p->values[v].bytes, divisor);
    divisor = larger(divisor, 1);
    table->slot_bytes =
        divisor * larger((capacity_bytes / divisor + most_slots - 1) / most_slots, 1);
    table->n_slots = (size_t)(capacity_bytes / table->slot_bytes);
}

void chain_table_close(struct chain_table *table) {
    free(table->costs);
    free(table->zeros);
}

neap_error *chain_table_open(const struct chain *chain, int64_t capacity_bytes,
                             struct chain_table *table) {
    size_t n = chain->n_blocks;
    *table = (struct chain_table){.chain = chain, .n_blocks = chain->n_blocks};
    choose_slots(table, capacity_bytes);
    neap_error *error = memory_alloc(table->n_slots + 1, sizeof *table->zeros, &table->zeros);
    if (!error)
        error =
            memory_alloc(n * (n + 1) * (table->n_slots + 1), sizeof *table->costs, &table->costs);
    if (error)
        chain_table_close(table);
    else
        fill(table);
    return error;
}

/* ---- what others may do with it -------------------------------------------------------------- */

const float *chain_table_costs(const struct chain_table *table) {
    return costs_of(table, (struct stretch){0, table->n_blocks - 1, false});
}

neap_error *chain_table_write(const struct chain_table *table, size_t m,
                              struct plan_schedule *schedule) {
    struct chain_walk walk;
    struct writer writer = {table, &walk, schedule};
    schedule->n = 0;
    neap_error *error = chain_walk_open(table->chain, &walk);
    if (!error)
        error = write(&writer, (struct stretch){0, table->n_blocks - 1, false}, m);
    chain_walk_close(&walk);
    return error;
}
