/* Files: see file.h. */
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/memory.h"

neap_error *file_error(enum neap_code code, int number, const char *format, ...) {
    char buffer[128], reason[128];
    snprintf(reason, sizeof reason, "%s", strerror_r(number, buffer, sizeof buffer));
    if (!isupper((unsigned char)reason[1]))
        reason[0] = (char)tolower((unsigned char)reason[0]);
    va_list args;
    va_start(args, format);
    neap_error *what = error_make_v(code, format, args);
    va_end(args);
    neap_error *error = error_make(code, "%s: %s", neap_error_message(what), reason);
    neap_error_free(what);
    return error;
}

bool file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

bool file_is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* ---- reading -------------------------------------------------------------------------------- */

static neap_error *open_for_reading(const char *path, enum neap_code code, int *fd,
                                    struct stat *info) {
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return file_error(code, errno, "cannot read '%s'", path);
    int reason = fstat(*fd, info) != 0 ? errno : S_ISDIR(info->st_mode) ? EISDIR : 0;
    if (reason == 0)
        return NULL;
    close(*fd);
    return file_error(code, reason, "cannot read '%s'", path);
}

neap_error *file_read(const char *path, int64_t most_bytes, enum neap_code code,
                      struct file_bytes *out) {
    neap_error *error = NULL;
    int fd;
    struct stat info;
    char *data = NULL;
    size_t capacity = 0, used = 0, most = (size_t)most_bytes;
    TRY(open_for_reading(path, code, &fd, &info));
    /* Room for one byte more than the file has, so that the first read that gives 0 ends it. */
    size_t expected = info.st_size > 0 && info.st_size < most_bytes ? (size_t)info.st_size : 0;
    TRY_GOTO(memory_grow(&data, &capacity, expected + 2, 1));
    for (;;) {
        TRY_GOTO(memory_grow(&data, &capacity, used + 2, 1));
        ssize_t got = read(fd, data + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            TRY_GOTO(file_error(code, errno, "cannot read '%s'", path));
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > most)
            TRY_GOTO(error_make(code, "'%s' has more than %zu bytes", path, most));
    }
    data[used] = '\0';
    *out = (struct file_bytes){data, (int64_t)used};
    data = NULL;
done:
    free(data);
    close(fd);
    return error;
}

neap_error *file_map_open(const char *path, enum neap_code code, struct file_map *out) {
    static const unsigned char nothing[1];
    int fd;
    struct stat info;
    TRY(open_for_reading(path, code, &fd, &info));
    neap_error *error = NULL;
    *out = (struct file_map){nothing, 0};
    if (!S_ISREG(info.st_mode)) {
        error = error_make(code, "cannot read '%s': not a regular file", path);
    } else if (info.st_size > 0) { /* an empty range cannot be mapped */
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            error = file_error(code, errno, "cannot map '%s'", path);
        else
            *out = (struct file_map){data, info.st_size};
    }
    close(fd);
    return error;
}

void file_map_close(struct file_map *map) {
    if (map->size_bytes > 0)
        munmap((void *)(uintptr_t)map->data, (size_t)map->size_bytes);
    *map = (struct file_map){0};
}

/* ---- writing -------------------------------------------------------------------------------- */

struct file_writer {
    char *path;      /* as asked for: names it in messages */
    char *target;    /* links followed: what is renamed to */
    char *temporary; /* NULL: written in place */
    int fd;
    int failure; /* errno of the first write that failed: stdio keeps only that one did */
    FILE *stream;
};

static ssize_t write_recording_failure(void *cookie, const char *data, size_t bytes) {
    struct file_writer *writer = cookie;
    size_t written = 0;
    while (written < bytes && !writer->failure) {
        ssize_t n = write(writer->fd, data + written, bytes - written);
        if (n > 0)
            written += (size_t)n;
        else if (n == 0 || errno != EINTR)
            writer->failure = n == 0 ? EIO : errno;
    }
    return (ssize_t)written;
}

static neap_error *cannot_write(const char *path, int number) {
    return file_error(NEAP_ERROR_RUNTIME, number, "cannot write '%s'", path);
}

