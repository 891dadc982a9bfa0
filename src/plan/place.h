/* Placement: an offset for every life, so that lives sharing a step share no byte unless one is in
 * place of the other. */
#ifndef NEAP_PLAN_PLACE_H
#define NEAP_PLAN_PLACE_H

#include "plan/problem.h"

struct plan_place_request {
    int64_t alignment_bytes; /* offsets are multiples of it */
    int64_t target_bytes;    /* such an arena is good enough; below the lower bound: that one is */
    uint64_t effort; /* comparisons beyond those of fixed orders: some 10^8 a second, 0 is quick */
    bool (*stop)(void *context); /* asked every few milliseconds: true ends the effort; or NULL */
    void *stop_context;
};

struct plan_placement {
    int64_t arena_bytes; /* the end of the highest life */
    int64_t bound_bytes; /* no arena is smaller: the most live bytes, or more where proven */
    bool optimal;        /* no placement has a smaller arena: proven */
};

/* Sets the offsets. Lives chained by in_place_of move as one. Deterministic, unless stopped. */
MUST_USE neap_error *plan_place(struct plan_lives *lives, const struct plan_place_request *request,
                                struct plan_placement *placement);

#endif
