/* IDX files, the format of MNIST and its family: a magic number 00 00 <type> <rank>, big-endian
 * 32-bit dimensions, then the bytes. Plain or gzipped (zlib reads both). A folder holds
 * {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each with or without ".gz".
 *
 * The bytes are kept in memory: 47 MB for 60,000 images of 28x28. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/digits.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/source.h"

enum { MAX_IDX_RANK = 3, N_CLASSES = 10 };

struct idx_file {
    char *path;
    int64_t dims[MAX_IDX_RANK], n_bytes; /* n_bytes: of data */
    uint8_t *data;
};

struct idx {
    struct idx_file images, labels;
    struct pipeline pipeline;
};

/* The path of a split's file in *path, NULL where there is none. */
static neap_error *find_file(const char *folder, enum source_split split, const char *what,
                             int rank, char **path) {
    static const char *const spellings[] = {"%s/%s-%s-idx%d-ubyte", "%s/%s-%s-idx%d-ubyte.gz",
                                            "%s/%s-%s.idx%d-ubyte", "%s/%s-%s.idx%d-ubyte.gz"};
    const char *prefix = split == SPLIT_TRAIN ? "train" : "t10k";
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        TRY(memory_format(path, spellings[i], folder, prefix, what, rank));
        if (file_exists(*path))
            return NULL;
        free(*path);
        *path = NULL;
    }
    return NULL;
}

static bool recognise(const char *folder) {
    char *train = NULL, *val = NULL;
    neap_error *error = find_file(folder, SPLIT_TRAIN, "images", 3, &train);
    if (!error)
        error = find_file(folder, SPLIT_VAL, "images", 3, &val);
    bool found = !error && (train || val);
    neap_error_free(error);
    free(train);
    free(val);
    return found;
}

/* ---- one file ------------------------------------------------------------------------------- */

/* The one place that knows zlib's errors. A stream that ends early (Z_BUF_ERROR) is none: the
 * caller says how much is missing. */
static neap_error *gzip_error(gzFile gz, const char *path) {
    int code;
    const char *message = gzerror(gz, &code);
    const size_t prefix = strlen(path) + strlen(": "); /* zlib puts the path before its words */
    if (code == Z_OK || code == Z_BUF_ERROR)
        return NULL;
    if (code == Z_ERRNO)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", path);
    if (code == Z_MEM_ERROR)
        return error_memory(0);
    return error_make(NEAP_ERROR_DATA, "%s: damaged: %s", path,
                      strlen(message) > prefix ? message + prefix : message);
}

/* Up to `most` bytes into `out` (NULL: thrown away); *got is less only at the file's end. */
static neap_error *read_some(gzFile gz, const char *path, uint8_t *out, int64_t most,
                             int64_t *got) {
    enum { PIECE_BYTES = 16 * 1024 };
    uint8_t thrown_away[PIECE_BYTES];
    for (*got = 0; *got < most;) {
        const int64_t left = most - *got, piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        const int n = gzread(gz, out ? out + *got : thrown_away, (unsigned)piece);
        if (n > 0)
            *got += n;
        if (n != piece)
            return gzip_error(gz, path);
    }
    return NULL;
}

static neap_error *read_header(gzFile gz, int rank, struct idx_file *file) {
    uint8_t header[4 + 4 * MAX_IDX_RANK];
    const int64_t header_bytes = 4 + 4 * rank;
    int64_t got;
    TRY(read_some(gz, file->path, header, header_bytes, &got));
    const uint8_t magic[4] = {0, 0, 8 /* unsigned bytes */, (uint8_t)rank};
    if (got >= 4 && memcmp(header, magic, 4) != 0)
        return error_make(NEAP_ERROR_DATA,
                          "%s: not an IDX file of %s (starts %02x %02x %02x %02x, not 00 00 08 "
                          "%02x)",
                          file->path, rank == 3 ? "images" : "labels", header[0], header[1],
                          header[2], header[3], magic[3]);
    if (got < header_bytes)
        return error_make(NEAP_ERROR_DATA, "%s: %s bytes, less than the %s of its header: %s",
                          file->path, digits_of(got).text, digits_of(header_bytes).text,
                          got == 0 ? "empty" : "truncated?");
    for (int i = 0; i < rank; i++) {
        const uint8_t *at = header + 4 + 4 * i;
        file->dims[i] = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        if (file->dims[i] == 0)
            return error_make(NEAP_ERROR_DATA, "%s: dimension %d of its header is 0", file->path,
                              i);
    }
    return NULL;
}

/* "60000x28x28" into text[40]. */
static const char *dims_text(const struct idx_file *file, int rank, char text[40]) {
    for (int i = 0, used = 0; i < rank; i++)
        used += snprintf(text + used, (size_t)(40 - used), "%s%lld", i ? "x" : "",
                         (long long)file->dims[i]);
    return text;
}

/* The data may be whole where the checksum behind it is not. */
static bool ends_early(gzFile gz) {
    int code;
    gzerror(gz, &code);
    return code == Z_BUF_ERROR;
}

