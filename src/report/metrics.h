/* metrics.csv: a row an epoch, in timm's order. */
#ifndef NEAP_REPORT_METRICS_H
#define NEAP_REPORT_METRICS_H

#include "base/status.h"

struct metrics;

/* Goes on behind the first `keep_bytes`, of which a file that was changed since may have less; 0
 * starts anew, with the header. */
MUST_USE neap_error *metrics_open(const char *path, int64_t keep_bytes, struct metrics **out);
/* Appends the event's numbers and hands them to the system; NaN becomes an empty field. */
MUST_USE neap_error *metrics_row(struct metrics *metrics, const struct neap_event *event);
/* Waits until the rows are on disk; their bytes with the header. */
MUST_USE neap_error *metrics_sync(struct metrics *metrics, int64_t *size_bytes);
void metrics_close(struct metrics *metrics);

#endif
