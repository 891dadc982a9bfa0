/* Placement: an offset for every life, so that lives sharing a step share no byte unless one is in
 * place of the other. Lower bound: the most live bytes of any step. */
#ifndef NEAP_PLAN_PLACE_H
#define NEAP_PLAN_PLACE_H

#include "plan/problem.h"

/* Sets the offsets; *arena_bytes is the end of the highest life. Lives chained by in_place_of move
 * as one. Deterministic. */
MUST_USE neap_error *plan_place(struct plan_lives *lives, int64_t alignment_bytes,
                                int64_t *arena_bytes);

#endif
