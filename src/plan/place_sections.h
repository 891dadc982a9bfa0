/* The exact placement's view of chains: sections of time and who needs how much in them. */
#ifndef NEAP_PLAN_PLACE_SECTIONS_H
#define NEAP_PLAN_PLACE_SECTIONS_H

#include "plan/place_chains.h"

/* Sections from `from` up to, not including, `to`. */
struct place_reach {
    uint32_t from, to;
};

/* What a chain needs in some sections. */
struct place_piece {
    struct place_reach at;
    int64_t bytes;
};

/* A chain with bytes. Its pieces are adjoining, and none is larger than the one before
 * it. */
struct place_item {
    struct place_reach at;
    uint32_t first_piece, n_pieces;
    uint32_t chain;
    int64_t least_bytes; /* of its pieces */
};

struct place_entry {
    uint32_t item;
    int64_t bytes;
};

/* A step at which no chain could be added to those that need bytes: every two chains that share a
 * step share a section too. */
struct place_sections {
    struct place_item *items; /* by first section */
    struct place_piece *pieces;
    struct place_entry *entries;
    uint32_t *first_entry; /* by section, and one past the last */
    uint32_t *first_item;  /* likewise: the first that begins there or later */
    uint32_t n, n_items;
};

/* Is it more than an exact search should take on? Asked before memory is. */
bool place_sections_too_many(const struct place_chains *chains);

MUST_USE neap_error *place_sections_make(const struct place_chains *chains,
                                         struct place_sections *out);
void place_sections_free(struct place_sections *sections);

#endif
