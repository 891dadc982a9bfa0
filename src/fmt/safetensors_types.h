/* The types that safetensors files and graphs have in common. */
#ifndef NEAP_FMT_SAFETENSORS_TYPES_H
#define NEAP_FMT_SAFETENSORS_TYPES_H

#include "ir/graph.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors files are little endian");

struct safetensors_type {
    const char *name;
    enum dtype dtype;
    int64_t element_bytes;
};

static const struct safetensors_type safetensors_types[] = {
    {"F64", DTYPE_F64, 8}, {"F32", DTYPE_F32, 4}, {"F16", DTYPE_F16, 2}, {"BF16", DTYPE_BF16, 2},
    {"I64", DTYPE_I64, 8}, {"I32", DTYPE_I32, 4}, {"U8", DTYPE_U8, 1},
};
enum { N_SAFETENSORS_TYPES = sizeof safetensors_types / sizeof *safetensors_types };

enum { SAFETENSORS_MOST_HEADER_BYTES = 100000000 };

#endif
