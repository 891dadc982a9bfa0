/* Exact placement: a depth-first search for offsets within a capacity.
 *
 * Every placement can be pushed down until each chain lies on the floor or on another: it is enough
 * to look for such ones, from below. At each node one section of time is chosen, and the search
 * branches on which of its chains lies lowest there, at the lowest offset that what is placed
 * leaves it; or on a chain of another section that could lie beneath one of those. Nothing goes
 * beneath a placed chain any more.
 *
 *   Bounds     every chain has the lowest offset that it could still get. In a section, chains in
 *              the order of these must end within the capacity; a chain that cannot be the lowest
 *              there lies above one that can.
 *   Choice     the section with the fewest branches, those that failed often before others. A
 *              section without free bytes leaves few.
 *   Time       where no open chain crosses, both sides are solved alone.
 *   Memory     a set of open chains with given floors that has failed is not tried again.
 *   Restarts   few nodes at first, then more; the order of the branches differs from run to run.
 *
 * Sections, canonical placements, and solving sides alone are those of MiniMalloc (Moffitt, "A
 * Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023); choosing
 * the section by its failures is Boussemart et al., "Boosting systematic search by weighting
 * constraints", ECAI 2004.
 *
 * Expected load: hundreds of chains; thousands work, slowly. Effort is counted in comparisons.
 * Exact but for this: what has failed is remembered by 128 bits of hash. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "plan/place_sections.h"

enum { FIRST_NODES = 250, FAILED_SLOTS = 1 << 16, WORK_BETWEEN_LOOKS = 500000 };
static const double NOISE = 0.6, NODES_GROWTH = 1.01;

enum outcome { DEAD_END, SOLVED, STOPPED };

struct bound {
    int64_t floor;  /* where what is placed lets it start */
    int64_t lowest; /* where it can start at best: at least the floor */
};

struct section {
    int64_t open_bytes;
    double weight;         /* 1 + how often it failed */
    uint32_t n_candidates; /* chains that can be placed now as its lowest */
    bool changed;
};

struct failed {
    uint64_t key[2];
};

/* What to take back: a bound, or where item is PLAN_NONE the candidates of a section. */
struct change {
    uint32_t item, section, n_candidates;
    struct bound bound;
};

struct exact {
    struct place_sections s;
    int64_t capacity;
    struct bound *bounds; /* by item */
    int64_t *offsets;
    bool *placed;
    uint32_t *rank;
    struct section *sections;
    struct change *changes;
    uint32_t *order, *branches; /* `order`: placed items as they came */
    size_t n_changes, changes_capacity, n_branches, branches_capacity, n_order;
    int64_t *keys; /* scratch, by entry of a section or by section */
    double *scores;
    bool *beneath;
    struct failed *failed;
    struct place_effort *effort;
    uint64_t work, next_look, nodes, most_nodes;
    bool stopped;
    neap_error *error;
};

/* ---- bounds --------------------------------------------------------------------------------- */

static bool push_change(struct exact *x, struct change change) {
    if (!x->error)
        x->error =
            memory_grow(&x->changes, &x->changes_capacity, x->n_changes + 1, sizeof *x->changes);
    if (x->error)
        return false;
    x->changes[x->n_changes++] = change;
    return true;
}

static void set_bound(struct exact *x, uint32_t item, struct bound bound) {
    struct change change = {.item = item, .bound = x->bounds[item]};
    if (!push_change(x, change))
        return;
    x->bounds[item] = bound;
    for (uint32_t s = x->s.items[item].from; s < x->s.items[item].to; s++)
        x->sections[s].changed = true;
}

static void set_candidates(struct exact *x, uint32_t section, uint32_t n) {
    struct change change = {PLAN_NONE, section, x->sections[section].n_candidates, {0}};
    if (x->sections[section].n_candidates != n && push_change(x, change))
        x->sections[section].n_candidates = n;
}

/* Sorts a section's entries by their lowest offsets, placed ones last; gives how many are open. */
static uint32_t sort_entries(struct exact *x, uint32_t section) {
    uint32_t first = x->s.first_entry[section], n = x->s.first_entry[section + 1] - first;
    struct place_entry *entries = x->s.entries + first;
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct place_entry entry = entries[i];
        bool open = !x->placed[entry.item];
        int64_t key = open ? x->bounds[entry.item].lowest : INT64_MAX;
        uint32_t at = i;
        for (; at > 0 && x->keys[at - 1] > key; at--) {
            entries[at] = entries[at - 1];
            x->keys[at] = x->keys[at - 1];
        }
        entries[at] = entry;
        x->keys[at] = key;
        n_open += open;
    }
    x->work += n;
    return n_open;
}

