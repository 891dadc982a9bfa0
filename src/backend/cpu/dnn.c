/* oneDNN 2.x: see dnn.h. Everything that depends on the library's version is here: its memory
 * descriptors are plain structs, read and filled by hand. */
#include "backend/cpu/dnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if DNNL_VERSION_MAJOR != 2
#error "neap wants oneDNN 2.x (Debian 12: libdnnl-dev)"
#endif

struct library {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

static const char *const statuses[] = {
    [dnnl_success] = "success",
    [dnnl_out_of_memory] = "out of memory",
    [dnnl_invalid_arguments] = "invalid arguments",
    [dnnl_unimplemented] = "not implemented",
    [dnnl_iterator_ends] = "no more implementations",
    [dnnl_runtime_error] = "runtime error",
    [dnnl_not_required] = "not required",
};

neap_error *dnn_error(dnnl_status_t status, const char *what) {
    if (status == dnnl_success)
        return NULL;
    bool known = (size_t)status < sizeof statuses / sizeof *statuses;
    return error_make(status == dnnl_out_of_memory ? NEAP_ERROR_MEMORY : NEAP_ERROR_RUNTIME,
                      "oneDNN: %s: %s", what, known ? statuses[status] : "unknown status");
}

void dnn_close(void *state) {
    struct library *library = state;
    if (!library)
        return;
    if (library->stream)
        dnnl_stream_destroy(library->stream);
    if (library->engine)
        dnnl_engine_destroy(library->engine);
    free(library);
}

neap_error *dnn_open(void **state) {
    struct library *library;
    TRY(memory_alloc(1, sizeof *library, &library));
    neap_error *error =
        dnn_error(dnnl_engine_create(&library->engine, dnnl_cpu, 0), "creating the engine");
    if (!error)
        error = dnn_error(
            dnnl_stream_create(&library->stream, library->engine, dnnl_stream_default_flags),
            "creating the stream");
    if (error)
        dnn_close(library);
    else
        *state = library;
    return error;
}

const char *dnn_version(char buffer[32]) {
    const dnnl_version_t *version = dnnl_version();
    snprintf(buffer, 32, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return buffer;
}

int dnn_channel_block(void) {
    int sets = (int)dnnl_get_effective_cpu_isa(), wide = (int)dnnl_cpu_isa_avx512_core;
    return (sets & wide) == wide ? 16 : 8;
}

dnnl_engine_t dnn_engine(const struct device *device) {
    return ((const struct library *)device->state)->engine;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static dnnl_data_type_t data_type(enum dtype dtype) {
    static const dnnl_data_type_t types[N_DTYPES] = {
        [DTYPE_F32] = dnnl_f32, [DTYPE_BF16] = dnnl_bf16, [DTYPE_F16] = dnnl_f16,
        [DTYPE_I32] = dnnl_s32, [DTYPE_U8] = dnnl_u8,
    };
    return types[dtype]; /* 0 is dnnl_data_type_undef */
}

dnnl_memory_desc_t dnn_desc_any(struct shape shape, enum dtype dtype) {
    dnnl_memory_desc_t desc = {
        .ndims = shape.rank, .data_type = data_type(dtype), .format_kind = dnnl_format_kind_any};
    for (int d = 0; d < shape.rank; d++)
        desc.dims[d] = desc.padded_dims[d] = shape.dim[d];
    return desc;
}

dnnl_memory_desc_t dnn_desc(struct shape shape, enum dtype dtype, struct layout layout) {
    dnnl_memory_desc_t desc = dnn_desc_any(shape, dtype);
    dnnl_blocking_desc_t *blocking = &desc.format_desc.blocking;
    int64_t stride = 1, block[MAX_RANK];
    desc.format_kind = dnnl_blocked;
    for (int d = 0; d < shape.rank; d++)
        block[d] = 1;
    blocking->inner_nblks = layout.n_blocks;
    for (int b = 0; b < layout.n_blocks; b++) {
        blocking->inner_blks[b] = layout.block_size[b];
        blocking->inner_idxs[b] = layout.block_dim[b];
        block[layout.block_dim[b]] *= layout.block_size[b];
        stride *= layout.block_size[b];
    }
    for (int place = shape.rank; place-- > 0;) {
        int d = layout.permuted ? layout.order[place] : place;
        desc.padded_dims[d] = round_up(shape.dim[d], block[d]);
        blocking->strides[d] = stride;
        stride *= desc.padded_dims[d] / block[d];
    }
    return desc;
}

dnnl_memory_desc_t dnn_desc_of(const struct value *value) {
    return dnn_desc(value->shape, value->dtype, value->layout);
}

dnnl_memory_desc_t dnn_desc_matrix(enum dtype dtype, int64_t rows, int64_t columns,
                                   int64_t row_stride, int64_t column_stride) {
    dnnl_memory_desc_t desc = dnn_desc_any(shape_of(2, (int64_t[]){rows, columns}), dtype);
    desc.format_kind = dnnl_blocked;
    desc.format_desc.blocking.strides[0] = row_stride;
    desc.format_desc.blocking.strides[1] = column_stride;
    return desc;
}

/* Does dimension a lie outside of b? Of equal strides one has size 1: it lies inside. */
static bool lies_outside(const dnnl_memory_desc_t *desc, int a, int b) {
    const int64_t *strides = desc->format_desc.blocking.strides;
    if (strides[a] != strides[b])
        return strides[a] > strides[b];
    bool single_a = desc->padded_dims[a] == 1, single_b = desc->padded_dims[b] == 1;
    return single_a != single_b ? single_b : a < b;
}

/* Outer dimensions from the outermost to the innermost. */
static void order_of(const dnnl_memory_desc_t *desc, uint8_t order[MAX_RANK]) {
    for (int d = 0; d < desc->ndims; d++) {
        int place = d;
        for (; place > 0 && lies_outside(desc, d, order[place - 1]); place--)
            order[place] = order[place - 1];
        order[place] = (uint8_t)d;
    }
}

bool dnn_layout_of(const dnnl_memory_desc_t *desc, struct layout *out) {
    const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
    struct layout layout = {.n_blocks = (uint8_t)blocking->inner_nblks};
    if (desc->format_kind != dnnl_blocked || desc->ndims > MAX_RANK ||
        blocking->inner_nblks > MAX_BLOCKS || desc->offset0 || desc->extra.flags)
        return false;
    for (int b = 0; b < blocking->inner_nblks; b++) {
        if (blocking->inner_blks[b] > 255)
            return false;
        layout.block_dim[b] = (uint8_t)blocking->inner_idxs[b];
        layout.block_size[b] = (uint8_t)blocking->inner_blks[b];
    }
    order_of(desc, layout.order);
    for (int d = 0; d < desc->ndims; d++)
        layout.permuted |= layout.order[d] != d;
    if (!layout.permuted)
        memset(layout.order, 0, sizeof layout.order);
    /* Only what round-trips exactly: dense, padded to whole blocks. */
    struct shape shape = {.rank = desc->ndims};
    for (int d = 0; d < desc->ndims; d++)
        shape.dim[d] = desc->dims[d];
    dnnl_memory_desc_t again = dnn_desc(shape, DTYPE_F32, layout);
    again.data_type = desc->data_type;
    *out = layout;
    return dnnl_memory_desc_equal(&again, desc);
}

/* ---- primitives ----------------------------------------------------------------------------- */

static neap_error *make_attributes(struct dnn_post post, dnnl_primitive_attr_t *out) {
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (!status && (post.relu || post.sum))
        status = dnnl_post_ops_create(&ops);
    if (!status && post.sum)
        status = dnnl_post_ops_append_sum(ops, 1);
    if (!status && post.relu)
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
    if (!status && ops)
        status = dnnl_primitive_attr_set_post_ops(attributes, ops);
    dnnl_post_ops_destroy(ops);
    if (status)
        dnnl_primitive_attr_destroy(attributes);
    else
        *out = attributes;
    return dnn_error(status, "setting attributes");
}

neap_error *dnn_describe(struct device *device, const void *operation, struct dnn_post post,
                         dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out) {
    dnnl_primitive_attr_t attributes;
    *out = NULL;
    TRY(make_attributes(post, &attributes));
    dnnl_status_t status =
        dnnl_primitive_desc_create(out, operation, attributes, dnn_engine(device), hint);
    dnnl_primitive_attr_destroy(attributes);
    if (status == dnnl_unimplemented || status == dnnl_invalid_arguments)
        return NULL;
    return dnn_error(status, "describing a primitive");
}

void dnn_describe_free(dnnl_primitive_desc_t described) {
    if (described)
        dnnl_primitive_desc_destroy(described);
}

const dnnl_memory_desc_t *dnn_query(dnnl_primitive_desc_t described, dnnl_query_t what) {
    return dnnl_primitive_desc_query_md(described, what, 0);
}

static const char *implementation_of(const_dnnl_primitive_desc_t described) {
    const char *text = NULL;
    dnnl_primitive_desc_query(described, dnnl_query_impl_info_str, 0, &text);
    return text ? text : "unknown";
}

bool dnn_is_slow(dnnl_primitive_desc_t described) {
    const char *text = implementation_of(described);
    return !strncmp(text, "ref", 3) || strstr(text, "gemm"); /* "x64:gemm:jit" too */
}

neap_error *dnn_describe_reorder(struct device *device, const dnnl_memory_desc_t *from,
                                 const dnnl_memory_desc_t *to, dnnl_primitive_desc_t *out) {
    dnnl_primitive_attr_t attributes;
    *out = NULL;
    TRY(make_attributes((struct dnn_post){0}, &attributes));
    dnnl_engine_t engine = dnn_engine(device);
    dnnl_status_t status =
        dnnl_reorder_primitive_desc_create(out, from, engine, to, engine, attributes);
    dnnl_primitive_attr_destroy(attributes);
    if (status == dnnl_unimplemented || status == dnnl_invalid_arguments)
        return NULL;
    return dnn_error(status, "describing a reorder");
}

enum { MAX_ARGUMENTS = 8 };

struct dnn_call {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_exec_arg_t arguments[MAX_ARGUMENTS]; /* the last is the scratchpad */
    void *bound[MAX_ARGUMENTS];               /* pointers they hold now */
    enum dnn_role role[MAX_ARGUMENTS];
    uint32_t index[MAX_ARGUMENTS];
    int n;
    char implementation[48];
};

void dnn_call_destroy(void *state) {
    struct dnn_call *call = state;
    if (!call)
        return;
    for (int i = 0; i < call->n; i++)
        dnnl_memory_destroy(call->arguments[i].memory);
    if (call->primitive)
        dnnl_primitive_destroy(call->primitive);
    free(call);
}

static neap_error *add_argument(struct dnn_call *call, dnnl_engine_t engine, int argument,
                                const dnnl_memory_desc_t *desc) {
    dnnl_exec_arg_t *slot = &call->arguments[call->n];
    slot->arg = argument;
    TRY(dnn_error(dnnl_memory_create(&slot->memory, desc, engine, DNNL_MEMORY_NONE),
                  "creating a memory"));
    call->n++;
    return NULL;
}

neap_error *dnn_call_create(struct device *device, dnnl_primitive_desc_t described,
                            const struct dnn_argument *arguments, int n_arguments,
                            struct dnn_call **out, size_t *scratch_bytes) {
    const struct library *library = device->state;
    struct dnn_call *call;
    neap_error *error = memory_alloc(1, sizeof *call, &call);
    if (error) {
        dnn_describe_free(described);
        return error;
    }
    call->stream = library->stream;
    snprintf(call->implementation, sizeof call->implementation, "%s", implementation_of(described));
    TRY_GOTO(dnn_error(dnnl_primitive_create(&call->primitive, described), "creating a primitive"));
    for (int i = 0; i < n_arguments; i++) {
        call->role[i] = arguments[i].role;
        call->index[i] = arguments[i].index;
        TRY_GOTO(add_argument(call, library->engine, arguments[i].argument, &arguments[i].desc));
    }
    const dnnl_memory_desc_t *scratch = dnn_query(described, dnnl_query_scratchpad_md);
    *scratch_bytes = dnnl_memory_desc_get_size(scratch);
    TRY_GOTO(add_argument(call, library->engine, DNNL_ARG_SCRATCHPAD, scratch));
done:
    dnn_describe_free(described);
    if (error)
        dnn_call_destroy(call);
    else
        *out = call;
    return error;
}

/* Pointers seldom change: a program's offsets are fixed. */
static neap_error *bind(struct dnn_call *call, int i, void *pointer) {
    if (call->bound[i] == pointer)
        return NULL;
    call->bound[i] = pointer;
    return dnn_error(dnnl_memory_set_data_handle(call->arguments[i].memory, pointer),
                     "binding a memory");
}

neap_error *dnn_call_run(void *state, const struct launch *launch) {
    struct dnn_call *call = state;
    void *const *const lists[] = {
        [DNN_IN] = launch->in, [DNN_OUT] = launch->out, [DNN_UP] = launch->up};
    for (int i = 0; i + 1 < call->n; i++)
        TRY(bind(call, i, lists[call->role[i]][call->index[i]]));
    TRY(bind(call, call->n - 1, launch->scratch));
    return dnn_error(
        dnnl_primitive_execute(call->primitive, call->stream, call->n, call->arguments),
        "running a primitive");
}

const char *dnn_call_implementation(const void *state) {
    return ((const struct dnn_call *)state)->implementation;
}
