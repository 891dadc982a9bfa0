/* EXIF's Orientation: see exif.h. The data is a TIFF header and a directory of 12-byte entries. */
#include "data/exif.h"

#include <stdbool.h>
#include <string.h>

enum { HEADER_BYTES = 8, ENTRY_BYTES = 12, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3 };

struct tiff {
    const uint8_t *bytes;
    int64_t n_bytes;
    bool little;
};

/* A number of 2 or 4 bytes; 0 beyond the end. */
static int64_t number_at(const struct tiff *tiff, int64_t at, int n) {
    int64_t value = 0;
    if (at < 0 || at + n > tiff->n_bytes)
        return 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | tiff->bytes[at + (tiff->little ? n - 1 - i : i)];
    return value;
}

int exif_orientation(const uint8_t *bytes, int64_t n_bytes) {
    struct tiff tiff = {bytes, n_bytes, false};
    if (n_bytes < HEADER_BYTES)
        return 1;
    tiff.little = memcmp(bytes, "II*\0", 4) == 0;
    if (!tiff.little && memcmp(bytes, "MM\0*", 4) != 0)
        return 1;
    const int64_t directory = number_at(&tiff, 4, 4), n_entries = number_at(&tiff, directory, 2);
    for (int64_t i = 0; i < n_entries; i++) {
        const int64_t entry = directory + 2 + i * ENTRY_BYTES;
        if (number_at(&tiff, entry, 2) != TAG_ORIENTATION ||
            number_at(&tiff, entry + 2, 2) != TYPE_SHORT)
            continue;
        const int64_t value = number_at(&tiff, entry + 8, 2);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
