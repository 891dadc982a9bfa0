/* Which processors the calling thread may run on. Advice throughout: where the system refuses, the
 * thread runs anywhere. */
#ifndef NEAP_BASE_AFFINITY_H
#define NEAP_BASE_AFFINITY_H

#include <sched.h>

struct affinity {
    cpu_set_t processors;
    int n; /* 0: not known */
};

struct affinity affinity_get(void);
/* The calling thread to all processors of `affinity`, and to the `index`th of them alone. */
void affinity_set(const struct affinity *affinity);
void affinity_pin(const struct affinity *affinity, int index);

#endif
