/* TensorBoard's event files: scalars over updates.
 *
 * A file is a sequence of records: length (u64), masked CRC-32C of that, a protobuf message Event,
 * masked CRC-32C of that (TensorFlow's TFRecord). Each start of a run has a file of its own; the
 * one of a run that goes on tells TensorBoard to forget what came after its checkpoint. */
#ifndef NEAP_REPORT_TFEVENTS_H
#define NEAP_REPORT_TFEVENTS_H

#include "base/status.h"

struct tfevents;

/* A new file in the folder, from `update` on. Updates get scalars every `interval` of them. */
MUST_USE neap_error *tfevents_open(const char *folder, int64_t update, int64_t interval,
                                   struct tfevents **out);
/* Handed to the system at once; a failure is kept for tfevents_check. */
void tfevents_add(struct tfevents *events, const struct neap_event *event);
/* The first failure; NULL has none. */
MUST_USE neap_error *tfevents_check(const struct tfevents *events);
void tfevents_close(struct tfevents *events);

#endif
