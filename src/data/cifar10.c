/* CIFAR-10's binary version: records of a label byte and 3x32x32 bytes, no header. Trained on are
 * all the data_batch_<1..5>.bin there are, validated on test_batch.bin.
 *
 * Samples are read from the files when they are asked for: the page cache holds them better than
 * this process would. https://www.cs.toronto.edu/~kriz/cifar.html */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/normalize.h"
#include "data/source.h"

enum { MAX_FILES = 5, AREA = 32 * 32, RECORD_BYTES = 1 + 3 * AREA, N_CLASSES = 10 };

static const struct moments cifar10_moments = {{0.4914f, 0.4822f, 0.4465f},
                                               {0.2470f, 0.2435f, 0.2616f}};

struct record_file {
    char *path;
    int fd;
    int64_t n_records;
};

struct cifar10 {
    struct record_file files[MAX_FILES];
    int n_files;
    struct normalizer normalizer;
};

static const char *const train_files[] = {"data_batch_1.bin", "data_batch_2.bin",
                                          "data_batch_3.bin", "data_batch_4.bin",
                                          "data_batch_5.bin", NULL};
static const char *const val_files[] = {"test_batch.bin", NULL};

static bool holds_any(const char *folder, const char *const *names) {
    bool found = false;
    for (; *names && !found; names++) {
        char *path;
        neap_error *error = memory_format(&path, "%s/%s", folder, *names);
        found = !error && file_exists(path);
        neap_error_free(error);
        free(path);
    }
    return found;
}

static bool recognise(const char *folder) {
    return holds_any(folder, train_files) || holds_any(folder, val_files);
}

static neap_error *read_bytes(const struct record_file *file, int64_t record, size_t bytes,
                              uint8_t *out) {
    ssize_t got;
    do
        got = pread(file->fd, out, bytes, record * RECORD_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", file->path);
    if ((size_t)got < bytes)
        return error_make(NEAP_ERROR_DATA, "%s: record %s is cut off: changed since it was opened?",
                          file->path, digits_of(record).text);
    return NULL;
}

static neap_error *check_labels(const struct record_file *file) {
    for (int64_t i = 0; i < file->n_records; i++) {
        uint8_t label;
        TRY(read_bytes(file, i, 1, &label));
        if (label >= N_CLASSES)
            return error_make(NEAP_ERROR_DATA, "%s: label %d of record %s is outside 0..%d",
                              file->path, label, digits_of(i).text, N_CLASSES - 1);
    }
    return NULL;
}

static neap_error *open_file(struct record_file *file) {
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", file->path);
    if (!S_ISREG(info.st_mode))
        return error_make(NEAP_ERROR_DATA, "cannot read '%s': not a regular file", file->path);
    if (info.st_size == 0)
        return error_make(NEAP_ERROR_DATA, "%s: empty", file->path);
    if (info.st_size % RECORD_BYTES != 0)
        return error_make(NEAP_ERROR_DATA,
                          "%s: %s bytes, not a multiple of %s (1+3x32x32): "
                          "truncated?",
                          file->path, digits_of(info.st_size).text, digits_of(RECORD_BYTES).text);
    file->n_records = info.st_size / RECORD_BYTES;
    return check_labels(file);
}

static neap_error *open_cifar10(const struct source_request *request, const char *folder,
                                struct source *source) {
    struct cifar10 *cifar;
    TRY(memory_alloc(1, sizeof *cifar, &cifar));
    source->state = cifar;
    TRY(normalizer_set(&cifar->normalizer, request->normalize, 3, &cifar10_moments));
    const char *const *names = request->split == SPLIT_TRAIN ? train_files : val_files;
    for (const char *const *name = names; *name; name++) {
        char *path;
        TRY(memory_format(&path, "%s/%s", folder, *name));
        if (!file_exists(path)) {
            free(path);
            continue;
        }
        struct record_file *file = &cifar->files[cifar->n_files++];
        file->path = path;
        file->fd = -1;
        TRY(open_file(file));
        source->n_samples += file->n_records;
    }
    if (cifar->n_files == 0)
        return error_make(NEAP_ERROR_DATA, "no %s in '%s'", names[0], folder);
    source->shape = (struct sample_shape){3, 32, 32};
    source->n_classes = N_CLASSES;
    source->resident_bytes = sizeof *cifar;
    return NULL;
}

static neap_error *read_cifar10(const struct source *source, int64_t index, float *image,
                                int32_t *label) {
    const struct cifar10 *cifar = source->state;
    const struct record_file *file = cifar->files;
    for (; index >= file->n_records; file++)
        index -= file->n_records;
    uint8_t record[RECORD_BYTES];
    TRY(read_bytes(file, index, sizeof record, record));
    if (record[0] >= N_CLASSES)
        return error_make(NEAP_ERROR_DATA,
                          "%s: label %d of record %s: changed since it was opened?", file->path,
                          record[0], digits_of(index).text);
    *label = record[0];
    normalizer_apply(&cifar->normalizer, record + 1, AREA, image);
    return NULL;
}

static void close_cifar10(void *state) {
    struct cifar10 *cifar = state;
    for (int i = 0; cifar && i < cifar->n_files; i++) {
        if (cifar->files[i].fd >= 0)
            close(cifar->files[i].fd);
        free(cifar->files[i].path);
    }
    free(cifar);
}

const struct source_format source_cifar10 = {
    .name = "cifar10",
    .files = "CIFAR-10's data_batch_1.bin",
    .recognise = recognise,
    .open = open_cifar10,
    .read = read_cifar10,
    .close = close_cifar10,
};
