/* Folders: see folder.h. */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static neap_error *list(DIR *directory, const char *path, struct pool *pool, const char ***names,
                        size_t *n) {
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry && errno)
            return file_error(NEAP_ERROR_RUNTIME, errno, "cannot read folder '%s'", path);
        if (!entry)
            return NULL;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        TRY(memory_grow(names, &capacity, *n + 1, sizeof **names));
        TRY(pool_string(pool, entry->d_name, &(*names)[*n]));
        ++*n;
    }
}

neap_error *folder_read(const char *path, struct pool *pool, struct folder_names *out) {
    const char **names = NULL;
    *out = (struct folder_names){0};
    DIR *directory = opendir(path);
    if (!directory)
        return file_error(NEAP_ERROR_RUNTIME, errno, "cannot read folder '%s'", path);
    neap_error *error = list(directory, path, pool, &names, &out->n);
    closedir(directory);
    if (!error)
        error = pool_alloc(pool, out->n, sizeof *out->at, &out->at);
    if (!error && out->n > 0) {
        qsort(names, out->n, sizeof *names, compare_names);
        memcpy(out->at, names, out->n * sizeof *names);
    }
    free(names);
    return error;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)info, (void)type, (void)where;
    return remove(path);
}

neap_error *folder_remove(const char *path) {
    enum { OPEN_FOLDERS = 8 };
    if (nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
        return NULL;
    return file_error(NEAP_ERROR_RUNTIME, errno, "cannot remove '%s'", path);
}

neap_error *folder_rename(const char *from, const char *to) {
    if (rename(from, to) == 0)
        return NULL;
    return file_error(NEAP_ERROR_RUNTIME, errno, "cannot rename '%s' to '%s'", from, to);
}

void folder_sync(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

bool folder_same(const char *a, const char *b) {
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

neap_error *folder_lock(const char *path, int *fd) {
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return file_error(NEAP_ERROR_RUNTIME, errno, "cannot open folder '%s'", path);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return NULL;
    bool taken = errno == EWOULDBLOCK;
    close(*fd);
    *fd = -1;
    return taken ? error_make(NEAP_ERROR_RUNTIME, "'%s': another process trains into this folder",
                              path)
                 : NULL;
}
