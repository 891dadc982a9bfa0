/* log.txt: a line for each event of a run, for people. */
#ifndef NEAP_REPORT_LOG_H
#define NEAP_REPORT_LOG_H

#include "base/status.h"

struct log;

/* Appends to what is there. Updates get a line every `interval` of them. */
MUST_USE neap_error *log_open(const char *path, int64_t interval, struct log **out);
/* Handed to the system at once; a failure is kept for log_check. */
void log_event(struct log *log, const struct neap_event *event);
/* The first failure; NULL has none. */
MUST_USE neap_error *log_check(const struct log *log);
void log_close(struct log *log);

#endif
