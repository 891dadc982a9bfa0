/* Looking through the files of an image folder: see folder_survey.h. */
#include "data/folder_survey.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/file.h"
#include "base/memory.h"

enum { START_BYTES = 8 * 1024, MOST_THREADS = 64 }; /* most headers are shorter than START_BYTES */

struct survey {
    const char *folder;
    const struct folder_list *list;
    bool decode;
    struct surveyed *files;
    atomic_size_t next;
    atomic_bool stop; /* an error that ends the survey was met */
};

/* ---- reading -------------------------------------------------------------------------------- */

/* Up to `most` bytes from the start. */
static neap_error *read_start(int fd, const char *path, uint8_t *bytes, int64_t most,
                              int64_t *got) {
    for (*got = 0; *got < most;) {
        const ssize_t n = pread(fd, bytes + *got, (size_t)(most - *got), *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", path);
        if (n == 0)
            return NULL;
        *got += n;
    }
    return NULL;
}

static neap_error *open_image(const char *path, int *fd, int64_t *n_bytes) {
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &info) != 0)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode))
        return error_make(NEAP_ERROR_DATA, "cannot read '%s': not a regular file", path);
    *n_bytes = info.st_size;
    return NULL;
}

neap_error *survey_read(const char *path, uint8_t *bytes, int64_t room_bytes, int64_t *n_bytes) {
    int fd;
    int64_t size_bytes = 0;
    neap_error *error = open_image(path, &fd, &size_bytes);
    if (!error && size_bytes > room_bytes)
        error = error_make(NEAP_ERROR_DATA, "%s: %s bytes: changed since it was opened?", path,
                           digits_of(size_bytes).text);
    if (!error)
        error = read_start(fd, path, bytes, size_bytes, n_bytes);
    if (fd >= 0)
        close(fd);
    return error;
}

bool survey_is_image(const char *path) {
    uint8_t bytes[DECODE_MAGIC_BYTES];
    int fd;
    struct encoded start = {path, bytes, 0, true};
    int64_t size_bytes = 0;
    neap_error *error = open_image(path, &fd, &size_bytes);
    if (!error)
        error = read_start(fd, path, bytes, sizeof bytes, &start.n_bytes);
    if (fd >= 0)
        close(fd);
    const bool image = !error && decode_recognises(&start);
    neap_error_free(error);
    return image;
}

/* ---- a file --------------------------------------------------------------------------------- */

/* What a thread keeps from one file to the next. */
struct room {
    uint8_t *bytes, *pixels;
    size_t n_bytes, n_pixels;
};

static neap_error *look_with(struct survey *survey, struct room *room, const char *path, int fd,
                             struct surveyed *out) {
    bool more = true;
    for (int64_t most = START_BYTES; more; most = out->n_bytes) {
        int64_t got;
        TRY(memory_grow(&room->bytes, &room->n_bytes, (size_t)most, 1));
        TRY(read_start(fd, path, room->bytes, most, &got));
        const struct encoded start = {path, room->bytes, got, most < out->n_bytes};
        TRY(decode_header(&start, &out->picture, &more));
    }
    if (!survey->decode)
        return NULL;
    int64_t got;
    const size_t needed = (size_t)decode_bytes(&out->picture);
    TRY(memory_grow(&room->bytes, &room->n_bytes, (size_t)out->n_bytes, 1));
    TRY(memory_grow(&room->pixels, &room->n_pixels, needed, 1));
    TRY(read_start(fd, path, room->bytes, out->n_bytes, &got));
    const struct encoded whole = {path, room->bytes, got, false};
    return decode_picture(&whole, room->pixels, (int64_t)needed, &out->picture);
}

static neap_error *look_at(struct survey *survey, struct room *room, size_t file) {
    char path[PATH_MAX];
    int fd;
    struct surveyed *out = &survey->files[file];
    if (snprintf(path, sizeof path, "%s/%s", survey->folder,
                 folder_list_path(survey->list, file)) >= (int)sizeof path)
        return error_make(NEAP_ERROR_DATA, "%s: a path longer than %d bytes", path, PATH_MAX);
    neap_error *error = open_image(path, &fd, &out->n_bytes);
    if (!error)
        error = look_with(survey, room, path, fd, out);
    if (fd >= 0)
        close(fd);
    return error;
}

/* ---- together ------------------------------------------------------------------------------- */

/* Files are taken in order, so that where one ends the survey all before it have been looked at. */
static void *run(void *context) {
    struct survey *survey = context;
    struct room room = {0};
    while (!atomic_load(&survey->stop)) {
        const size_t file = atomic_fetch_add(&survey->next, 1);
        if (file >= survey->list->n_files)
            break;
        neap_error *error = look_at(survey, &room, file);
        survey->files[file].error = error;
        if (error && (!survey->decode || neap_error_code(error) != NEAP_ERROR_DATA))
            atomic_store(&survey->stop, true);
    }
    free(room.bytes);
    free(room.pixels);
    return NULL;
}

/* The first error that is more than a bad file, or that of the first bad one. */
static neap_error *take_error(struct survey *survey) {
    for (size_t i = 0; atomic_load(&survey->stop) && i < survey->list->n_files; i++) {
        neap_error *error = survey->files[i].error;
        if (error && (!survey->decode || neap_error_code(error) != NEAP_ERROR_DATA)) {
            survey->files[i].error = NULL;
            return error;
        }
    }
    return NULL;
}

neap_error *survey_files(const char *folder, const struct folder_list *list, bool decode,
                         int n_threads, struct surveyed **out) {
    struct survey survey = {.folder = folder, .list = list, .decode = decode};
    pthread_t threads[MOST_THREADS];
    int n_started = 0;
    *out = NULL;
    TRY(memory_alloc(list->n_files, sizeof *survey.files, &survey.files));
    while (n_started < MOST_THREADS && n_started < n_threads - 1 &&
           pthread_create(&threads[n_started], NULL, run, &survey) == 0)
        n_started++;
    run(&survey);
    for (int i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
    neap_error *error = take_error(&survey);
    if (error)
        survey_free(survey.files, list->n_files);
    else
        *out = survey.files;
    return error;
}

void survey_free(struct surveyed *files, size_t n_files) {
    for (size_t i = 0; files && i < n_files; i++)
        neap_error_free(files[i].error);
    free(files);
}
