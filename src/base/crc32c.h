/* CRC-32C (Castagnoli, RFC 3720 appendix B): what checkpoints and TensorBoard's event files are
 * checked with. Software, 8 bytes a step: about 1 GB/s. */
#ifndef NEAP_BASE_CRC32C_H
#define NEAP_BASE_CRC32C_H

#include "base/status.h"

struct crc32c {
    uint32_t table[8][256]; /* [k][b]: byte b, with k bytes behind it */
};
void crc32c_init(struct crc32c *crc);
/* Of `sum`'s bytes with n more behind them; 0 is the sum of none. */
uint32_t crc32c_add(const struct crc32c *crc, uint32_t sum, const void *bytes, size_t n);

/* Of a whole file, and its size. */
MUST_USE neap_error *crc32c_file(const char *path, enum neap_code code, int64_t *size_bytes,
                                 uint32_t *sum);

#endif
