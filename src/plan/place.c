/* Offsets for lives: dynamic storage allocation with fixed lifetimes, which is NP-hard.
 *
 * Lives that take each other's place are one chain with one offset; a chain needs at each step the
 * bytes of the member that lives there. Chains are laid in fixed orders (place_orders.c). Where
 * that does not reach the target and there is effort, part of it goes into improving the best
 * order, the rest into exact searches (place_exact.c): first at the target, then, as long as
 * nothing is known there, half-way between it and the smallest arena found.
 *
 * Effort is counted in comparisons, not in seconds: the same lives and effort always give the same
 * offsets. */
#include "plan/place.h"

#include <stdlib.h>

#include "plan/place_chains.h"

/* Of the effort, what goes into improving orders: a share, and the most. */
enum { ORDERS_SHARE = 8, MOST_ORDERS_EFFORT = 20000000 };

/* Less is not worth starting an exact search for. */
enum { LEAST_EXACT_EFFORT = 1000000 };

/* ---- chains --------------------------------------------------------------------------------- */

struct placing {
    const struct plan_lives *lives;
    struct place_chains chains;
    uint32_t *chain_of;    /* by life */
    int64_t unit_bytes;    /* all bytes are multiples of it, and so is every arena that counts */
    int64_t padding_bytes; /* the most that alignment adds to a life */
};

