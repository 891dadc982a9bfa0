/* A time limit as the planner's `stop`: the clock that the planner itself has none of. */
#ifndef NEAP_TRAIN_DEADLINE_H
#define NEAP_TRAIN_DEADLINE_H

#include <stdbool.h>

/* In seconds of process_seconds. */
struct deadline {
    double at_seconds;
};

/* From now on; 0 seconds: never. */
struct deadline deadline_start(double limit_seconds);
/* Takes a struct deadline; as plan_request.stop. */
bool deadline_passed(void *deadline);

#endif
