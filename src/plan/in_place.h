/* How many bytes one execution of an op can save in place. */
#ifndef NEAP_PLAN_IN_PLACE_H
#define NEAP_PLAN_IN_PLACE_H

#include "plan/problem.h"

struct in_place {
    const struct plan_problem *problem;
    bool *stays; /* by value, the caller's: its life does not end here */
    bool *tried;
    uint32_t *holder; /* by value: the output that takes its place */
};
MUST_USE neap_error *in_place_open(const struct plan_problem *problem, struct in_place *out);
void in_place_close(struct in_place *in_place);

/* The most bytes of outputs that find a place in inputs that do not stay, one in each. */
int64_t in_place_bytes(struct in_place *in_place, const struct plan_op *op);

#endif
