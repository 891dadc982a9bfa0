/* safetensors: named tensors in one file, as PyTorch's users exchange weights.
 *
 * Layout: 8 bytes n, little endian; n bytes of JSON {"name": {"dtype", "shape", "data_offsets":
 * [begin, end)}, "__metadata__": {string: string}}; the tensors' bytes, little endian, row-major,
 * in the order of their offsets without holes. https://github.com/huggingface/safetensors
 *
 * Expected load: a few thousand tensors, headers up to 100,000,000 bytes, files of any size (they
 * are mapped, not read). Malformed files are NEAP_ERROR_DATA, naming file and tensor. */
#ifndef NEAP_FMT_SAFETENSORS_H
#define NEAP_FMT_SAFETENSORS_H

#include "ir/graph.h"

/* ---- reading -------------------------------------------------------------------------------- */

struct safetensors_tensor {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    int64_t size_bytes;
    const void *data; /* not necessarily aligned: memcpy from it */
};

struct safetensors;
MUST_USE neap_error *safetensors_open(const char *path, struct safetensors **out);
/* Everything the file lent is gone with it; NULL is fine. */
void safetensors_close(struct safetensors *file);

/* Tensors in the order of the file. */
size_t safetensors_count(const struct safetensors *file);
const struct safetensors_tensor *safetensors_at(const struct safetensors *file, size_t index);
/* NULL where there is none of that name. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name);
/* A string of __metadata__, NULL where it has none of that key. */
const char *safetensors_metadata(const struct safetensors *file, const char *key);

/* ---- writing -------------------------------------------------------------------------------- */

struct safetensors_entry {
    const char *name; /* copied */
    enum dtype dtype; /* not DTYPE_BIT */
    struct shape shape;
    /* The values, row-major: either all of them, borrowed until the file is written, … */
    const void *data;
    /* … or, with data NULL, asked for in pieces: elements [first, first + count) into `out`, which
     * is aligned and holds them exactly. The pieces come in order and are at most 64 KiB. */
    neap_error *(*fill)(void *user, int64_t first, int64_t count, void *out);
    void *user;
};

struct safetensors_writer;
MUST_USE neap_error *safetensors_writer_create(struct safetensors_writer **out);
/* Refuses a name that is there already. */
MUST_USE neap_error *safetensors_writer_add(struct safetensors_writer *writer,
                                            const struct safetensors_entry *entry);
/* The tensors in the order they were added, whole or not at all. */
MUST_USE neap_error *safetensors_writer_save(struct safetensors_writer *writer, const char *path);
void safetensors_writer_free(struct safetensors_writer *writer); /* NULL is fine */

#endif
