/* Files: read whole, mapped, or written whole or not at all.
 *
 * Messages name the path and carry the system's reason: "cannot write 'x': no space left on
 * device". What fails on the way out is NEAP_ERROR_RUNTIME; what a file that cannot be read means
 * depends on what it is for, so readers take the code. */
#ifndef NEAP_BASE_FILE_H
#define NEAP_BASE_FILE_H

#include "base/status.h"

/* "<text>: <the system's words for errno value `number`>". */
neap_error *file_error(enum neap_code code, int number, const char *format, ...) PRINTF_LIKE(3, 4);

bool file_exists(const char *path);
bool file_is_directory(const char *path);

/* ---- reading -------------------------------------------------------------------------------- */

/* A NUL follows the last byte, so text can be used as a string. free() data. */
struct file_bytes {
    char *data;
    int64_t size_bytes;
};
/* More than `most_bytes` is refused; pipes work too. */
MUST_USE neap_error *file_read(const char *path, int64_t most_bytes, enum neap_code code,
                               struct file_bytes *out);

/* A regular file's bytes without a copy of them in memory. */
struct file_map {
    const unsigned char *data;
    int64_t size_bytes;
};
MUST_USE neap_error *file_map_open(const char *path, enum neap_code code, struct file_map *out);
void file_map_close(struct file_map *map);

/* ---- writing -------------------------------------------------------------------------------- */

/* Writes to a temporary name in the same directory; commit syncs it and renames it to `path`. Until
 * then whatever stood at `path` is untouched; after a failure nothing of the new file is left.
 * Devices and pipes ("/dev/stdout") cannot be renamed over and are written in place. */
struct file_writer;
MUST_USE neap_error *file_writer_open(const char *path, struct file_writer **out);
/* Errors of writing to the stream need not be checked: commit knows of them. */
FILE *file_writer_stream(struct file_writer *writer);
/* Frees the writer, whatever it returns. */
MUST_USE neap_error *file_writer_commit(struct file_writer *writer);
/* Forgets what was written and frees the writer; NULL is fine. */
void file_writer_abort(struct file_writer *writer);

/* Makes a directory and its parents; one that exists is fine. */
MUST_USE neap_error *file_make_directory(const char *path);
/* Tries whether a file can be made in the directory: better known now than after an hour. */
MUST_USE neap_error *file_check_writable(const char *directory);

#endif
