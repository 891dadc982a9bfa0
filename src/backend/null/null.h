/* A device that compiles and plans and never runs: the smallest example of a backend. */
#ifndef NEAP_BACKEND_NULL_NULL_H
#define NEAP_BACKEND_NULL_NULL_H

#include "backend/device.h"

extern const struct backend backend_null;

#endif
