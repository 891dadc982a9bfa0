/* The gap greedy: see greedy.c. */
#ifndef NEAP_PLAN_GREEDY_H
#define NEAP_PLAN_GREEDY_H

#include "plan/sequence.h"

/* From a schedule that replays to one whose live peak is at most target_bytes, or the smallest
 * reached. */
MUST_USE neap_error *plan_greedy(struct sequence *s, int64_t target_bytes,
                                 struct plan_schedule *schedule);

#endif
