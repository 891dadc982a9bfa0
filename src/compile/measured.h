/* Seconds that ops were measured to take on this machine, by their signature, and the file that
 * keeps them between runs. */
#ifndef NEAP_COMPILE_MEASURED_H
#define NEAP_COMPILE_MEASURED_H

#include "backend/device.h"

struct measured;

/* What was measured before on the same processor, instruction sets, number of threads and library
 * versions, from a file in `folder` (made if it is not there); NULL keeps nothing. A file that
 * cannot be read or is not as written here is as if there were none: see measured_note. */
MUST_USE neap_error *measured_open(const struct device *device, const char *folder,
                                   struct measured **out);
void measured_free(struct measured *measured);

bool measured_find(const struct measured *measured, const char *signature, double *seconds);
/* Copies the signature, which holds no line break. */
MUST_USE neap_error *measured_add(struct measured *measured, const char *signature, double seconds);

/* Writes the file, whole or not at all, if there is anything new. */
void measured_save(struct measured *measured);

/* What went wrong with the file, in words; NULL: nothing did. */
const char *measured_note(const struct measured *measured);

#endif
