/* oneDNN: descriptors to and from layouts, and primitives bound to a node's tensors.
 * dnn.c is the one file that knows the library's version. */
#ifndef NEAP_BACKEND_CPU_DNN_H
#define NEAP_BACKEND_CPU_DNN_H

#include <dnnl.h>

#include "backend/device.h"

MUST_USE neap_error *dnn_open(void **state);
void dnn_close(void *state);
/* "oneDNN 2.6.3", into buffer[32]. */
const char *dnn_version(char buffer[32]);

/* The library's status as an error. NULL for success. */
MUST_USE neap_error *dnn_error(dnnl_status_t status, const char *what);

/* A tensor in the given layout, and one in a layout still to be chosen by the library. */
dnnl_memory_desc_t dnn_desc(struct shape shape, enum dtype dtype, struct layout layout);
dnnl_memory_desc_t dnn_desc_any(struct shape shape, enum dtype dtype);
dnnl_memory_desc_t dnn_desc_of(const struct value *value);
/* A matrix with strides, for matmul. */
dnnl_memory_desc_t dnn_desc_matrix(enum dtype dtype, int64_t rows, int64_t columns,
                                   int64_t row_stride, int64_t column_stride);
/* False for what no struct layout can say. */
bool dnn_layout_of(const dnnl_memory_desc_t *desc, struct layout *out);

/* A primitive descriptor from an operation descriptor, scratchpad in the caller's hands, with an
 * optional ReLU or sum behind. NULL in *out where the library has none. */
struct dnn_post {
    bool relu, sum;
};
MUST_USE neap_error *dnn_describe(struct device *device, const void *operation,
                                  struct dnn_post post, dnnl_primitive_desc_t hint,
                                  dnnl_primitive_desc_t *out);
void dnn_describe_free(dnnl_primitive_desc_t described);
const dnnl_memory_desc_t *dnn_query(dnnl_primitive_desc_t described, dnnl_query_t what);
/* A reference or matrix-multiply fallback: many times slower than what the library does well. */
bool dnn_is_slow(dnnl_primitive_desc_t described);

/* A primitive with its tensors: which argument is which input, output or update of the node. */
enum dnn_role { DNN_IN, DNN_OUT, DNN_UP };
struct dnn_argument {
    int argument; /* DNNL_ARG_… */
    enum dnn_role role;
    uint32_t index;
    dnnl_memory_desc_t desc;
};
struct dnn_call;
/* Takes `described` over, also on error. */
MUST_USE neap_error *dnn_call_create(struct device *device, dnnl_primitive_desc_t described,
                                     const struct dnn_argument *arguments, int n_arguments,
                                     struct dnn_call **out, size_t *scratch_bytes);
/* These fit struct kernel. */
neap_error *dnn_call_run(void *call, const struct launch *launch);
void dnn_call_destroy(void *call);
const char *dnn_call_implementation(const void *call);

/* See cpu_channel_block. */
int dnn_channel_block(void);

dnnl_engine_t dnn_engine(const struct device *device);
MUST_USE neap_error *dnn_describe_reorder(struct device *device, const dnnl_memory_desc_t *from,
                                          const dnnl_memory_desc_t *to, dnnl_primitive_desc_t *out);

#endif
