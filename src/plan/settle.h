/* Settling: a schedule's order back to the base order wherever that costs nothing. */
#ifndef NEAP_PLAN_SETTLE_H
#define NEAP_PLAN_SETTLE_H

#include "plan/sequence.h"

/* The same executions, whose live peak stays within limit_bytes if it was. */
MUST_USE neap_error *settle(struct sequence *s, int64_t limit_bytes,
                            struct plan_schedule *schedule);

#endif
