/* Every kernel of a device that takes a node, in every activation layout, against the reference. */
#ifndef NEAP_TESTS_SUPPORT_KERNEL_CHECK_H
#define NEAP_TESTS_SUPPORT_KERNEL_CHECK_H

#include "backend/device.h"
#include "support/interpret.h"

struct kernel_report {
    char failure[512];  /* "" where there was none */
    int n_runs, n_fast; /* kernel and layout pairs run; those not of the reference */
    double error;       /* the largest seen, relative to the tensor's largest element or 1 */
};

/* Runs the node in `it` by reference, and by each kernel on the same inputs. Demands agreement
 * (to the last bit if `exact`), the same bits twice and in place, and zeros in the padding. */
MUST_USE neap_error *kernel_check(struct device *device, struct interpreter *it, node_id node,
                                  bool exact, struct kernel_report *report);

#endif
