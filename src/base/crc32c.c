/* CRC-32C: see crc32c.h. Slicing by 8 (Kounavis, Berry 2005). */
#include "base/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they lie");

static const uint32_t polynomial = 0x82f63b78; /* reflected */
enum { PIECE_BYTES = 64 * 1024 };

void crc32c_init(struct crc32c *crc) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
        crc->table[0][byte] = sum;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            const uint32_t before = crc->table[k - 1][byte];
            crc->table[k][byte] = before >> 8 ^ crc->table[0][before & 255];
        }
}

uint32_t crc32c_add(const struct crc32c *crc, uint32_t sum, const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    sum = ~sum;
    for (; n >= 8; n -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        word ^= sum;
        sum = 0;
        for (int k = 0; k < 8; k++)
            sum ^= crc->table[7 - k][word >> (8 * k) & 255];
    }
    for (; n > 0; n--, at++)
        sum = sum >> 8 ^ crc->table[0][(sum ^ *at) & 255];
    return ~sum;
}

/* Read in pieces rather than mapped: the file's pages are not to count as ours. */
neap_error *crc32c_file(const char *path, enum neap_code code, int64_t *size_bytes, uint32_t *sum) {
    struct {
        struct crc32c crc;
        unsigned char piece[PIECE_BYTES];
    } *work = NULL;
    neap_error *error = NULL;
    *size_bytes = 0;
    *sum = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return file_error(code, errno, "cannot read '%s'", path);
    TRY_GOTO(memory_alloc(1, sizeof *work, &work));
    crc32c_init(&work->crc);
    for (;;) {
        ssize_t got = read(fd, work->piece, sizeof work->piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            TRY_GOTO(file_error(code, errno, "cannot read '%s'", path));
        if (got == 0)
            break;
        *sum = crc32c_add(&work->crc, *sum, work->piece, (size_t)got);
        *size_bytes += got;
    }
done:
    free(work);
    close(fd);
    return error;
}
