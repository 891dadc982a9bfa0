/* Files about a plan: what each form needs of it, as plain arrays for report/. */
#ifndef NEAP_TRAIN_EMIT_H
#define NEAP_TRAIN_EMIT_H

#include "train/session.h"

MUST_USE neap_error *emit_timeline_svg(const struct neap_plan *plan, const char *path);
MUST_USE neap_error *emit_timeline_csv(const struct neap_plan *plan, const char *path);
MUST_USE neap_error *emit_dot(const struct neap_plan *plan, const char *path);
MUST_USE neap_error *emit_torch(const struct neap_plan *plan, const char *path);

/* "resnet18, batch 64", cut off at the buffer's end. */
enum { EMIT_TITLE_BYTES = 160 };
void emit_title(const struct neap_plan *plan, char title[EMIT_TITLE_BYTES]);

#endif
