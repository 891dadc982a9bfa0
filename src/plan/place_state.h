/* The state of an exact placement: which chains are placed where, and what that leaves the others.
 * place_exact.c searches over it. */
#ifndef NEAP_PLAN_PLACE_STATE_H
#define NEAP_PLAN_PLACE_STATE_H

#include "plan/place_sections.h"

struct place_bound {
    int64_t floor;  /* where what is placed lets it start */
    int64_t lowest; /* where it can start at best: at least the floor */
};

struct place_section {
    int64_t open_bytes;    /* of chains that are not placed yet */
    double weight;         /* 1 + how often it failed */
    uint32_t n_candidates; /* chains that could be placed now as its lowest */
    bool changed;
};

/* What to take back: a bound, or where item is PLAN_NONE the candidates of a section. */
struct place_change {
    uint32_t item, section, n_candidates;
    struct place_bound bound;
};

struct place_mark {
    size_t n_placed, n_changes;
};

struct place_state {
    struct place_sections s;
    int64_t capacity;
    struct place_section *sections;
    struct place_bound *bounds; /* by item, like the next two */
    int64_t *offsets;
    bool *placed;
    uint32_t *order; /* the items placed, as they came */
    struct place_change *changes;
    size_t n_placed, n_changes, changes_capacity;
    int64_t *keys;     /* scratch: of a section's entries */
    uint64_t work;     /* comparisons made */
    neap_error *error; /* out of memory on the way: what is here is of no use */
};

/* Nothing placed, every section changed. */
MUST_USE neap_error *place_state_make(const struct place_chains *chains, int64_t capacity,
                                      struct place_state *out);
void place_state_free(struct place_state *x);

/* Places an item at its floor: what shares a section with it lies above it from now on. No open
 * item crosses the border of `part`. */
void place_state_put(struct place_state *x, uint32_t item, struct place_reach part);

/* Bounds for what is open, from the sections of `part` that changed; false if one cannot hold its
 * chains. */
bool place_state_propagate(struct place_state *x, struct place_reach part);

/* Undoes what came after the mark. */
struct place_mark place_state_mark(const struct place_state *x);
void place_state_take_back(struct place_state *x, struct place_mark mark);

#endif
