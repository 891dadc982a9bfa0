/* Folders: what is in them, and changes that are on disk when the call returns. */
#ifndef NEAP_BASE_FOLDER_H
#define NEAP_BASE_FOLDER_H

#include "base/memory.h"

/* Names without "." and "..", in byte order, from the pool. */
struct folder_names {
    const char **at;
    size_t n;
};
MUST_USE neap_error *folder_read(const char *path, struct pool *pool, struct folder_names *out);

/* A file, a link or a folder with all that is in it; what is not there is fine. */
MUST_USE neap_error *folder_remove(const char *path);
/* Takes the place of a file or link at `to`. */
MUST_USE neap_error *folder_rename(const char *from, const char *to);
/* Waits until the names in it are on disk. Some file systems cannot: no error. */
void folder_sync(const char *path);
/* Whether both names lead to the same folder. */
bool folder_same(const char *a, const char *b);

/* For as long as the descriptor is open, no other process gets it: *fd, or -1 where the file system
 * has no locks. NEAP_ERROR_RUNTIME where another process has it. */
MUST_USE neap_error *folder_lock(const char *path, int *fd);

#endif
