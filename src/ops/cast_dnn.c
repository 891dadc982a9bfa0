/* Casts between fp32 and the 16-bit floats, flat where both sides lie alike. Where they do not (a
 * copy of a weight in the layout of its kernel) the library reorders in fp32 on the way, through
 * scratch memory. */
#include <stdlib.h>

#include "backend/cpu/dnn.h"
#include "backend/cpu/real.h"
#include "ops/cast.h"

struct state {
    enum dtype from, to;
    int64_t n_from, n_to;     /* elements with padding */
    int64_t wide, reordered;  /* where x lies in fp32, and in y's layout, in scratch */
    struct dnn_call *reorder; /* NULL: they lie alike */
    size_t library_bytes;
};

/* The cast of a stored value is asked for in the layout of its reader afterwards. */
static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    enum dtype from = node_input(site->g, site->node, 0)->dtype;
    enum dtype to = node_output(site->g, site->node, 0)->dtype;
    want->out[0] = want->in[0];
    bool fits =
        dtype_is_real(from) && dtype_is_real(to) && (from == DTYPE_F32) != (to == DTYPE_F32);
    return fits ? NULL : "it casts between fp32 and 16 bits";
}

static neap_error *create_reorder(const struct kernel_site *site, struct state *s) {
    const struct value *x = node_input(site->g, site->node, 0);
    const struct value *y = node_output(site->g, site->node, 0);
    const struct dnn_argument arguments[] = {
        {DNNL_ARG_FROM, DNN_IN, 0, dnn_desc(x->shape, DTYPE_F32, x->layout)},
        {DNNL_ARG_TO, DNN_OUT, 0, dnn_desc(y->shape, DTYPE_F32, y->layout)},
    };
    dnnl_primitive_desc_t described;
    TRY(dnn_describe_reorder(site->device, &arguments[0].desc, &arguments[1].desc, &described));
    if (!described)
        return node_refuse(site->g, site->node, "oneDNN cannot reorder so");
    return dnn_call_create(site->device, described, arguments, 2, &s->reorder, &s->library_bytes);
}

static void destroy(void *state) {
    struct state *s = state;
    if (s)
        dnn_call_destroy(s->reorder);
    free(s);
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct value *x = node_input(site->g, site->node, 0);
    const struct value *y = node_output(site->g, site->node, 0);
    struct state *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    *s = (struct state){.from = x->dtype,
                        .to = y->dtype,
                        .n_from = layout_elements(x->layout, x->shape),
                        .n_to = layout_elements(y->layout, y->shape)};
    if (!layout_equal(x->layout, y->layout)) {
        neap_error *error = create_reorder(site, s);
        if (error) {
            destroy(s);
            return error;
        }
        s->wide = round_up((int64_t)s->library_bytes, 64);
        int64_t wide_bytes = s->from == DTYPE_F32 ? 0 : s->n_from * 4;
        s->reordered = s->wide + round_up(wide_bytes, 64);
        *scratch_bytes = (size_t)(s->reordered + (s->to == DTYPE_F32 ? 0 : s->n_to * 4));
    }
    *state = s;
    return NULL;
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct state *s = state;
    void *x = launch->in[0], *y = launch->out[0];
    if (s->reorder) {
        char *scratch = launch->scratch;
        void *wide = s->from == DTYPE_F32 ? x : scratch + s->wide;
        void *reordered = s->to == DTYPE_F32 ? y : scratch + s->reordered;
        if (wide != x)
            real_convert(s->from, x, DTYPE_F32, wide, s->n_from);
        TRY(dnn_call_run(s->reorder,
                         &(struct launch){.in = &wide, .out = &reordered, .scratch = scratch}));
        x = reordered;
    }
    if (x != y)
        real_convert(s->reorder ? DTYPE_F32 : s->from, x, s->to, y, s->n_to);
    return NULL;
}

const struct kernel kernel_cast_dnn = {
    .name = "cast:dnn",
    .op = &op_cast,
    .negotiate = negotiate,
    .create = create,
    .run = run,
    .destroy = destroy,
};