/* Can a section's open chains end within the capacity? Raises those that cannot be its lowest above
 * one that can. */
static bool section_holds(struct exact *x, uint32_t section) {
    struct section *s = &x->sections[section];
    uint32_t n = sort_entries(x, section), n_candidates = 0;
    const struct place_entry *entries = x->s.entries + x->s.first_entry[section];
    int64_t latest = x->capacity - s->open_bytes, end = 0, least_end = INT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct bound *bound = &x->bounds[entries[i].item];
        end = (end < bound->lowest ? bound->lowest : end) + entries[i].bytes;
        if (bound->lowest > latest)
            continue;
        if (least_end > bound->lowest + entries[i].bytes)
            least_end = bound->lowest + entries[i].bytes;
        n_candidates += bound->lowest == bound->floor;
    }
    if (n > 0 && (end > x->capacity || least_end == INT64_MAX))
        return false;
    set_candidates(x, section, n_candidates);
    for (uint32_t i = n; i > 0 && x->keys[i - 1] > latest; i--) {
        uint32_t item = entries[i - 1].item;
        if (x->bounds[item].lowest < least_end)
            set_bound(x, item, (struct bound){x->bounds[item].floor, least_end});
    }
    return true;
}

/* Until nothing changes; false if some section cannot hold its chains. */
static bool propagate(struct exact *x, uint32_t from, uint32_t to) {
    for (bool again = true; again;) {
        again = false;
        for (uint32_t s = from; s < to; s++) {
            if (!x->sections[s].changed)
                continue;
            x->sections[s].changed = false;
            if (!section_holds(x, s)) {
                x->sections[s].weight += 1;
                for (uint32_t rest = from; rest < to; rest++)
                    x->sections[rest].changed = false;
                return false;
            }
            again = true;
        }
    }
    return true;
}

/* ---- placing -------------------------------------------------------------------------------- */

/* An item's bytes in a section, or in its first one. */
static int64_t bytes_at(const struct exact *x, const struct place_item *item, uint32_t section) {
    const struct place_piece *piece = x->s.pieces + item->first_piece;
    while (section >= piece->to)
        piece++;
    return piece->bytes;
}

static void add_open_bytes(struct exact *x, uint32_t item, int64_t sign) {
    const struct place_item *it = &x->s.items[item];
    for (uint32_t i = 0; i < it->n_pieces; i++) {
        const struct place_piece *piece = &x->s.pieces[it->first_piece + i];
        for (uint32_t s = piece->from; s < piece->to; s++)
            x->sections[s].open_bytes += sign * piece->bytes;
    }
}

/* At its floor; what shares a section with it lies above it. The open items are those that begin in
 * the sections from `first` up to `to`. */
static void place(struct exact *x, uint32_t item, uint32_t first, uint32_t to) {
    const struct place_item *it = &x->s.items[item];
    x->placed[item] = true;
    x->order[x->n_order++] = item;
    x->offsets[item] = x->bounds[item].floor;
    add_open_bytes(x, item, -1);
    for (uint32_t s = it->from; s < it->to; s++)
        x->sections[s].changed = true;
    uint32_t end = x->s.first_item[it->to < to ? it->to : to];
    for (uint32_t i = x->s.first_item[first]; i < end; i++) {
        const struct place_item *other = &x->s.items[i];
        if (x->placed[i] || other->to <= it->from)
            continue;
        /* Pieces shrink: the first that both are in counts. */
        uint32_t meet = it->from < other->from ? other->from : it->from;
        struct bound bound = x->bounds[i];
        int64_t top = x->offsets[item] + bytes_at(x, it, meet);
        if (bound.floor >= top)
            continue;
        bound.floor = top;
        bound.lowest = bound.lowest < top ? top : bound.lowest;
        set_bound(x, i, bound);
    }
    x->work += end - x->s.first_item[first];
}

static void take_back(struct exact *x, size_t n_order, size_t n_changes) {
    while (x->n_changes > n_changes) {
        const struct change *change = &x->changes[--x->n_changes];
        if (change->item == PLAN_NONE)
            x->sections[change->section].n_candidates = change->n_candidates;
        else
            x->bounds[change->item] = change->bound;
    }
    while (x->n_order > n_order) {
        uint32_t item = x->order[--x->n_order];
        x->placed[item] = false;
        add_open_bytes(x, item, 1);
    }
}

