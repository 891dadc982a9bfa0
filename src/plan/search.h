/* The search behind `auto`: seeds from every solver, greedy from each, then local search. */
#ifndef NEAP_PLAN_SEARCH_H
#define NEAP_PLAN_SEARCH_H

#include "plan/plan.h"

struct search;

MUST_USE neap_error *search_create(const struct plan_problem *problem,
                                   const struct plan_request *request, struct search **out);
void search_free(struct search *search);

/* A schedule that replays, to start from. */
MUST_USE neap_error *search_offer(struct search *search, const struct plan_schedule *schedule);

/* No schedule has a smaller live peak. */
int64_t search_floor(struct search *search);

/* Seeds and greedy for a live peak of target_bytes. */
MUST_USE neap_error *search_seed(struct search *search, int64_t target_bytes);
/* The same for a target a little below, from what is there. */
MUST_USE neap_error *search_tighten(struct search *search, int64_t target_bytes);
/* Local search from the best of what is there, with a share of the request's moves. */
MUST_USE neap_error *search_improve(struct search *search, int64_t target_bytes, double share);

/* What is known, the best first: least seconds within the target, or least peak where none is. */
size_t search_count(const struct search *search);
int64_t search_peak(const struct search *search); /* of the best */
/* The i-th of them, in an order that is easy to place. */
MUST_USE neap_error *search_settle(struct search *search, size_t i, struct plan_schedule *schedule);

/* Is the plan only compared? Then nothing slow is done for it, unless nothing else fits. */
bool plan_brief(const struct plan_request *request);

/* Does the request's stop say so? */
bool plan_stopped(const struct plan_request *request);

#endif
