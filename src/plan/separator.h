/* One moment of a schedule at which memory is short: what to keep across it, what to make again
 * behind it. */
#ifndef NEAP_PLAN_SEPARATOR_H
#define NEAP_PLAN_SEPARATOR_H

#include "plan/flow.h"
#include "plan/problem.h"

/* An op that ran before the moment and may run again behind it. */
struct separator_op {
    uint32_t op;
    uint32_t latest; /* the last step before which it may be wanted */
    double seconds;
    struct plan_span inputs, outputs; /* values of the separator, in its `ids` */
};

/* A value that costs memory at the moment when it is kept for later. */
struct separator_value {
    int64_t bytes;
    uint32_t maker; /* op of the separator; PLAN_NONE: it can only be kept */
    bool required;  /* read behind the moment whatever is decided; others: if an op runs again */
    uint32_t arc;   /* of the flow, whose capacity is the price of its bytes */
};

struct separator {
    const struct plan_problem *problem;
    uint32_t step;
    uint32_t n_ops, n_values;
    struct separator_op *ops; /* readers before makers */
    struct separator_value *values;
    uint32_t *ids;
    uint32_t *op_arcs; /* of the flow, by op: the price of its seconds */
    uint32_t *uses;    /* by value, set by separator_count: readers that want it, required or not */
    int64_t total_bytes; /* of all values, and the seconds of all ops */
    double total_seconds;
    struct flow flow;
};

/* What a decision costs. */
struct separator_cut {
    int64_t bytes; /* kept across the moment, of the separator's values */
    double seconds;
    bool *again; /* by op of the separator: does it run again? */
};

/* The values that cross step `step` (live there but neither read nor made in it) and the ops that
 * could make them again behind it. An op is one that may run more than once, also where it would be
 * wanted: not behind an update of what it reads. What step reads or makes is there anyway. */
MUST_USE neap_error *separator_open(const struct plan_problem *problem,
                                    const struct plan_schedule *schedule, uint32_t step,
                                    struct separator *separator);
void separator_close(struct separator *separator);

/* Leaves only ops in `again` whose outputs are wanted, and sums up bytes and seconds. */
void separator_count(struct separator *separator, struct separator_cut *cut);

/* Is an output of this op wanted, as counted last? */
bool separator_wants(const struct separator *separator, uint32_t op);

/* The decision with the least price × bytes + seconds: a minimum cut. An infinite price counts
 * bytes alone. */
void separator_decide(struct separator *separator, double price, struct separator_cut *cut);

/* ---- hull.c ------------------------------------------------------------------------------- */

/* Calls `visit` with every breakpoint of the least of price × bytes + seconds as a function of the
 * price: the corners of the lower hull of (bytes, seconds) over all decisions, the two ends first,
 * then coarse to fine, at most `most` between. `visit` stops it with an error. */
typedef neap_error *separator_visit(void *context, const struct separator_cut *cut);
MUST_USE neap_error *separator_sweep(struct separator *separator, uint32_t most,
                                     separator_visit *visit, void *context);

/* A decision that keeps at most `most_bytes`: the breakpoints around them, and from these single
 * values more to make again or to keep. At most `most_cuts` (> 0) minimum cuts are tried. Where
 * there is none, the decision with the fewest bytes. *cut: its `again` is the caller's to free. */
MUST_USE neap_error *separator_fit(struct separator *separator, int64_t most_bytes, int most_cuts,
                                   struct separator_cut *cut);

#endif
