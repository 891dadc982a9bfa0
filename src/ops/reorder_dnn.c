/* Reorders by oneDNN: any layout to any other, weights' above all; bf16 where the processor has it.
 */
#include "backend/cpu/dnn.h"
#include "ops/ops.h"

/* Both layouts are given. */
static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct value *x = node_input(site->g, site->node, 0);
    dnnl_memory_desc_t from = dnn_desc(x->shape, x->dtype, want->in[0]);
    dnnl_memory_desc_t to = dnn_desc(x->shape, x->dtype, want->out[0]);
    dnnl_primitive_desc_t described;
    if (x->dtype == DTYPE_F32)
        return NULL;
    if (x->dtype != DTYPE_BF16)
        return "it moves fp32 and bf16";
    neap_error *error = dnn_describe_reorder(site->device, &from, &to, &described);
    bool good = !error && described && !dnn_is_slow(described);
    if (!error && described)
        dnn_describe_free(described);
    neap_error_free(error);
    return good ? NULL : "the library would be slow in bf16";
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    dnnl_memory_desc_t from = dnn_desc_of(node_input(site->g, site->node, 0));
    dnnl_memory_desc_t to = dnn_desc_of(node_output(site->g, site->node, 0));
    const struct dnn_argument arguments[] = {
        {DNNL_ARG_FROM, DNN_IN, 0, from},
        {DNNL_ARG_TO, DNN_OUT, 0, to},
    };
    dnnl_primitive_desc_t described;
    struct dnn_call *call;
    TRY(dnn_describe_reorder(site->device, &from, &to, &described));
    if (!described)
        return node_refuse(site->g, site->node, "oneDNN cannot reorder so");
    TRY(dnn_call_create(site->device, described, arguments, 2, &call, scratch_bytes));
    *state = call;
    return NULL;
}

const struct kernel kernel_reorder_dnn = {
    .name = "reorder:dnn",
    .op = &op_reorder,
    .negotiate = negotiate,
    .create = create,
    .run = dnn_call_run,
    .destroy = dnn_call_destroy,
    .implementation = dnn_call_implementation,
};
