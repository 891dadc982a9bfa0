/* CIFAR's binary versions: records of one label byte (CIFAR-100: a coarse and a fine one) and
 * 3x32x32 bytes, no header. Of CIFAR-10 all the data_batch_<1..5>.bin there are are trained on,
 * test_batch.bin is validated on; of CIFAR-100 train.bin and test.bin.
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
#include "data/source.h"

enum { MAX_FILES = 5, MAX_LABELS = 2, SIDE = 32, IMAGE_BYTES = 3 * SIDE * SIDE };

/* What the versions differ in. */
struct version {
    const char *train_files[MAX_FILES + 1], *val_files[2]; /* NULL ends them */
    int n_labels, label;                                   /* bytes, and which of them counts */
    int n_classes[MAX_LABELS];                             /* by label byte */
    struct moments moments;
};

static const struct version cifar10 = {
    .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                    "data_batch_5.bin"},
    .val_files = {"test_batch.bin"},
    .n_labels = 1,
    .n_classes = {10},
    .moments = {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}},
};

static const struct version cifar100 = {
    .train_files = {"train.bin"},
    .val_files = {"test.bin"},
    .n_labels = 2,
    .label = 1,
    .n_classes = {20, 100},
    .moments = {{0.5071f, 0.4867f, 0.4408f}, {0.2675f, 0.2565f, 0.2761f}},
};

static const struct version cifar100_coarse = {
    .train_files = {"train.bin"},
    .val_files = {"test.bin"},
    .n_labels = 2,
    .label = 0,
    .n_classes = {20, 100},
    .moments = {{0.5071f, 0.4867f, 0.4408f}, {0.2675f, 0.2565f, 0.2761f}},
};

struct record_file {
    char *path;
    int fd;
    int64_t n_records;
};

struct cifar {
    const struct version *version;
    struct record_file files[MAX_FILES];
    int n_files;
    struct pipeline pipeline;
};

static int64_t record_bytes(const struct version *version) {
    return version->n_labels + IMAGE_BYTES;
}

/* ---- what a folder holds -------------------------------------------------------------------- */

static bool holds_any(const char *folder, const char *const *names) {
    bool found = false;
    for (; *names && !found; names++) {
        char *path;
        neap_error *error = memory_format(&path, "%s/%s", folder, *names);
        found = !error && file_exists(path) && !file_is_directory(path);
        neap_error_free(error);
        free(path);
    }
    return found;
}

static bool recognise(const char *folder, const struct version *version) {
    return holds_any(folder, version->train_files) || holds_any(folder, version->val_files);
}

static bool recognise_cifar10(const char *folder) {
    return recognise(folder, &cifar10);
}
static bool recognise_cifar100(const char *folder) {
    return recognise(folder, &cifar100);
}

/* ---- a file --------------------------------------------------------------------------------- */

static neap_error *read_bytes(const struct cifar *cifar, const struct record_file *file,
                              int64_t record, size_t bytes, uint8_t *out) {
    ssize_t got;
    do
        got = pread(file->fd, out, bytes, record * record_bytes(cifar->version));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", file->path);
    if ((size_t)got < bytes)
        return error_make(NEAP_ERROR_DATA, "%s: record %s is cut off: changed since it was opened?",
                          file->path, digits_of(record).text);
    return NULL;
}

/* The first label byte that is out of range; n_labels where none is. */
static int bad_label(const struct version *version, const uint8_t *labels) {
    int i = 0;
    while (i < version->n_labels && labels[i] < version->n_classes[i])
        i++;
    return i;
}

static neap_error *check_labels(const struct cifar *cifar, const struct record_file *file) {
    const struct version *version = cifar->version;
    for (int64_t i = 0; i < file->n_records; i++) {
        uint8_t labels[MAX_LABELS];
        TRY(read_bytes(cifar, file, i, (size_t)version->n_labels, labels));
        const int bad = bad_label(version, labels);
        if (bad < version->n_labels)
            return error_make(NEAP_ERROR_DATA, "%s: label %d of record %s is outside 0..%d",
                              file->path, labels[bad], digits_of(i).text,
                              version->n_classes[bad] - 1);
    }
    return NULL;
}

