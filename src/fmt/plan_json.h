/* plan.json, format "neap-plan/1": a plan in full, so that a stranger can replay and check it
 * without neap. Values and ops carry the problem's ids, buffers are its lives, steps its schedule.
 * Ops stand in the base order; behind them their alternatives, each one more op with the field
 * `alternative_of`: what steps run of them counts as a run of that op.
 *
 * Expected load: 100,000 steps; one value, op, buffer or step a line. */
#ifndef NEAP_FMT_PLAN_JSON_H
#define NEAP_FMT_PLAN_JSON_H

#include "ir/graph.h"
#include "plan/problem.h"

/* What is written, or what is read must be a plan of; all of it borrowed. */
struct plan_json {
    const char *model;
    int64_t batch, micro_batch, micro_batches;
    int64_t alignment_bytes, arena_bytes, live_peak_bytes;
    const neap_graph *g;
    const struct plan_problem *problem;
    const node_id *node_of_op;     /* by op and alternative of the problem */
    const value_id *value_of_plan; /* by the problem's value; ID_NONE for scratch */
    const struct plan_schedule *schedule;
    const struct plan_lives *lives;
};

/* Whole or not at all. NEAP_ERROR_RUNTIME where the file cannot be written or a name is not UTF-8.
 */
MUST_USE neap_error *plan_json_save(const struct plan_json *plan, const char *path);

/* A plan from a file, in the ids of a problem. free: plan_schedule_free, plan_lives_free. */
struct plan_json_plan {
    struct plan_schedule schedule;
    struct plan_lives lives; /* placed */
    int64_t arena_bytes;
};

/* Reads a plan of the step that `here` describes (its schedule, lives and bytes of arena are not
 * looked at). NEAP_ERROR_USAGE, with the first difference, where it is one of another step: another
 * batch, other ops or values, other bytes; NEAP_ERROR_DATA where the file is none. Whether the plan
 * is sound is for plan_check to say. Up to 1 GiB. */
MUST_USE neap_error *plan_json_read(const char *path, const struct plan_json *here,
                                    struct plan_json_plan *out);

/* The schedule alone, of a plan of the same ops by name, whatever the batch and the bytes are. */
MUST_USE neap_error *plan_json_read_schedule(const char *path, const struct plan_json *here,
                                             struct plan_schedule *out);

#endif
