/* A file's first bytes and its size, seen through gzip where it is packed. */
#ifndef NEAP_FMT_UNPACK_H
#define NEAP_FMT_UNPACK_H

#include "base/status.h"

enum { UNPACK_START_BYTES = 64 };

struct unpacked {
    unsigned char start[UNPACK_START_BYTES]; /* zeros behind the file's end */
    size_t n_start;
    int64_t size_bytes; /* unpacked */
    bool packed;
};

/* Reads a packed file whole: only its end tells its size. NEAP_ERROR_DATA where it cannot be read.
 */
MUST_USE neap_error *unpack_start(const char *path, struct unpacked *out);

#endif
