/* The last kernel of every list: the op's own naive definition, on plain layouts. */
#ifndef NEAP_BACKEND_REFERENCE_H
#define NEAP_BACKEND_REFERENCE_H

#include "backend/kernel.h"

extern const struct kernel kernel_reference;

#endif
