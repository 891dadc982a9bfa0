/* A time limit: see deadline.h. */
#include "train/deadline.h"

#include <math.h>

#include "base/process.h"

struct deadline deadline_start(double limit_seconds) {
    return (struct deadline){limit_seconds > 0 ? process_seconds() + limit_seconds : INFINITY};
}

bool deadline_passed(void *deadline) {
    const struct deadline *d = deadline;
    return isfinite(d->at_seconds) && process_seconds() >= d->at_seconds;
}
