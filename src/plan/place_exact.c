/* Exact placement: a depth-first search for offsets within a capacity.
 *
 * Every placement can be pushed down until each chain lies on the floor or on another: it is enough
 * to look for such ones, from below. At each node one section of time is chosen, and the search
 * branches on which of its chains lies lowest there, at the lowest offset that what is placed
 * leaves it; or on a chain of another section that could lie beneath one of those. Nothing goes
 * beneath a placed chain any more. Bounds for what is open (place_state.c) cut it short.
 *
 *   Choice     the section with the fewest branches, those that failed often before others. A
 *              section without free bytes leaves few.
 *   Time       where no open chain crosses, both sides are solved alone.
 *   Memory     a set of open chains with given floors that has failed is not tried again.
 *   Runs       few nodes at first, then more. Every other run follows the placement that came
 *              furthest, the rest fixed orders, all with some noise: as some branch is right
 *              everywhere, many short runs find what a long one does not.
 *
 * Sections, pushed-down placements and solving sides alone are MiniMalloc's (Moffitt, "MiniMalloc:
 * A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023); choosing
 * by failures is Boussemart et al., "Boosting systematic search by weighting constraints", ECAI
 * 2004.
 *
 * Expected load: hundreds of chains; thousands work, slowly. Effort is counted in comparisons.
 * Exact but for this: what has failed is remembered by 128 bits of hash. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "plan/place_state.h"

enum { FAILED_SLOTS = 1 << 16, WORK_BETWEEN_STOPS = 500000, MOST_LOOKS = 4 };

enum outcome { DEAD_END, SOLVED, STOPPED };

/* The open chains and their floors, hashed: all that decides whether the rest can be placed. */
struct failed {
    uint64_t key[2];
};

struct exact {
    struct place_state state;
    struct place_effort *effort;
    uint64_t next_stop, nodes, most_nodes;
    bool stopped;
    uint32_t *rank; /* by item: in which order branches are tried */
    uint32_t *branches;
    size_t n_branches, branches_capacity;
    double *scores; /* by section, and `beneath` by item: scratch */
    bool *beneath;
    struct failed *failed;
    int64_t *furthest; /* offsets of the placement that came furthest; -1: not placed */
    size_t n_furthest;
    neap_error *error;
};

static bool item_in(const struct place_item *item, uint32_t section) {
    return item->at.from <= section && section < item->at.to;
}

/* ---- what has failed ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

static struct failed hash_open(struct exact *x, struct place_reach part) {
    struct place_state *state = &x->state;
    struct failed hash = {{1, 0}};
    uint32_t first = state->s.first_item[part.from], end = state->s.first_item[part.to];
    for (uint32_t i = first; i < end; i++) {
        if (state->placed[i])
            continue;
        uint64_t item = mix((uint64_t)state->bounds[i].floor * 0x9e3779b97f4a7c15u + i);
        hash.key[0] += item;
        hash.key[1] += mix(item ^ 0xd6e8feb86659fd93u);
    }
    state->work += end - first;
    return hash;
}

/* ---- branches ------------------------------------------------------------------------------- */

static void push_branch(struct exact *x, uint32_t item) {
    if (!x->error)
        x->error = memory_grow(&x->branches, &x->branches_capacity, x->n_branches + 1,
                               sizeof *x->branches);
    if (!x->error)
        x->branches[x->n_branches++] = item;
}

static void widen(struct place_reach *reach, struct place_reach by) {
    reach->from = reach->from < by.from ? reach->from : by.from;
    reach->to = reach->to > by.to ? reach->to : by.to;
}

/* Adds what could lie beneath the lowest chain of a section without being in it: chains that end at
 * `latest` at most, where that one starts, and are beneath one that is in reach. */