static neap_error *open_file(const struct cifar *cifar, struct record_file *file) {
    const int64_t bytes = record_bytes(cifar->version);
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", file->path);
    if (!S_ISREG(info.st_mode))
        return error_make(NEAP_ERROR_DATA, "cannot read '%s': not a regular file", file->path);
    if (info.st_size == 0)
        return error_make(NEAP_ERROR_DATA, "%s: empty", file->path);
    if (info.st_size % bytes != 0)
        return error_make(NEAP_ERROR_DATA,
                          "%s: %s bytes, not a multiple of %s (%d+3x32x32): truncated?", file->path,
                          digits_of(info.st_size).text, digits_of(bytes).text,
                          cifar->version->n_labels);
    file->n_records = info.st_size / bytes;
    return check_labels(cifar, file);
}

/* ---- the source ----------------------------------------------------------------------------- */

static neap_error *open_version(const struct version *version, const struct source_request *request,
                                const char *folder, struct source *source) {
    struct cifar *cifar;
    TRY(memory_alloc(1, sizeof *cifar, &cifar));
    source->state = cifar;
    cifar->version = version;
    source->shape = (struct sample_shape){3, SIDE, SIDE};
    source->n_classes = version->n_classes[version->label];
    source->resident_bytes = sizeof *cifar;
    TRY(source_set_pipeline(request, source, false, &version->moments, &cifar->pipeline));
    source->scratch_bytes = pipeline_scratch_bytes(&cifar->pipeline, SIDE, SIDE);
    const char *const *names =
        request->split == SPLIT_TRAIN ? version->train_files : version->val_files;
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
        TRY(open_file(cifar, file));
        source->n_samples += file->n_records;
    }
    if (cifar->n_files == 0)
        return error_make(NEAP_ERROR_DATA, "no %s in '%s'", names[0], folder);
    return NULL;
}

static neap_error *open_cifar10(const struct source_request *request, const char *folder,
                                struct source *source) {
    return open_version(&cifar10, request, folder, source);
}
static neap_error *open_cifar100(const struct source_request *request, const char *folder,
                                 struct source *source) {
    return open_version(&cifar100, request, folder, source);
}
static neap_error *open_cifar100_coarse(const struct source_request *request, const char *folder,
                                        struct source *source) {
    return open_version(&cifar100_coarse, request, folder, source);
}

static neap_error *read_cifar(const struct source *source, struct sample_request request,
                              float *image, int32_t *label) {
    const struct cifar *cifar = source->state;
    const struct version *version = cifar->version;
    const struct record_file *file = cifar->files;
    int64_t record = request.index;
    for (; record >= file->n_records; file++)
        record -= file->n_records;
    uint8_t bytes[MAX_LABELS + IMAGE_BYTES];
    TRY(read_bytes(cifar, file, record, (size_t)record_bytes(version), bytes));
    if (bad_label(version, bytes) < version->n_labels)
        return error_make(NEAP_ERROR_DATA,
                          "%s: label %d of record %s: changed since it was opened?", file->path,
                          bytes[bad_label(version, bytes)], digits_of(record).text);
    *label = bytes[version->label];
    pipeline_run(&cifar->pipeline, image_planar(bytes + version->n_labels, 3, SIDE, SIDE), &request,
                 image);
    return NULL;
}

static void close_cifar(void *state) {
    struct cifar *cifar = state;
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
    .augments = true,
    .recognise = recognise_cifar10,
    .open = open_cifar10,
    .read = read_cifar,
    .close = close_cifar,
};

const struct source_format source_cifar100 = {
    .name = "cifar100",
    .files = "CIFAR-100's train.bin",
    .augments = true,
    .recognise = recognise_cifar100,
    .open = open_cifar100,
    .read = read_cifar,
    .close = close_cifar,
};

/* The same files as 20 classes of five; by name only, as a folder of them is of the fine ones. */
const struct source_format source_cifar100_coarse = {
    .name = "cifar100-coarse",
    .files = "CIFAR-100's train.bin",
    .augments = true,
    .recognise = recognise_cifar100,
    .open = open_cifar100_coarse,
    .read = read_cifar,
    .close = close_cifar,
};
