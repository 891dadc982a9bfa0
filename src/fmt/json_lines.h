/* The top level of a JSON object as lines of "  key: value", for people. Lists and objects in it
 * are told by their number of entries. */
#ifndef NEAP_FMT_JSON_LINES_H
#define NEAP_FMT_JSON_LINES_H

#include "base/status.h"

/* NEAP_ERROR_DATA, with line and column, where the file is not a JSON object. Up to 1 GiB. */
MUST_USE neap_error *json_lines(const char *path, FILE *file);

#endif
