/* A bare planning problem as text (docs/problem-format.md): the number of ops, then a line for each
 * op in a topological order: `seconds bytes k input_1 … input_k`. Op i makes one value, also
 * numbered i. And its answer, a schedule: one op number a line, in the order of execution. */
#ifndef NEAP_FMT_PROBLEM_TEXT_H
#define NEAP_FMT_PROBLEM_TEXT_H

#include <stdio.h>

#include "plan/problem.h"

/* NEAP_ERROR_DATA, naming the line, where it is malformed. pool_free(&out->pool) when done. */
MUST_USE neap_error *problem_text_read(const char *path, struct plan_problem *out);

/* Failures of the stream are the caller's to notice. */
void problem_text_write_schedule(const struct plan_schedule *schedule, FILE *file);

#endif