/* ---- what has failed ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* The open chains and their floors: all that decides whether the rest can be placed. */
static struct failed state_of(struct exact *x, uint32_t from, uint32_t to) {
    struct failed state = {{1, 0}};
    for (uint32_t i = x->s.first_item[from]; i < x->s.first_item[to]; i++) {
        if (x->placed[i])
            continue;
        uint64_t item = mix((uint64_t)x->bounds[i].floor * 0x9e3779b97f4a7c15u + i);
        state.key[0] += item;
        state.key[1] += mix(item ^ 0xd6e8feb86659fd93u);
    }
    return state;
}

static struct failed *slot_of(struct exact *x, const struct failed *state) {
    return &x->failed[state->key[0] % FAILED_SLOTS];
}

/* ---- branching ------------------------------------------------------------------------------ */

static void push_branch(struct exact *x, uint32_t item) {
    if (!x->error)
        x->error = memory_grow(&x->branches, &x->branches_capacity, x->n_branches + 1,
                               sizeof *x->branches);
    if (!x->error)
        x->branches[x->n_branches++] = item;
}

/* Sections that chains reach over. */
struct reach {
    uint32_t from, to;
};

static void widen(struct reach *reach, const struct place_item *item) {
    reach->from = reach->from < item->from ? reach->from : item->from;
    reach->to = reach->to > item->to ? reach->to : item->to;
}

/* Adds what could lie beneath the lowest chain of a section without being in it: chains that end at
 * `latest`, on which that one lies at most, and are beneath one that is in reach. */
static void add_beneath(struct exact *x, struct reach component, uint32_t section,
                        struct reach reach, int64_t latest, size_t most) {
    uint32_t begin = x->s.first_item[component.from], end = x->s.first_item[component.to];
    for (bool again = true; again && x->n_branches < most;) {
        again = false;
        for (uint32_t i = begin; i < end; i++) {
            const struct place_item *item = &x->s.items[i];
            if (x->placed[i] || x->beneath[i] || item->to <= reach.from || item->from >= reach.to ||
                x->bounds[i].lowest + item->least_bytes > latest ||
                (item->from <= section && section < item->to))
                continue;
            x->beneath[i] = again = true;
            widen(&reach, item);
            if (x->bounds[i].lowest == x->bounds[i].floor)
                push_branch(x, i);
        }
        x->work += end - begin;
    }
    memset(x->beneath + begin, 0, (end - begin) * sizeof *x->beneath);
}

/* Pushes the branches of a section, up to `most` in all. */
static void add_branches(struct exact *x, struct reach component, uint32_t section, size_t most) {
    int64_t latest = x->capacity - x->sections[section].open_bytes;
    struct reach reach = {section, section + 1};
    for (uint32_t e = x->s.first_entry[section]; e < x->s.first_entry[section + 1]; e++) {
        uint32_t item = x->s.entries[e].item;
        if (x->placed[item] || x->bounds[item].lowest > latest)
            continue;
        widen(&reach, &x->s.items[item]);
        if (x->bounds[item].lowest == x->bounds[item].floor)
            push_branch(x, item);
    }
    x->work += x->s.first_entry[section + 1] - x->s.first_entry[section];
    add_beneath(x, component, section, reach, latest, most);
}

/* Of the sections not looked at, the one that promises the fewest branches for its weight, fewer
 * than `most`; PLAN_NONE if there is none. */
