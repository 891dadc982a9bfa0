/* Values in their layouts, element by element: see storage.h. */
#include "support/storage.h"

#include <stdlib.h>
#include <string.h>

neap_error *storage_alloc(const struct value *value, unsigned char filler, void **out) {
    size_t bytes = (size_t)value_bytes(value);
    if (posix_memalign(out, 64, bytes ? bytes : 1))
        return error_memory(bytes);
    memset(*out, filler, bytes);
    return NULL;
}

struct tensor storage_tensor(const struct value *value, void *data) {
    int64_t n = layout_elements(value->layout, value->shape);
    return (struct tensor){data, value->dtype, shape_of(1, &n)};
}

int64_t storage_place(const struct value *value, int64_t at) {
    int64_t index[MAX_RANK];
    for (int d = value->shape.rank - 1; d >= 0; d--) {
        index[d] = at % value->shape.dim[d];
        at /= value->shape.dim[d];
    }
    return layout_offset(value->layout, value->shape, index);
}

void storage_pack(const struct value *value, const struct tensor *from, void *data) {
    struct tensor to = storage_tensor(value, data);
    memset(data, 0, (size_t)value_bytes(value));
    for (int64_t i = 0; i < shape_elements(value->shape); i++)
        tensor_set(&to, storage_place(value, i), tensor_get(from, i));
}

bool storage_padding_is_zero(const struct value *value, void *data) {
    struct tensor t = storage_tensor(value, data);
    int64_t n = t.shape.dim[0];
    bool zero = true, *used = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; used && i < shape_elements(value->shape); i++)
        used[storage_place(value, i)] = true;
    for (int64_t i = 0; used && i < n; i++)
        zero = zero && (used[i] || tensor_get(&t, i) == 0);
    free(used);
    return zero;
}
