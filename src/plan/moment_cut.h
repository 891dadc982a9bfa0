/* The cheapest way past a moment when what is made again needs its inputs too. */
#ifndef NEAP_PLAN_MOMENT_CUT_H
#define NEAP_PLAN_MOMENT_CUT_H

#include "plan/flow.h"
#include "plan/moment.h"

/* What a cut costs, cut down like all costs here, and the bytes it has live. */
struct moment_line {
    int64_t cost, bytes;
};

struct moment_cut {
    struct moment *moment;
    struct flow flow;
    int64_t *arc_cost, *arc_bytes; /* by arc: what it is made of; UNBOUNDED_COST */
    uint32_t *first_node;          /* by op: does it first run after the moment? */
    uint32_t *again_node;          /* by op: does it run after the moment at all? */
    uint32_t *need_node;           /* by work: is it read after the moment? */
    uint32_t n_nodes;
    int cost_shift;     /* costs are cut down by so many bits, for sums to fit */
    int64_t cost_most;  /* of all ops together, cut down; no arc needs more */
    int64_t base_bytes; /* live in any case */
    double price;       /* the last one that was best, tried first; 0: none */
};

MUST_USE neap_error *moment_cut_open(struct moment *moment, struct moment_cut *out);
void moment_cut_close(struct moment_cut *cut);

/* The network of the moment that was set last. */
void moment_cut_build(struct moment_cut *cut);

/* The ends of what cuts can do: nothing made again, and the least bytes at any cost. */
void moment_cut_ends(struct moment_cut *cut, struct moment_line *low, struct moment_line *high);

/* No schedule within the budget makes values again for less; the ends are those of this moment, the
 * budget between their bytes. A result up to `enough` may be any such cost. `again`, by op, becomes
 * what to run once more where the result is above that. */
int64_t moment_cut_cost(struct moment_cut *cut, struct moment_line low, struct moment_line high,
                        int64_t budget_bytes, int64_t enough, bool *again);

#endif
