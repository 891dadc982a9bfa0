/* Data types, value kinds, shapes and layouts: names, sizes and text. */
#include <stdio.h>
#include <string.h>

#include "ir/graph.h"

static const struct {
    const char *name;
    int bits;
} dtypes[N_DTYPES] = {
#define X(constant, name, bits) [DTYPE_##constant] = {name, bits},
    DTYPES(X)
#undef X
};

static const char *const kinds[N_VALUE_KINDS] = {
#define X(constant, name, persistent) [VALUE_##constant] = name,
    VALUE_KINDS(X)
#undef X
};

static const char *const phases[N_PHASES] = {"forward", "backward", "update"};

const char *dtype_name(enum dtype dtype) {
    return dtypes[dtype].name;
}

int dtype_bits(enum dtype dtype) {
    return dtypes[dtype].bits;
}

neap_error *dtype_of_name(const char *name, enum dtype *out) {
    for (int i = 0; i < N_DTYPES; i++)
        if (!strcmp(dtypes[i].name, name)) {
            *out = (enum dtype)i;
            return NULL;
        }
    return error_make(NEAP_ERROR_MODEL, "unknown data type '%s'", name);
}

bool dtype_is_half(enum dtype dtype) {
    return dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

enum dtype dtype_of_sums(enum dtype dtype) {
    return dtype_is_half(dtype) ? DTYPE_F32 : dtype;
}

const char *value_kind_name(enum value_kind kind) {
    return kinds[kind];
}

const char *phase_name(enum phase phase) {
    return phases[phase];
}

struct shape shape_of(int rank, const int64_t *dims) {
    struct shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    return shape;
}

bool shape_equal(struct shape a, struct shape b) {
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != b.dim[i])
            return false;
    return true;
}

int64_t shape_elements(struct shape shape) {
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dim[i] < 0 || !size_multiply(elements, shape.dim[i], &elements))
            return -1;
    return elements;
}

const char *shape_text(struct shape shape, char buffer[64]) {
    size_t length = 0;
    buffer[0] = 0;
    for (int i = 0; i < shape.rank && length < 64; i++)
        length += (size_t)snprintf(buffer + length, 64 - length, i ? "x%lld" : "%lld",
                                   (long long)shape.dim[i]);
    if (!shape.rank)
        snprintf(buffer, 64, "scalar");
    return buffer;
}

static int outer_dim(struct layout layout, int place) {
    return layout.permuted ? layout.order[place] : place;
}

bool layout_is_plain(struct layout layout) {
    return !layout.permuted && !layout.n_blocks;
}

bool layout_equal(struct layout a, struct layout b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

struct layout layout_channels_last(void) {
    return (struct layout){.permuted = 1, .order = {0, 2, 3, 1}};
}

struct layout layout_blocked_channels(int block) {
    return (struct layout){.n_blocks = 1, .block_dim = {1}, .block_size = {(uint8_t)block}};
}

/* Size of dimension d in whole blocks, and the product of its blocks. */
static int64_t dim_block(struct layout layout, int d) {
    int64_t block = 1;
    for (int b = 0; b < layout.n_blocks; b++)
        if (layout.block_dim[b] == d)
            block *= layout.block_size[b];
    return block;
}

int64_t layout_elements(struct layout layout, struct shape shape) {
    int64_t elements = 1;
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0 ||
            !size_multiply(elements, round_up(shape.dim[d], dim_block(layout, d)), &elements))
            return -1;
    return elements;
}

int64_t value_bytes(const struct value *value) {
    int64_t bits, elements = layout_elements(value->layout, value->shape);
    if (elements < 0 || !size_multiply(elements, dtype_bits(value->dtype), &bits) ||
        bits > INT64_MAX - 7)
        return -1;
    return (bits + 7) / 8;
}

int64_t layout_offset(struct layout layout, struct shape shape, const int64_t *index) {
    int64_t offset = 0;
    for (int place = 0; place < shape.rank; place++) {
        int d = outer_dim(layout, place);
        int64_t block = dim_block(layout, d);
        offset = offset * (round_up(shape.dim[d], block) / block) + index[d] / block;
    }
    for (int b = 0; b < layout.n_blocks; b++) {
        int64_t inside = 1; /* elements of this dimension within one step of block b */
        for (int later = b + 1; later < layout.n_blocks; later++)
            if (layout.block_dim[later] == layout.block_dim[b])
                inside *= layout.block_size[later];
        offset = offset * layout.block_size[b] +
                 index[layout.block_dim[b]] / inside % layout.block_size[b];
    }
    return offset;
}

const char *layout_text(struct layout layout, int rank, char buffer[40]) {
    size_t length = 0;
    for (int place = 0; place < rank; place++) {
        int d = outer_dim(layout, place);
        buffer[length++] = (char)((dim_block(layout, d) > 1 ? 'A' : 'a') + d);
    }
    buffer[length] = 0;
    for (int b = 0; b < layout.n_blocks; b++)
        length += (size_t)snprintf(buffer + length, 40 - length, "%d%c", layout.block_size[b],
                                   'a' + layout.block_dim[b]);
    return buffer;
}

neap_error *layout_of_text(const char *text, int rank, struct layout *out) {
    struct layout layout = {0};
    const char *at = text;
    bool ordered = true;
    unsigned seen = 0;
    for (int place = 0; place < rank; place++, at++) {
        int d = (*at | 32) - 'a';
        if (d < 0 || d >= rank || seen >> d & 1)
            return error_make(NEAP_ERROR_MODEL, "'%s' is no layout of rank %d", text, rank);
        seen |= 1u << d;
        layout.order[place] = (uint8_t)d;
        ordered = ordered && d == place;
    }
    while (*at) {
        int size, read;
        char letter;
        if (layout.n_blocks == MAX_BLOCKS || sscanf(at, "%d%c%n", &size, &letter, &read) != 2 ||
            size < 2 || size > 255 || letter < 'a' || letter >= 'a' + rank)
            return error_make(NEAP_ERROR_MODEL, "'%s' is no layout of rank %d", text, rank);
        layout.block_dim[layout.n_blocks] = (uint8_t)(letter - 'a');
        layout.block_size[layout.n_blocks++] = (uint8_t)size;
        at += read;
    }
    layout.permuted = !ordered;
    if (ordered)
        memset(layout.order, 0, sizeof layout.order);
    *out = layout;
    return NULL;
}