/* A header can promise anything: only what the file can hold (gzip packs at most 1032 to 1) is
 * allocated. */
static bool can_hold(const char *path, int64_t bytes) {
    struct stat info;
    return stat(path, &info) == 0 && bytes / 1100 <= info.st_size;
}

static neap_error *read_data(gzFile gz, int rank, struct idx_file *file) {
    const int64_t header_bytes = 4 + 4 * rank;
    int64_t promised = 1, got, beyond = 0;
    char dims[40];
    for (int i = 0; i < rank; i++)
        if (!size_multiply(promised, file->dims[i], &promised))
            return error_make(NEAP_ERROR_DATA, "%s: header promises more than any file holds (%s)",
                              file->path, dims_text(file, rank, dims));
    if (can_hold(file->path, promised))
        TRY(memory_alloc((size_t)promised, 1, &file->data));
    TRY(read_some(gz, file->path, file->data, promised, &got));
    if (got == promised) /* all there; reading on also checks gzip's checksum */
        TRY(read_some(gz, file->path, NULL, INT64_MAX, &beyond));
    file->n_bytes = promised;
    if (got + beyond != promised || !file->data)
        return error_make(NEAP_ERROR_DATA, "%s: %s bytes, header promises %s (%s): %s", file->path,
                          digits_of(header_bytes + got + beyond).text,
                          digits_of(header_bytes + promised).text, dims_text(file, rank, dims),
                          beyond ? "trailing bytes?" : "truncated?");
    if (ends_early(gz))
        return error_make(NEAP_ERROR_DATA, "%s: gzip's checksum is missing: truncated?",
                          file->path);
    return NULL;
}

static neap_error *load_file(const char *folder, enum source_split split, const char *what,
                             int rank, struct idx_file *file) {
    TRY(find_file(folder, split, what, rank, &file->path));
    if (!file->path)
        return error_make(NEAP_ERROR_DATA, "no %s-%s-idx%d-ubyte or %s-%s-idx%d-ubyte.gz in '%s'",
                          split == SPLIT_TRAIN ? "train" : "t10k", what, rank,
                          split == SPLIT_TRAIN ? "train" : "t10k", what, rank, folder);
    errno = ENOMEM; /* gzopen sets errno unless memory is what it lacks */
    gzFile gz = gzopen(file->path, "rbe");
    if (!gz)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", file->path);
    neap_error *error = read_header(gz, rank, file);
    if (!error)
        error = read_data(gz, rank, file);
    gzclose_r(gz);
    return error;
}

/* ---- the source ----------------------------------------------------------------------------- */

static neap_error *check_labels(const struct idx *idx) {
    const struct idx_file *labels = &idx->labels;
    if (labels->dims[0] != idx->images.dims[0])
        return error_make(NEAP_ERROR_DATA, "%s: %s labels for the %s images of %s", labels->path,
                          digits_of(labels->dims[0]).text, digits_of(idx->images.dims[0]).text,
                          idx->images.path);
    for (int64_t i = 0; i < labels->dims[0]; i++)
        if (labels->data[i] >= N_CLASSES)
            return error_make(NEAP_ERROR_DATA, "%s: label %d of sample %s is outside 0..%d",
                              labels->path, labels->data[i], digits_of(i).text, N_CLASSES - 1);
    return NULL;
}

static neap_error *open_idx(const struct source_request *request, const char *folder,
                            struct source *source) {
    struct idx *idx;
    TRY(memory_alloc(1, sizeof *idx, &idx));
    source->state = idx;
    TRY(load_file(folder, request->split, "labels", 1, &idx->labels));
    TRY(load_file(folder, request->split, "images", 3, &idx->images));
    TRY(check_labels(idx));
    source->shape = (struct sample_shape){1, idx->images.dims[1], idx->images.dims[2]};
    TRY(source_set_pipeline(request, source, false, NULL, &idx->pipeline));
    source->scratch_bytes =
        pipeline_scratch_bytes(&idx->pipeline, source->shape.height, source->shape.width);
    source->n_samples = idx->images.dims[0];
    source->n_classes = N_CLASSES;
    source->resident_bytes = (int64_t)sizeof *idx + idx->images.n_bytes + idx->labels.n_bytes;
    return NULL;
}

static neap_error *read_idx(const struct source *source, struct sample_request request,
                            float *image, int32_t *label) {
    const struct idx *idx = source->state;
    const int64_t height = idx->images.dims[1], width = idx->images.dims[2];
    *label = idx->labels.data[request.index];
    pipeline_run(&idx->pipeline,
                 image_planar(idx->images.data + request.index * height * width, 1, height, width),
                 &request, image);
    return NULL;
}

static void close_idx(void *state) {
    struct idx *idx = state;
    if (!idx)
        return;
    free(idx->images.path);
    free(idx->images.data);
    free(idx->labels.path);
    free(idx->labels.data);
    free(idx);
}

const struct source_format source_idx = {
    .name = "idx",
    .files = "IDX's train-images-idx3-ubyte[.gz]",
    .augments = true,
    .recognise = recognise,
    .open = open_idx,
    .read = read_idx,
    .close = close_idx,
};
