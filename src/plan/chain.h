/* A training step as a chain of blocks: what the files chain*.c share. The words are chain.c's. */
#ifndef NEAP_PLAN_CHAIN_H
#define NEAP_PLAN_CHAIN_H

#include "plan/problem.h"

/* Something that a group of blocks may keep of itself for its backward, and what that costs: the
 * first n_kept of its keepable values. Bytes are peaks, less what is kept at the group's entry and
 * less fixed values; seconds are those of forward ops that run again. */
struct chain_option {
    uint32_t n_kept;
    int64_t held_bytes;                 /* while later blocks run, what they read included */
    int64_t first_bytes, again_bytes;   /* of the forward: the first run, another */
    int64_t back_bytes, turn_bytes;     /* of the backward; of another forward with it at once */
    double again_seconds, back_seconds; /* of another forward, of the backward */
    double turn_seconds;                /* of both at once */
};

/* Blocks that run as one. */
struct chain_group {
    uint32_t first, last; /* blocks */
    uint32_t *keepable;   /* made here, needed by the backward here; best kept first */
    uint32_t n_keepable;
    struct chain_option *options;
    uint32_t n_options;
    int64_t fixed_first_bytes; /* fixed values that are live in the group's first run */
    int64_t lazy_bytes[2];     /* the backward making what it lacks as it goes, */
    double lazy_seconds[2];    /* [0] out of the entry, [1] with the last block's exit there */
};

struct chain_block {
    uint32_t first, end;           /* forward ops */
    uint32_t back_first, back_end; /* backward ops */
    uint32_t *entry;               /* values made before the block and needed from here on */
    uint32_t *arriving;            /* values of later blocks that backward ops from here on read */
    uint32_t n_entry, n_arriving;
    int64_t arriving_bytes;
    int64_t exit_bytes;         /* of what is made here, needed behind, and by the backward here */
    int64_t fixed_first_bytes;  /* fixed values that are live in the block's first run */
    int64_t fixed_again_bytes;  /* and from then on until its backward is through */
    double again_seconds;       /* of running the forward again for what is needed behind */
    bool idle;                  /* its backward does nothing and leaves nothing behind */
    struct chain_group *groups; /* those that begin here, the smallest first: the block alone */
    uint32_t n_groups, most_groups;
};

struct chain {
    const struct plan_problem *problem;
    struct pool pool;    /* owns everything below */
    uint32_t border;     /* the first op of the backward; 0: there is no chain */
    uint32_t *level;     /* by op from the border on: the forward op it belongs to; never rises */
    uint32_t *last_read; /* by value: the last forward op that reads it, else its producer */
    struct chain_block *blocks;
    uint32_t n_blocks;
    uint32_t *block_of; /* by op */
    bool *again;        /* by op: a forward op that may run again at any time until its backward */
    bool *spoils;       /* by op: it changes what making a value again would still take */
    bool *fixed;        /* by value: made once, and kept as long as anything could need it */
    uint32_t *made;     /* by value: the block that makes it, forward or backward */
    uint32_t *deepest;  /* by value: the last block that needs it, forward or backward */
    uint32_t *lowest;   /* by value: the first whose backward may need it; PLAN_NONE: none */
    int64_t *between;   /* [s * n_blocks + e]: bytes at the entry of e that are not at that of s */
    int64_t *pass_bytes[2]; /* [s * n_blocks + k]: the peak of running block k's forward the [0]
                             * first, [1] another time, less what is kept at the entry of s */
};

/* chain_levels.c: border, level and last_read. */
MUST_USE neap_error *chain_find_levels(struct chain *chain);

/* chain_cuts.c: where blocks begin: the forward ops marked in `cut` (by op), making at most
 * most_blocks. Unless at every_place, not where more is kept than at a place beside it, nor where a
 * large value made behind the cut is read by the backward of what is before. */
MUST_USE neap_error *chain_find_cuts(const struct chain *chain, uint32_t most_blocks,
                                     bool every_place, bool *cut, uint32_t *n_blocks);

/* chain_blocks.c: everything about the blocks between cuts, but for what they can keep. */
MUST_USE neap_error *chain_find_blocks(struct chain *chain, const bool *cut, uint32_t n_blocks);

/* chain_options.c: groups of them, what they can keep, and what everything costs. */
MUST_USE neap_error *chain_find_options(struct chain *chain);

/* chain_table.c: the fewest seconds of recompute for each number of slots. */
struct chain_table {
    const struct chain *chain;
    uint32_t n_blocks;
    int64_t slot_bytes;
    size_t n_slots; /* costs are known for 0 … n_slots */
    float *costs, *zeros;
};
MUST_USE neap_error *chain_table_open(const struct chain *chain, int64_t capacity_bytes,
                                      struct chain_table *table);
void chain_table_close(struct chain_table *table);

/* By slots; never rising, infinite where there is no schedule. */
const float *chain_table_costs(const struct chain_table *table);

/* The schedule in m slots, which there must be. */
MUST_USE neap_error *chain_table_write(const struct chain_table *table, size_t m,
                                       struct plan_schedule *schedule);

/* ---- chain_walk.c: the ops that a group of blocks runs
 * ---------------------------------------------- */

struct chain_run {
    const struct chain_group *group;
    enum chain_run_kind { CHAIN_FIRST, CHAIN_AGAIN, CHAIN_BACK } kind;
    uint32_t n_kept;    /* of the keepable values, to be made, or there for the backward */
    uint32_t exit_from; /* so is what blocks of the group from this one on make for later blocks */
};

struct chain_walk {
    const struct chain *chain;
    struct plan_schedule ops; /* of the last run */
    double seconds;           /* of the forward ops among them */
    uint32_t mark;            /* what is marked in the arrays below, by value, has this number */
    uint32_t *live, *read, *kept, *spoken;
    uint32_t *last; /* where read: the last time */
};
MUST_USE neap_error *chain_walk_open(const struct chain *chain, struct chain_walk *walk);
void chain_walk_close(struct chain_walk *walk);

/* Is v made by this group's forward, and made again when needed? */
bool chain_makes(const struct chain *chain, const struct chain_group *group, uint32_t v);

/* Finds the ops of a run. */
MUST_USE neap_error *chain_walk_run(struct chain_walk *walk, const struct chain_run *run);

/* The peak of the run just found while everything at the entry of block `held` is kept, which does
 * not count, nor do fixed values. */
int64_t chain_walk_peak(struct chain_walk *walk, const struct chain_run *run, uint32_t held);

#endif
