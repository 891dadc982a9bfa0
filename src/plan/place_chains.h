/* What the parts of placement share: chains of lives, and how each part answers. place.c makes the
 * chains and asks the parts. */
#ifndef NEAP_PLAN_PLACE_CHAINS_H
#define NEAP_PLAN_PLACE_CHAINS_H

#include "plan/place.h"

/* The steps in which a member of a chain needs its bytes: in the step where it takes its
 * predecessor's place, that one's suffice. None where from > to. */
struct place_member {
    uint32_t from, to;
    int64_t bytes;
};

/* Lives that take each other's place: one offset. */
struct place_chain {
    uint32_t from, to;
    uint32_t first_member, n_members;
    int64_t bytes; /* the most of any member, which is the first */
    int64_t offset;
};

struct place_chains {
    struct place_chain *at;
    struct place_member *members;
    uint32_t n, n_members;
};

/* How many comparisons may still be made, and whether someone wants it to end. */
struct place_effort {
    uint64_t left;
    const struct plan_place_request *request;
};

static inline bool place_stopped(const struct place_effort *effort) {
    return effort->request->stop && effort->request->stop(effort->request->stop_context);
}

/* place_orders.c: sets the offsets; fixed orders, then with effort small changes to the best one,
 * until the arena is at most goal_bytes. */
MUST_USE neap_error *place_in_orders(struct place_chains *chains, int64_t goal_bytes,
                                     struct place_effort *effort, int64_t *arena_bytes);

enum place_answer {
    PLACE_FOUND,
    PLACE_IMPOSSIBLE, /* proven */
    PLACE_STOPPED,    /* not known */
};

/* place_exact.c: looks for offsets within capacity_bytes. The chains' change only if PLACE_FOUND.
 */
MUST_USE neap_error *place_exact(struct place_chains *chains, int64_t capacity_bytes,
                                 struct place_effort *effort, enum place_answer *answer);

#endif
