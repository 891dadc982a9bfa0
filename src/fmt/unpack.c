/* Looking into files that may be gzipped: see unpack.h. */
#include "fmt/unpack.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"

/* zlib's words for what is wrong with the stream. */
static neap_error *gzip_error(gzFile gz, const char *path) {
    int code;
    const char *message = gzerror(gz, &code);
    if (code == Z_ERRNO)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", path);
    if (code == Z_BUF_ERROR)
        return error_make(NEAP_ERROR_DATA, "%s: gzip's end is missing: truncated?", path);
    return error_make(NEAP_ERROR_DATA, "%s: damaged: %s", path, message);
}

static neap_error *count_rest(gzFile gz, const char *path, int64_t *size_bytes) {
    unsigned char piece[16 * 1024];
    int n;
    while ((n = gzread(gz, piece, sizeof piece)) > 0)
        *size_bytes += n;
    int code;
    gzerror(gz, &code);
    return n < 0 || code == Z_BUF_ERROR ? gzip_error(gz, path) : NULL;
}

neap_error *unpack_start(const char *path, struct unpacked *out) {
    struct stat info;
    *out = (struct unpacked){0};
    errno = ENOMEM; /* gzopen sets errno unless memory is what it lacks */
    gzFile gz = gzopen(path, "rbe");
    if (!gz)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", path);
    neap_error *error = NULL;
    int n = gzread(gz, out->start, sizeof out->start);
    if (n < 0)
        error = gzip_error(gz, path);
    out->n_start = n < 0 ? 0 : (size_t)n;
    out->size_bytes = n;
    out->packed = !gzdirect(gz);
    if (!error && out->packed)
        error = count_rest(gz, path, &out->size_bytes);
    else if (!error && stat(path, &info) == 0 && S_ISREG(info.st_mode))
        out->size_bytes = info.st_size;
    gzclose_r(gz);
    return error;
}