static uint32_t next_section(struct exact *x, struct reach component, double most) {
    uint32_t best = PLAN_NONE;
    for (uint32_t s = component.from; s < component.to; s++) {
        if (x->scores[s] >= most)
            continue;
        best = s;
        most = x->scores[s];
    }
    x->work += component.to - component.from;
    return best;
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

/* Pushes the branches of the section that has the fewest for its weight. */
static void choose_branches(struct exact *x, struct reach component) {
    size_t first = x->n_branches;
    double best = INFINITY;
    uint32_t chosen = PLAN_NONE;
    for (uint32_t s = component.from; s < component.to; s++)
        x->scores[s] = x->sections[s].open_bytes > 0
                           ? x->sections[s].n_candidates / x->sections[s].weight
                           : INFINITY;
    for (uint32_t s; (s = next_section(x, component, best)) != PLAN_NONE;) {
        size_t before = x->n_branches;
        double weight = x->sections[s].weight;
        size_t most = best < INFINITY ? (size_t)(best * weight) + 1 : SIZE_MAX - before;
        x->scores[s] = INFINITY;
        add_branches(x, component, s, before + most);
        size_t n = x->n_branches - before;
        if (n / weight < best) {
            best = n / weight;
            chosen = s;
            memmove(x->branches + first, x->branches + before, n * sizeof *x->branches);
            x->n_branches = first + n;
        } else {
            x->n_branches = before;
        }
    }
    if (x->n_branches == first && chosen != PLAN_NONE)
        x->sections[chosen].weight += 1;
    sort_branches(x, first);
}

/* Two items that can be exchanged. */
static bool twins(const struct exact *x, uint32_t a, uint32_t b) {
    const struct place_item *p = &x->s.items[a], *q = &x->s.items[b];
    return p->from == q->from && p->to == q->to && p->n_pieces == 1 && q->n_pieces == 1 &&
           p->least_bytes == q->least_bytes;
}

static bool has_twin(const struct exact *x, size_t first, size_t at) {
    for (size_t i = first; i < at; i++)
        if (twins(x, x->branches[i], x->branches[at]))
            return true;
    return false;
}

static enum outcome solve_parts(struct exact *x, struct reach all);

static enum outcome solve_branch(struct exact *x, struct reach component, uint32_t item) {
    size_t n_order = x->n_order, n_changes = x->n_changes;
    enum outcome outcome = DEAD_END;
    place(x, item, component.from, component.to);
    if (propagate(x, component.from, component.to))
        outcome = solve_parts(x, component);
    if (outcome == DEAD_END)
        take_back(x, n_order, n_changes);
    return outcome;
}

/* Is no effort left, or has someone or something stopped it? */
static bool at_end(struct exact *x) {
    if (x->work >= x->next_look) {
        x->next_look = x->work + WORK_BETWEEN_LOOKS;
        x->stopped = x->stopped || place_stopped(x->effort);
    }
    return x->stopped || x->error || x->work >= x->effort->left;
}

/* Places the open chains of a component. */
static enum outcome solve(struct exact *x, struct reach component) {
    if (x->nodes >= x->most_nodes || at_end(x))
        return STOPPED;
    x->nodes++;
    struct failed state = state_of(x, component.from, component.to), *slot = slot_of(x, &state);
    x->work += x->s.first_item[component.to] - x->s.first_item[component.from];
    if (slot->key[0] == state.key[0] && slot->key[1] == state.key[1])
        return DEAD_END;
    size_t first = x->n_branches;
    choose_branches(x, component);
    size_t end = x->n_branches;
    enum outcome outcome = DEAD_END;
    for (size_t i = first; i < end && outcome == DEAD_END; i++)
        if (!has_twin(x, first, i))
            outcome = solve_branch(x, component, x->branches[i]);
    x->n_branches = first;
    if (outcome == DEAD_END && !x->error)
        *slot = state;
    return outcome;
}

/* Solves what no open chain connects one after another. */
static enum outcome solve_parts(struct exact *x, struct reach all) {
    struct reach part = {all.from, all.from};
    for (uint32_t i = x->s.first_item[all.from]; i < x->s.first_item[all.to]; i++) {
        const struct place_item *item = &x->s.items[i];
        if (x->placed[i])
            continue;
        if (item->from >= part.to) {
            if (part.to > part.from) {
                enum outcome outcome = solve(x, part);
                if (outcome != SOLVED)
                    return outcome;
            }
            part = (struct reach){item->from, item->from};
        }
        widen(&part, item);
    }
    return part.to > part.from ? solve(x, part) : SOLVED;
}

/* ---- runs ----------------------------------------------------------------------------------- */

struct rank_key {
    double key;
    uint32_t item;
};

static int compare_ranks(const void *a, const void *b) {
    const struct rank_key *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static double rank_by_duration(const struct place_item *item, int64_t bytes) {
    return (item->to - item->from) * (1 + 1e-18 * (double)bytes);
}

static double rank_by_area(const struct place_item *item, int64_t bytes) {
    return (double)(item->to - item->from) * (double)bytes;
}

static double rank_by_first(const struct place_item *item, int64_t bytes) {
    (void)bytes;
    return -(double)item->from;
}

/* What is tried first in a run. */
static double (*const ranks[])(const struct place_item *item,
                               int64_t bytes) = {rank_by_duration, rank_by_first, rank_by_area};
enum { N_RANKS = sizeof ranks / sizeof *ranks };

/* The branches' order: by one of the rules, the first time as it is, then with some noise. */
static void rank_items(struct exact *x, struct rank_key *keys, uint64_t run) {
    for (uint32_t i = 0; i < x->s.n_items; i++) {
        const struct place_item *item = &x->s.items[i];
        struct philox_block random = philox_at(0, run, i);
        double noise = run < N_RANKS ? 0 : NOISE * (philox_float(random.word[0]) - 0.5);
        int64_t bytes = x->s.pieces[item->first_piece].bytes;
        keys[i] = (struct rank_key){ranks[run % N_RANKS](item, bytes) * (1 + noise), i};
    }
    qsort(keys, x->s.n_items, sizeof *keys, compare_ranks);
    for (uint32_t i = 0; i < x->s.n_items; i++)
        x->rank[keys[i].item] = i;
}

static enum outcome run_once(struct exact *x) {
    take_back(x, 0, 0);
    x->n_branches = 0;
    x->nodes = 0;
    for (uint32_t s = 0; s < x->s.n; s++)
        x->sections[s].changed = true;
    return propagate(x, 0, x->s.n) ? solve_parts(x, (struct reach){0, x->s.n}) : DEAD_END;
}

static enum outcome run_all(struct exact *x, struct rank_key *keys) {
    enum outcome outcome = STOPPED;
    double most_nodes = FIRST_NODES;
    for (uint32_t i = 0; i < x->s.n_items; i++)
        add_open_bytes(x, i, 1);
    for (uint32_t s = 0; s < x->s.n; s++)
        x->sections[s].weight = 1;
    for (uint64_t run = 0; outcome == STOPPED && !at_end(x); run++) {
        rank_items(x, keys, run);
        x->most_nodes = (uint64_t)most_nodes + x->s.n_items;
        outcome = run_once(x);
        most_nodes *= NODES_GROWTH;
    }
    return outcome;
}

static neap_error *allocate(struct exact *x, struct rank_key **keys) {
    uint32_t n = x->s.n_items, most = x->s.n;
    for (uint32_t s = 0; s < x->s.n; s++)
        if (most < x->s.first_entry[s + 1] - x->s.first_entry[s])
            most = x->s.first_entry[s + 1] - x->s.first_entry[s];
    TRY(memory_alloc(n, sizeof *x->bounds, &x->bounds));
    TRY(memory_alloc(n, sizeof *x->offsets, &x->offsets));
    TRY(memory_alloc(n, sizeof *x->placed, &x->placed));
    TRY(memory_alloc(n, sizeof *x->rank, &x->rank));
    TRY(memory_alloc(n, sizeof *x->order, &x->order));
    TRY(memory_alloc(n, sizeof *x->beneath, &x->beneath));
    TRY(memory_alloc(x->s.n, sizeof *x->sections, &x->sections));
    TRY(memory_alloc(x->s.n, sizeof *x->scores, &x->scores));
    TRY(memory_alloc(most, sizeof *x->keys, &x->keys));
    TRY(memory_alloc(FAILED_SLOTS, sizeof *x->failed, &x->failed));
    return memory_alloc(n, sizeof **keys, keys);
}

static void release(struct exact *x) {
    place_sections_free(&x->s);
    free(x->bounds);
    free(x->offsets);
    free(x->placed);
    free(x->rank);
    free(x->order);
    free(x->beneath);
    free(x->sections);
    free(x->scores);
    free(x->keys);
    free(x->failed);
    free(x->changes);
    free(x->branches);
}

neap_error *place_exact(struct place_chains *chains, int64_t capacity_bytes,
                        struct place_effort *effort, enum place_answer *answer) {
    struct exact x = {.capacity = capacity_bytes, .effort = effort};
    struct rank_key *keys = NULL;
    enum outcome outcome = STOPPED;
    neap_error *error;
    TRY_GOTO(place_sections_make(chains, &x.s));
    TRY_GOTO(allocate(&x, &keys));
    outcome = run_all(&x, keys);
    TRY_GOTO(x.error);
    if (outcome == SOLVED) {
        for (uint32_t chain = 0; chain < chains->n; chain++)
            chains->at[chain].offset = 0; /* what has no bytes is no item */
        for (uint32_t i = 0; i < x.s.n_items; i++)
            chains->at[x.s.items[i].chain].offset = x.offsets[i];
    }
    *answer = outcome == SOLVED     ? PLACE_FOUND
              : outcome == DEAD_END ? PLACE_IMPOSSIBLE
                                    : PLACE_STOPPED;
    effort->left -= x.work < effort->left ? x.work : effort->left;
done:
    release(&x);
    free(keys);
    return error;
}
