/* Order: a base order with a smaller peak, without any recompute. */
#ifndef NEAP_PLAN_ORDER_H
#define NEAP_PLAN_ORDER_H

#include "plan/problem.h"

/* Beam search over prefixes of orders, the least peak first, then the least bytes live. The result
 * runs every op once and replays. O(n_ops × width × ready ops × degree). */
MUST_USE neap_error *plan_order_beam(const struct plan_problem *problem, uint32_t width,
                                     struct plan_schedule *schedule);

#endif