static neap_error *check_link(const struct plan_lives *lives, size_t i, const uint32_t *next) {
    uint32_t from = lives->at[i].in_place_of;
    if (from < i && next[from] == PLAN_NONE && lives->at[from].bytes >= lives->at[i].bytes &&
        lives->at[from].last_step == lives->at[i].first_step)
        return NULL;
    return error_make(NEAP_ERROR_INTERNAL, "life %zu cannot be in place of life %u", i, from);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void add_member(struct placing *p, const struct plan_life *life, int64_t alignment) {
    int64_t bytes = round_up(life->bytes, alignment), padding = bytes - life->bytes;
    p->chains.members[p->chains.n_members++] =
        (struct place_member){.from = life->first_step + (life->in_place_of != PLAN_NONE),
                              .to = life->last_step,
                              .bytes = bytes};
    p->unit_bytes = common_divisor(p->unit_bytes, bytes);
    p->padding_bytes = p->padding_bytes < padding ? padding : p->padding_bytes;
}

static void add_chain(struct placing *p, uint32_t life, const uint32_t *next, int64_t alignment) {
    struct place_chain *chain = &p->chains.at[p->chains.n];
    *chain = (struct place_chain){.from = p->lives->at[life].first_step,
                                  .first_member = p->chains.n_members,
                                  .bytes = round_up(p->lives->at[life].bytes, alignment)};
    for (; life != PLAN_NONE; life = next[life]) {
        p->chain_of[life] = p->chains.n;
        chain->to = p->lives->at[life].last_step;
        add_member(p, &p->lives->at[life], alignment);
    }
    chain->n_members = p->chains.n_members - chain->first_member;
    p->chains.n++;
}

static neap_error *make_chains(struct placing *p, int64_t alignment) {
    uint32_t *next;
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
            add_chain(p, i, next, alignment);
done:
    free(next);
    return error;
}

/* The most bytes live at any step: no arena is smaller. */
static neap_error *most_live(const struct place_chains *chains, int64_t *most_bytes) {
    size_t n_steps = 1;
    int64_t *change, live = 0;
    for (size_t i = 0; i < chains->n_members; i++)
        if (n_steps <= chains->members[i].to)
            n_steps = (size_t)chains->members[i].to + 1;
    TRY(memory_alloc(n_steps + 1, sizeof *change, &change));
    for (size_t i = 0; i < chains->n_members; i++) {
        const struct place_member *member = &chains->members[i];
        if (member->from > member->to)
            continue;
        change[member->from] += member->bytes;
        change[member->to + 1] -= member->bytes;
    }
    *most_bytes = 0;
    for (size_t step = 0; step < n_steps; step++) {
        live += change[step];
        *most_bytes = *most_bytes < live ? live : *most_bytes;
    }
    free(change);
    return NULL;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* What is known, in bytes with their padding. */
struct known {
    int64_t impossible; /* proven: no arena is below this */
    int64_t arena;      /* found */
    int64_t open;       /* between the two: what is below was tried in vain */
};

/* The capacity to try next: the goal or what is not proven impossible; where that was tried, or the
 * one below it proven, half-way to the arena. At the end of that, again. */
static int64_t next_capacity(const struct placing *p, const struct known *known, int64_t goal) {
    int64_t unit = p->unit_bytes, highest = known->arena - unit;
    int64_t lowest = goal < known->impossible ? known->impossible : goal / unit * unit;
    if (known->open < lowest || known->open > highest)
        return lowest;
    return known->open + (highest - known->open) / unit / 2 * unit;
}

/* Exact searches, each with half the effort left, until the goal is reached or proven out of reach.
 */
static neap_error *search_exactly(struct placing *p, int64_t goal, struct place_effort *effort,
                                  struct known *known) {
    while (known->arena > goal && known->arena > known->impossible && effort->left > 0 &&
           !place_stopped(effort)) {
        int64_t capacity = next_capacity(p, known, goal);
        struct place_effort part = {effort->left / 2, effort->request};
        enum place_answer answer;
        if (part.left < LEAST_EXACT_EFFORT)
            part.left = effort->left;
        effort->left -= part.left;
        TRY(place_exact(&p->chains, capacity, &part, &answer));
        effort->left += part.left;
        if (answer == PLACE_FOUND)
            known->arena = capacity;
        if (answer == PLACE_IMPOSSIBLE)
            known->impossible = capacity + p->unit_bytes;
        known->open = capacity + p->unit_bytes;
    }
    return NULL;
}

static neap_error *search(struct placing *p, const struct plan_place_request *request,
                          struct known *known) {
    struct place_effort orders = {request->effort / ORDERS_SHARE, request};
    struct place_effort rest = {request->effort, request};
    if (orders.left > MOST_ORDERS_EFFORT)
        orders.left = MOST_ORDERS_EFFORT;
    rest.left -= orders.left;
    TRY(most_live(&p->chains, &known->impossible));
    int64_t goal =
        known->impossible < request->target_bytes ? request->target_bytes : known->impossible;
    goal =
        goal < INT64_MAX ? goal : INT64_MAX - 1; /* which an arena that is not known yet is not */
    TRY(place_in_orders(&p->chains, goal, &orders, &known->arena));
    return search_exactly(p, goal, &rest, known);
}

neap_error *plan_place(struct plan_lives *lives, const struct plan_place_request *request,
                       struct plan_placement *placement) {
    struct placing p = {.lives = lives};
    struct known known = {0};
    neap_error *error;
    *placement = (struct plan_placement){0};
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.chains.members, &p.chains.members));
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.chains.at, &p.chains.at));
    TRY_GOTO(memory_alloc(lives->n, sizeof *p.chain_of, &p.chain_of));
    TRY_GOTO(make_chains(&p, request->alignment_bytes));
    TRY_GOTO(search(&p, request, &known));
    for (size_t i = 0; i < lives->n; i++) {
        struct plan_life *life = &lives->at[i];
        life->offset = p.chains.at[p.chain_of[i]].offset;
        if (placement->arena_bytes < life->offset + life->bytes)
            placement->arena_bytes = life->offset + life->bytes;
    }
    /* The highest life needs no padding; which one that is, no bound knows. */
    placement->bound_bytes = known.impossible - p.padding_bytes;
    placement->optimal = placement->arena_bytes <= placement->bound_bytes;
done:
    free(p.chains.members);
    free(p.chains.at);
    free(p.chain_of);
    return error;
}
