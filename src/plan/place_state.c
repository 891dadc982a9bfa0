/* What is placed, and bounds for the rest.
 *
 * In a section, the open chains in the order of their lowest offsets must end within the capacity
 * (one machine with release times: Jackson's rule); a chain that cannot be the lowest there lies
 * above one that can. Every change is noted and can be taken back. */
#include "plan/place_state.h"

#include <stdlib.h>

/* ---- bounds --------------------------------------------------------------------------------- */

static bool push_change(struct place_state *x, struct place_change change) {
    if (!x->error)
        x->error =
            memory_grow(&x->changes, &x->changes_capacity, x->n_changes + 1, sizeof *x->changes);
    if (x->error)
        return false;
    x->changes[x->n_changes++] = change;
    return true;
}

static void set_bound(struct place_state *x, uint32_t item, struct place_bound bound) {
    struct place_change change = {.item = item, .bound = x->bounds[item]};
    if (!push_change(x, change))
        return;
    x->bounds[item] = bound;
    for (uint32_t s = x->s.items[item].at.from; s < x->s.items[item].at.to; s++)
        x->sections[s].changed = true;
}

static void set_candidates(struct place_state *x, uint32_t section, uint32_t n) {
    struct place_change change = {
        .item = PLAN_NONE, .section = section, .n_candidates = x->sections[section].n_candidates};
    if (change.n_candidates != n && push_change(x, change))
        x->sections[section].n_candidates = n;
}

/* Sorts a section's entries by their lowest offsets, placed ones last; gives how many are open.
 * They mostly stand in that order already. */
static uint32_t sort_entries(struct place_state *x, uint32_t section) {
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
        x->work += 1 + (i - at);
    }
    return n_open;
}

static bool section_holds(struct place_state *x, uint32_t section) {
    const struct place_section *s = &x->sections[section];
    uint32_t n = sort_entries(x, section), n_candidates = 0;
    const struct place_entry *entries = x->s.entries + x->s.first_entry[section];
    /* Where the lowest can start at most, and ends at least. */
    int64_t latest = x->capacity - s->open_bytes, least_end = INT64_MAX, end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct place_bound *bound = &x->bounds[entries[i].item];
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
            set_bound(x, item, (struct place_bound){x->bounds[item].floor, least_end});
    }
    return true;
}

static void forget_changed(struct place_state *x, struct place_reach part) {
    for (uint32_t s = part.from; s < part.to; s++)
        x->sections[s].changed = false;
}

bool place_state_propagate(struct place_state *x, struct place_reach part) {
    for (bool again = true; again;) {
        again = false;
        for (uint32_t s = part.from; s < part.to; s++) {
            if (!x->sections[s].changed)
                continue;
            x->sections[s].changed = false;
            if (!section_holds(x, s)) {
                x->sections[s].weight += 1;
                forget_changed(x, part);
                return false;
            }
            again = true;
        }
        x->work += part.to - part.from;
    }
    return true;
}

/* ---- placing -------------------------------------------------------------------------------- */

static int64_t bytes_in(const struct place_state *x, const struct place_item *item,
                        uint32_t section) {
    const struct place_piece *piece = x->s.pieces + item->first_piece;
    while (section >= piece->at.to)
        piece++;
    return piece->bytes;
}

static void add_open_bytes(struct place_state *x, uint32_t item, int64_t sign) {
    const struct place_item *it = &x->s.items[item];
    for (uint32_t i = 0; i < it->n_pieces; i++) {
        const struct place_piece *piece = &x->s.pieces[it->first_piece + i];
        for (uint32_t s = piece->at.from; s < piece->at.to; s++)
            x->sections[s].open_bytes += sign * piece->bytes;
    }
}

/* Raises an open item above a placed one with which it shares a section. */
static void raise_above(struct place_state *x, uint32_t item, uint32_t placed) {
    const struct place_item *high = &x->s.items[item], *low = &x->s.items[placed];
    /* Pieces shrink: the first section that both are in counts. */
    uint32_t meet = low->at.from < high->at.from ? high->at.from : low->at.from;
    int64_t top = x->offsets[placed] + bytes_in(x, low, meet);
    struct place_bound bound = x->bounds[item];
    if (bound.floor >= top)
        return;
    bound.floor = top;
    bound.lowest = bound.lowest < top ? top : bound.lowest;
    set_bound(x, item, bound);
}

void place_state_put(struct place_state *x, uint32_t item, struct place_reach part) {
    const struct place_item *it = &x->s.items[item];
    x->placed[item] = true;
    x->order[x->n_placed++] = item;
    x->offsets[item] = x->bounds[item].floor;
    add_open_bytes(x, item, -1);
    for (uint32_t s = it->at.from; s < it->at.to; s++)
        x->sections[s].changed = true;
    uint32_t first = x->s.first_item[part.from], end = x->s.first_item[it->at.to];
    for (uint32_t i = first; i < end; i++)
        if (!x->placed[i] && x->s.items[i].at.to > it->at.from)
            raise_above(x, i, item);
    x->work += end - first;
}

struct place_mark place_state_mark(const struct place_state *x) {
    return (struct place_mark){x->n_placed, x->n_changes};
}

void place_state_take_back(struct place_state *x, struct place_mark mark) {
    while (x->n_changes > mark.n_changes) {
        const struct place_change *change = &x->changes[--x->n_changes];
        if (change->item == PLAN_NONE)
            x->sections[change->section].n_candidates = change->n_candidates;
        else
            x->bounds[change->item] = change->bound;
    }
    while (x->n_placed > mark.n_placed) {
        uint32_t item = x->order[--x->n_placed];
        x->placed[item] = false;
        add_open_bytes(x, item, 1);
    }
}

/* ---- making --------------------------------------------------------------------------------- */

static uint32_t most_in_a_section(const struct place_sections *s) {
    uint32_t most = 0;
    for (uint32_t section = 0; section < s->n; section++)
        if (most < s->first_entry[section + 1] - s->first_entry[section])
            most = s->first_entry[section + 1] - s->first_entry[section];
    return most;
}

static neap_error *allocate(struct place_state *x) {
    TRY(memory_alloc(x->s.n_items, sizeof *x->bounds, &x->bounds));
    TRY(memory_alloc(x->s.n_items, sizeof *x->offsets, &x->offsets));
    TRY(memory_alloc(x->s.n_items, sizeof *x->placed, &x->placed));
    TRY(memory_alloc(x->s.n_items, sizeof *x->order, &x->order));
    TRY(memory_alloc(x->s.n, sizeof *x->sections, &x->sections));
    return memory_alloc(most_in_a_section(&x->s), sizeof *x->keys, &x->keys);
}

neap_error *place_state_make(const struct place_chains *chains, int64_t capacity,
                             struct place_state *out) {
    *out = (struct place_state){.capacity = capacity};
    TRY(place_sections_make(chains, &out->s));
    neap_error *error = allocate(out);
    if (error) {
        place_state_free(out);
        return error;
    }
    for (uint32_t s = 0; s < out->s.n; s++)
        out->sections[s] = (struct place_section){.weight = 1, .changed = true};
    for (uint32_t i = 0; i < out->s.n_items; i++)
        add_open_bytes(out, i, 1);
    out->work = out->s.first_entry[out->s.n];
    return NULL;
}

void place_state_free(struct place_state *x) {
    place_sections_free(&x->s);
    free(x->sections);
    free(x->bounds);
    free(x->offsets);
    free(x->placed);
    free(x->order);
    free(x->changes);
    free(x->keys);
    *x = (struct place_state){0};
}
