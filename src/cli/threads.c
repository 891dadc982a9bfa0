/* How OpenMP's threads wait. By default they spin for milliseconds, and when anything else wants
 * their processor, as the data loader does, a barrier lasts a scheduler slice: training was
 * measured to be ten times slower. libgomp reads its settings when it is loaded, so the command
 * starts over once. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

static const char spin_count[] = "10000"; /* about the time between two kernels */

void threads_wait_briefly(char **argv) {
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    if (!setenv("GOMP_SPINCOUNT", spin_count, 1))
        execv("/proc/self/exe", argv); /* where that fails, it runs as it is */
}
