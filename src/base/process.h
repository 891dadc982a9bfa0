/* What the system says of this process: memory in use and to be had, and the time. */
#ifndef NEAP_BASE_PROCESS_H
#define NEAP_BASE_PROCESS_H

#include <stdint.h>

/* The most bytes that were resident so far; 0 where the system does not say. */
int64_t process_peak_rss_bytes(void);

/* The bytes that are resident now; 0 likewise. */
int64_t process_rss_bytes(void);

/* Seconds of a clock that only runs forward. */
double process_seconds(void);

#endif
