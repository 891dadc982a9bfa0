/* A bare planning problem as text: the number of ops, then a line for each op in a topological
 * order: `seconds bytes k input_1 … input_k`. Op i makes one value, also numbered i. */
#ifndef NEAP_FMT_PROBLEM_TEXT_H
#define NEAP_FMT_PROBLEM_TEXT_H

#include "plan/problem.h"

/* NEAP_ERROR_DATA, naming the line, where it is malformed. pool_free(&out->pool) when done. */
MUST_USE neap_error *problem_text_read(const char *path, struct plan_problem *out);

#endif
