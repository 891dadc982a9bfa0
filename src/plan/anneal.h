/* Local search: simulated annealing on the sequence (Kirkpatrick, Gelatt and Vecchi 1983; for
 * recompute FastSA, 2023).
 *
 * The energy is the seconds, as a fraction of one run of every op, plus a weight times what the
 * peak is over the budget. The weight follows the search: it rises while the budget holds in few
 * moves and falls while it holds in most, so that the search walks along the budget's edge, where
 * the good plans are. Effort is counted in moves, and random numbers follow from the seed: the same
 * request gives the same schedule. */
#ifndef NEAP_PLAN_ANNEAL_H
#define NEAP_PLAN_ANNEAL_H

#include "plan/sequence.h"

struct anneal_request {
    int64_t budget_bytes; /* for the live peak */
    uint64_t moves, seed;
    double hot, cold;            /* first and last temperature, in the unit of the energy */
    bool order_only;             /* nothing is made again or taken back */
    double enough_seconds;       /* no need to get below */
    bool (*stop)(void *context); /* asked now and then; NULL: never */
    void *stop_context;
};

/* Improves on `schedule`, which replays: the least seconds within the budget that was seen, or the
 * smallest peak where nothing was within. */
MUST_USE neap_error *anneal(struct sequence *s, const struct anneal_request *request,
                            struct plan_schedule *schedule);

#endif