static void add_beneath(struct exact *x, struct place_reach part, uint32_t section,
                        struct place_reach reach, size_t most) {
    struct place_state *state = &x->state;
    int64_t latest = state->capacity - state->sections[section].open_bytes;
    uint32_t first = state->s.first_item[part.from], end = state->s.first_item[part.to];
    for (bool again = true; again && x->n_branches < most && !x->error;) {
        again = false;
        for (uint32_t i = first; i < end; i++) {
            const struct place_item *item = &state->s.items[i];
            const struct place_bound *bound = &state->bounds[i];
            if (state->placed[i] || x->beneath[i] || item_in(item, section) ||
                item->at.to <= reach.from || item->at.from >= reach.to ||
                bound->lowest + item->least_bytes > latest)
                continue;
            x->beneath[i] = again = true;
            widen(&reach, item->at);
            if (bound->lowest == bound->floor)
                push_branch(x, i);
        }
        state->work += end - first;
    }
    memset(x->beneath + first, 0, (end - first) * sizeof *x->beneath);
}

/* Pushes the branches of a section; it may end early with `most` of them in all. */
static void add_branches(struct exact *x, struct place_reach part, uint32_t section, size_t most) {
    struct place_state *state = &x->state;
    int64_t latest = state->capacity - state->sections[section].open_bytes;
    struct place_reach reach = {section, section + 1};
    uint32_t first = state->s.first_entry[section], end = state->s.first_entry[section + 1];
    for (uint32_t entry = first; entry < end; entry++) {
        uint32_t item = state->s.entries[entry].item;
        const struct place_bound *bound = &state->bounds[item];
        if (state->placed[item] || bound->lowest > latest)
            continue;
        widen(&reach, state->s.items[item].at);
        if (bound->lowest == bound->floor)
            push_branch(x, item);
    }
    state->work += end - first;
    add_beneath(x, part, section, reach, most);
}

/* The section with the least score, less than `best`; PLAN_NONE if there is none. */
static uint32_t least_score(struct exact *x, struct place_reach part, double best) {
    uint32_t least = PLAN_NONE;
    for (uint32_t s = part.from; s < part.to; s++) {
        if (x->scores[s] >= best)
            continue;
        least = s;
        best = x->scores[s];
    }
    x->state.work += part.to - part.from;
    return least;
}

static void sort_branches(struct exact *x, size_t first) {
    for (size_t i = first; i < x->n_branches; i++) {
        uint32_t item = x->branches[i];
        size_t at = i;
        for (; at > first && x->rank[x->branches[at - 1]] > x->rank[item]; at--)
            x->branches[at] = x->branches[at - 1];
        x->branches[at] = item;
    }
}

/* Pushes the branches of the section that has the fewest for its weight. Candidates alone are a
 * lower bound of that: sections are looked at in its order, until none can be better or some have
 * been. */
static void choose_branches(struct exact *x, struct place_reach part) {
    struct place_section *sections = x->state.sections;
    size_t first = x->n_branches;
    double best = INFINITY;
    uint32_t chosen = PLAN_NONE;
    for (uint32_t s = part.from; s < part.to; s++)
        x->scores[s] =
            sections[s].open_bytes > 0 ? sections[s].n_candidates / sections[s].weight : INFINITY;
    uint32_t s;
    for (int looks = 0; looks < MOST_LOOKS && (s = least_score(x, part, best)) != PLAN_NONE;
         looks++) {
        size_t before = x->n_branches;
        double weight = sections[s].weight;
        size_t most = best < INFINITY ? before + (size_t)(best * weight) + 1 : SIZE_MAX;
        x->scores[s] = INFINITY;
        add_branches(x, part, s, most);
        double n = (double)(x->n_branches - before);
        if (n / weight < best) {
            best = n / weight;
            chosen = s;
            memmove(x->branches + first, x->branches + before,
                    (x->n_branches - before) * sizeof *x->branches);
            x->n_branches -= before - first;
        } else {
            x->n_branches = before;
        }
    }
    if (x->n_branches == first && chosen != PLAN_NONE)
        sections[chosen].weight += 1;
    sort_branches(x, first);
}

/* Could an earlier branch be exchanged for this one? */
static bool has_twin(const struct exact *x, size_t first, size_t at) {
    const struct place_item *items = x->state.s.items, *q = &items[x->branches[at]];
    for (size_t i = first; i < at; i++) {
        const struct place_item *p = &items[x->branches[i]];
        if (p->at.from == q->at.from && p->at.to == q->at.to && p->n_pieces == 1 &&
            q->n_pieces == 1 && p->least_bytes == q->least_bytes)
            return true;
    }
    return false;
}