/* Makes a new file beside `target`: its name into *temporary. *reason is 0 or an errno value. */
static neap_error *open_beside(const char *target, char **temporary, int *fd, int *reason) {
    enum { MOST_TRIES = 100 }; /* of other writers of this name, or of leftovers of a crash */
    *reason = EEXIST;
    for (int i = 0; i < MOST_TRIES && *reason == EEXIST; i++) {
        TRY(memory_format(temporary, "%s.tmp-%ld-%d", target, (long)getpid(), i));
        *fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        *reason = *fd < 0 ? errno : 0;
        if (*reason == 0)
            break;
        free(*temporary);
        *temporary = NULL;
    }
    return NULL;
}

static neap_error *open_in_place(struct file_writer *writer) {
    writer->fd = open(writer->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return writer->fd < 0 ? cannot_write(writer->path, errno) : NULL;
}

static bool is_written_in_place(const char *path) {
    struct stat info;
    return strncmp(path, "/dev/", 5) == 0 ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

/* Also what a failed open leaves. */
static void writer_free(struct file_writer *writer) {
    if (writer->stream)
        fclose(writer->stream);
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->path);
    free(writer->target);
    free(writer->temporary);
    free(writer);
}

neap_error *file_writer_open(const char *path, struct file_writer **out) {
    if (file_is_directory(path))
        return cannot_write(path, EISDIR);
    neap_error *error = NULL;
    struct file_writer *writer;
    TRY(memory_alloc(1, sizeof *writer, &writer));
    writer->fd = -1;
    TRY_GOTO(memory_string(path, &writer->path));
    if (is_written_in_place(path)) {
        TRY_GOTO(open_in_place(writer));
    } else {
        writer->target = realpath(path, NULL);
        if (!writer->target)
            TRY_GOTO(memory_string(path, &writer->target));
        int reason;
        TRY_GOTO(open_beside(writer->target, &writer->temporary, &writer->fd, &reason));
        if (reason)
            TRY_GOTO(cannot_write(path, reason));
    }
    writer->stream =
        fopencookie(writer, "w", (cookie_io_functions_t){.write = write_recording_failure});
    if (!writer->stream)
        TRY_GOTO(error_memory(BUFSIZ));
    *out = writer;
    return NULL;
done:
    file_writer_abort(writer);
    return error;
}

FILE *file_writer_stream(struct file_writer *writer) {
    return writer->stream;
}

/* A rename is on disk once its directory is. */
static void sync_directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (directory)
        folder_sync(directory);
    free(directory);
}

neap_error *file_writer_commit(struct file_writer *writer) {
    if ((fflush(writer->stream) != 0 || ferror(writer->stream)) && !writer->failure)
        writer->failure = EIO;
    if (!writer->failure && writer->temporary && fsync(writer->fd) != 0)
        writer->failure = errno;
    int closed = close(writer->fd);
    writer->fd = -1;
    if (closed != 0 && !writer->failure)
        writer->failure = errno;
    if (!writer->failure && writer->temporary && rename(writer->temporary, writer->target) != 0)
        writer->failure = errno;
    if (writer->failure) {
        neap_error *error = cannot_write(writer->path, writer->failure);
        file_writer_abort(writer);
        return error;
    }
    if (writer->temporary)
        sync_directory_of(writer->target);
    writer_free(writer);
    return NULL;
}

void file_writer_abort(struct file_writer *writer) {
    if (!writer)
        return;
    writer->failure = ECANCELED; /* what stdio still holds is not to be written */
    if (writer->temporary)
        unlink(writer->temporary);
    writer_free(writer);
}

neap_error *file_make_directory(const char *path) {
    char *parent;
    TRY(memory_string(path, &parent));
    int reason = 0;
    for (char *end = parent; reason == 0 && *end;) {
        end = strchrnul(end + 1, '/');
        char kept = *end;
        *end = '\0';
        if (mkdir(parent, 0777) != 0 && errno != EEXIST)
            reason = errno;
        *end = kept;
    }
    free(parent);
    if (reason == 0 && !file_is_directory(path))
        reason = EEXIST;
    return reason ? file_error(NEAP_ERROR_RUNTIME, reason, "cannot create directory '%s'", path)
                  : NULL;
}

neap_error *file_check_writable(const char *directory) {
    char *name, *temporary = NULL;
    TRY(memory_format(&name, "%s/neap", directory));
    int fd, reason;
    neap_error *error = open_beside(name, &temporary, &fd, &reason);
    free(name);
    if (!error && reason)
        error = file_error(NEAP_ERROR_RUNTIME, reason, "cannot write in directory '%s'", directory);
    if (error)
        return error;
    close(fd);
    unlink(temporary);
    free(temporary);
    return NULL;
}
