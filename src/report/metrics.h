/* metrics.csv: a row an epoch, in timm's order. */
#ifndef NEAP_REPORT_METRICS_H
#define NEAP_REPORT_METRICS_H

#include "base/status.h"

struct metrics;

/* Starts the file anew with its header. */
MUST_USE neap_error *metrics_open(const char *path, struct metrics **out);
/* Appends the event's numbers and hands them to the system; NaN becomes an empty field. */
MUST_USE neap_error *metrics_row(struct metrics *metrics, const struct neap_event *event);
void metrics_close(struct metrics *metrics);

#endif