/* ---- the search ----------------------------------------------------------------------------- */

static bool at_end(struct exact *x) {
    if (x->state.work >= x->next_stop) {
        x->next_stop = x->state.work + WORK_BETWEEN_STOPS;
        x->stopped = x->stopped || place_stopped(x->effort);
    }
    return x->stopped || x->error || x->state.error || x->state.work >= x->effort->left;
}

static void note_furthest(struct exact *x) {
    const struct place_state *state = &x->state;
    if (state->n_placed <= x->n_furthest)
        return;
    x->n_furthest = state->n_placed;
    for (uint32_t i = 0; i < state->s.n_items; i++)
        x->furthest[i] = state->placed[i] ? state->offsets[i] : -1;
}

static enum outcome solve_parts(struct exact *x, struct place_reach all);

static enum outcome try_branch(struct exact *x, struct place_reach part, uint32_t item) {
    struct place_mark mark = place_state_mark(&x->state);
    place_state_put(&x->state, item, part);
    enum outcome outcome = place_state_propagate(&x->state, part) ? solve_parts(x, part) : DEAD_END;
    if (outcome == DEAD_END)
        place_state_take_back(&x->state, mark);
    return outcome;
}

/* Places the open chains of a part. */
static enum outcome solve(struct exact *x, struct place_reach part) {
    if (x->nodes >= x->most_nodes || at_end(x))
        return STOPPED;
    x->nodes++;
    note_furthest(x);
    struct failed hash = hash_open(x, part), *slot = &x->failed[hash.key[0] % FAILED_SLOTS];
    if (slot->key[0] == hash.key[0] && slot->key[1] == hash.key[1])
        return DEAD_END;
    size_t first = x->n_branches;
    choose_branches(x, part);
    size_t end = x->n_branches;
    enum outcome outcome = x->error ? STOPPED : DEAD_END;
    for (size_t i = first; i < end && outcome == DEAD_END; i++)
        if (!has_twin(x, first, i))
            outcome = try_branch(x, part, x->branches[i]);
    x->n_branches = first;
    if (outcome == DEAD_END)
        *slot = hash;
    return outcome;
}

