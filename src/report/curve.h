/* The frontier of memory and time as a figure and as numbers. */
#ifndef NEAP_REPORT_CURVE_H
#define NEAP_REPORT_CURVE_H

#include "base/status.h"

MUST_USE neap_error *curve_write_svg(const struct neap_curve_report *curve, const char *path);

/* series,strategy,peak_bytes,arena_bytes,live_peak_bytes,overhead,overhead_lower_bound,
 * recomputed_ops; series is neap, strategy, bound or floor, and what a row has no number for is
 * empty. */
MUST_USE neap_error *curve_write_csv(const struct neap_curve_report *curve, const char *path);

#endif