/* Solves what no open chain connects one after another. */
static enum outcome solve_parts(struct exact *x, struct place_reach all) {
    const struct place_sections *s = &x->state.s;
    struct place_reach part = {all.from, all.from};
    for (uint32_t i = s->first_item[all.from]; i < s->first_item[all.to]; i++) {
        if (x->state.placed[i])
            continue;
        struct place_reach at = s->items[i].at;
        if (at.from >= part.to && part.to > part.from) {
            enum outcome outcome = solve(x, part);
            if (outcome != SOLVED)
                return outcome;
        }
        if (at.from >= part.to)
            part = at;
        widen(&part, at);
    }
    return part.to > part.from ? solve(x, part) : SOLVED;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* A run's nodes, beside one for each chain, and their growth from run to run. */
static const double first_nodes = 250, nodes_growth = 1.001;
/* How far the order of branches is off, relative to its keys. */
static const double little_noise = 0.05, much_noise = 0.15;
/* How many runs may come less far than the furthest before that is forgotten. */
static const uint32_t most_vain_runs = 100;

struct rank_key {
    double key; /* descending */
    uint32_t item;
};

static int compare_ranks(const void *a, const void *b) {
    const struct rank_key *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static double by_duration(const struct exact *x, uint32_t item) {
    struct place_reach at = x->state.s.items[item].at;
    return at.to - at.from;
}

static double by_first_section(const struct exact *x, uint32_t item) {
    return -(double)x->state.s.items[item].at.from;
}

/* What lies low in the furthest placement first; what is not in it last, the longest of them first.
 */
static double by_furthest(const struct exact *x, uint32_t item) {
    if (x->n_furthest > 0 && x->furthest[item] >= 0)
        return -(double)x->furthest[item];
    return -2 * (double)x->state.capacity + by_duration(x, item);
}

static double (*const ranks[])(const struct exact *x, uint32_t item) = {
    by_duration, by_furthest, by_duration, by_furthest, by_first_section, by_furthest};
enum { N_RANKS = sizeof ranks / sizeof *ranks };

/* The order of the branches in a run: each rule as it is at first, then with noise. */
static void rank_items(struct exact *x, struct rank_key *keys, uint32_t run) {
    uint32_t n = x->state.s.n_items, round = run / N_RANKS;
    double noise = round == 0 ? 0 : round % 2 ? little_noise : much_noise;
    for (uint32_t i = 0; i < n; i++) {
        double random = 2 * (double)philox_float(philox_at(0, run, i).word[0]) - 1;
        keys[i] = (struct rank_key){ranks[run % N_RANKS](x, i) * (1 + noise * random), i};
    }
    qsort(keys, n, sizeof *keys, compare_ranks);
    for (uint32_t i = 0; i < n; i++)
        x->rank[keys[i].item] = i;
}

static enum outcome run_once(struct exact *x) {
    struct place_reach all = {0, x->state.s.n};
    place_state_take_back(&x->state, (struct place_mark){0, 0});
    for (uint32_t s = 0; s < all.to; s++)
        x->state.sections[s].changed = true;
    x->n_branches = 0;
    x->nodes = 0;
    return place_state_propagate(&x->state, all) ? solve_parts(x, all) : DEAD_END;
}

static enum outcome run_all(struct exact *x, struct rank_key *keys) {
    enum outcome outcome = STOPPED;
    double nodes = first_nodes;
    uint32_t n_vain = 0;
    for (uint32_t run = 0; outcome == STOPPED && !at_end(x); run++) {
        size_t furthest = x->n_furthest;
        rank_items(x, keys, run);
        x->most_nodes = (uint64_t)nodes + x->state.s.n_items;
        outcome = run_once(x);
        nodes *= nodes_growth;
        n_vain = x->n_furthest > furthest ? 0 : n_vain + 1;
        if (n_vain > most_vain_runs)
            x->n_furthest = n_vain = 0;
    }
    return outcome;
}

static neap_error *allocate(struct exact *x, struct rank_key **keys) {
    const struct place_sections *s = &x->state.s;
    TRY(memory_alloc(s->n_items, sizeof *x->rank, &x->rank));
    TRY(memory_alloc(s->n_items, sizeof *x->beneath, &x->beneath));
    TRY(memory_alloc(s->n_items, sizeof *x->furthest, &x->furthest));
    TRY(memory_alloc(s->n, sizeof *x->scores, &x->scores));
    TRY(memory_alloc(FAILED_SLOTS, sizeof *x->failed, &x->failed));
    return memory_alloc(s->n_items, sizeof **keys, keys);
}

static void release(struct exact *x) {
    place_state_free(&x->state);
    free(x->rank);
    free(x->beneath);
    free(x->furthest);
    free(x->scores);
    free(x->failed);
    free(x->branches);
}

static void set_offsets(const struct exact *x, struct place_chains *chains) {
    const struct place_sections *s = &x->state.s;
    for (uint32_t chain = 0; chain < chains->n; chain++)
        chains->at[chain].offset = 0; /* what has no bytes is no item */
    for (uint32_t i = 0; i < s->n_items; i++)
        chains->at[s->items[i].chain].offset = x->state.offsets[i];
}

neap_error *place_exact(struct place_chains *chains, int64_t capacity_bytes,
                        struct place_effort *effort, enum place_answer *answer) {
    static const enum place_answer answers[] = {
        [DEAD_END] = PLACE_IMPOSSIBLE, [SOLVED] = PLACE_FOUND, [STOPPED] = PLACE_STOPPED};
    struct exact x = {.effort = effort};
    struct rank_key *keys = NULL;
    neap_error *error = NULL;
    *answer = PLACE_STOPPED;
    if (place_sections_too_many(chains)) {
        effort->left = 0;
        return NULL;
    }
    TRY_GOTO(place_state_make(chains, capacity_bytes, &x.state));
    TRY_GOTO(allocate(&x, &keys));
    *answer = answers[run_all(&x, keys)];
    TRY_GOTO(x.error);
    TRY_GOTO(x.state.error);
    if (*answer == PLACE_FOUND)
        set_offsets(&x, chains);
    effort->left -= x.state.work < effort->left ? x.state.work : effort->left;
done:
    release(&x);
    free(keys);
    return error;
}
