/* Every fp32 kernel once more, for 16-bit floats: inputs are widened into scratch memory, the
 * kernel computes there in fp32, and its results are rounded once on the way out. So whatever the
 * processor lacks, every op that has a kernel has one in bf16 and fp16, with the same roundings at
 * the same places. The scratch memory is planned like any value.
 *
 * The kernel is asked and created on a shadow of the node: a graph of its tensors alone, those of
 * 16 bits being fp32. Linear in the node's tensors. */
#include "backend/cpu/wide.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/dnn.h"
#include "backend/cpu/real.h"
#include "ops/cast.h"

enum role { IN, OUT, N_ROLES };

struct shadow {
    neap_graph g;
    struct node node;
    struct value *values; /* inputs, outputs, updates, then what the outputs are gradients of */
    value_id *ids;
};

static void shadow_free(struct shadow *s) {
    free(s->values);
    free(s->ids);
}

static value_id add_value(struct shadow *s, const struct value *value) {
    struct value *copy = &s->values[s->g.n_values];
    *copy = *value;
    copy->producer = copy->of = ID_NONE;
    if (dtype_is_half(copy->dtype))
        copy->dtype = DTYPE_F32;
    return s->g.n_values++;
}

static value_id *add_values(struct shadow *s, const neap_graph *g, const value_id *from, uint32_t n,
                            value_id *to) {
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i] == ID_NONE ? ID_NONE : add_value(s, graph_value(g, from[i]));
        for (uint32_t j = 0; j < i; j++) /* one that is read twice stays one */
            if (from[i] == from[j])
                to[i] = to[j];
    }
    return to;
}

static neap_error *shadow_create(const struct kernel_site *site, struct shadow *s) {
    const struct node *node = site->node;
    uint32_t n_in = node->n_inputs, n_out = node->n_outputs, n_up = node->n_updates;
    *s = (struct shadow){.node = *node};
    TRY(memory_alloc(n_in + 2 * n_out + n_up, sizeof *s->values, &s->values));
    neap_error *error = memory_alloc(n_in + n_out + n_up, sizeof *s->ids, &s->ids);
    if (error) {
        shadow_free(s);
        return error;
    }
    s->node.inputs = add_values(s, site->g, node->inputs, n_in, s->ids);
    s->node.outputs = add_values(s, site->g, node->outputs, n_out, s->ids + n_in);
    s->node.updates = add_values(s, site->g, node->updates, n_up, s->ids + n_in + n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        value_id of = node_output(site->g, node, i)->of;
        if (of != ID_NONE)
            s->values[s->node.outputs[i]].of = add_value(s, graph_value(site->g, of));
    }
    s->g.values = s->values;
    s->g.nodes = &s->node;
    s->g.n_nodes = 1;
    return NULL;
}

static bool any_half(const neap_graph *g, const value_id *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != ID_NONE && dtype_is_half(graph_value(g, values[i])->dtype))
            return true;
    return false;
}

static const char *negotiate(const struct kernel *kernel, const struct kernel_site *site,
                             struct kernel_layouts *want) {
    const struct node *node = site->node;
    struct shadow s;
    if (!any_half(site->g, node->inputs, node->n_inputs) &&
        !any_half(site->g, node->outputs, node->n_outputs))
        return "nothing is in 16 bits";
    if (any_half(site->g, node->updates, node->n_updates) || node->op == &op_cast)
        return "it is about the type";
    neap_error *error = shadow_create(site, &s);
    if (error) {
        neap_error_free(error);
        return "no memory";
    }
    const struct kernel_site inner = {site->device, &s.g, &s.node, site->open_inputs};
    const char *refusal = kernel->negotiate(&inner, want);
    shadow_free(&s);
    return refusal;
}

/* ---- running -------------------------------------------------------------------------------- */

struct tensor_place {
    enum dtype dtype;
    int64_t n;      /* elements with padding */
    int64_t offset; /* of its fp32 form in scratch; −1: it is used as it is */
};

struct state {
    const struct kernel *kernel;
    void *inner;
    uint32_t n[N_ROLES];
    struct tensor_place *places[N_ROLES];
    void **pointers[N_ROLES];
};

static void destroy(void *state) {
    struct state *s = state;
    if (!s)
        return;
    if (s->inner)
        s->kernel->destroy ? s->kernel->destroy(s->inner) : free(s->inner);
    for (int r = 0; r < N_ROLES; r++) {
        free(s->places[r]);
        free(s->pointers[r]);
    }
    free(s);
}

/* Behind what is placed already: *bytes. */
static neap_error *place_tensors(struct state *s, enum role role, const neap_graph *g,
                                 const value_id *values, uint32_t n, int64_t *bytes) {
    s->n[role] = n;
    TRY(memory_alloc(n, sizeof *s->places[role], &s->places[role]));
    TRY(memory_alloc(n, sizeof *s->pointers[role], &s->pointers[role]));
    for (uint32_t i = 0; i < n; i++) {
        struct tensor_place *place = &s->places[role][i];
        place->offset = -1;
        if (!any_half(g, &values[i], 1))
            continue;
        const struct value *value = graph_value(g, values[i]);
        place->dtype = value->dtype;
        place->n = layout_elements(value->layout, value->shape);
        place->offset = *bytes;
        *bytes += round_up(place->n * (int64_t)sizeof(float), 64);
    }
    return NULL;
}

static neap_error *create_parts(const struct kernel_site *site, struct state *s,
                                size_t *scratch_bytes) {
    const struct node *node = site->node;
    struct shadow shadow;
    size_t inner_bytes = 0;
    TRY(shadow_create(site, &shadow));
    const struct kernel_site inner = {site->device, &shadow.g, &shadow.node, site->open_inputs};
    neap_error *error = s->kernel->create(&inner, &s->inner, &inner_bytes);
    int64_t bytes = round_up((int64_t)inner_bytes, 64);
    if (!error)
        error = place_tensors(s, IN, site->g, node->inputs, node->n_inputs, &bytes);
    if (!error)
        error = place_tensors(s, OUT, site->g, node->outputs, node->n_outputs, &bytes);
    shadow_free(&shadow);
    *scratch_bytes = (size_t)bytes;
    return error;
}

static neap_error *create(const struct kernel *kernel, const struct kernel_site *site, void **state,
                          size_t *scratch_bytes) {
    struct state *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->kernel = kernel;
    neap_error *error = create_parts(site, s, scratch_bytes);
    if (error)
        destroy(s);
    else
        *state = s;
    return error;
}

static void point(struct state *s, enum role role, void *const *from, char *scratch) {
    for (uint32_t i = 0; i < s->n[role]; i++) {
        int64_t offset = s->places[role][i].offset;
        s->pointers[role][i] = offset < 0 ? from[i] : scratch + offset;
    }
}

static neap_error *run(void *state, const struct launch *launch) {
    struct state *s = state;
    point(s, IN, launch->in, launch->scratch);
    point(s, OUT, launch->out, launch->scratch);
    for (uint32_t i = 0; i < s->n[IN]; i++) {
        const struct tensor_place *place = &s->places[IN][i];
        if (place->offset >= 0)
            real_convert(place->dtype, launch->in[i], DTYPE_F32, s->pointers[IN][i], place->n);
    }
    TRY(s->kernel->run(s->inner, &(struct launch){.in = s->pointers[IN],
                                                  .out = s->pointers[OUT],
                                                  .up = launch->up,
                                                  .scratch = launch->scratch,
                                                  .params = launch->params}));
    for (uint32_t i = 0; i < s->n[OUT]; i++) {
        const struct tensor_place *place = &s->places[OUT][i];
        if (place->offset >= 0)
            real_convert(DTYPE_F32, s->pointers[OUT][i], place->dtype, launch->out[i], place->n);
    }
    return NULL;
}

static const char *implementation(const void *state) {
    const struct state *s = state;
    return s->kernel->implementation ? s->kernel->implementation(s->inner) : s->kernel->name;
}

#define KERNEL(stem)                                                                               \
    extern const struct kernel kernel_##stem;                                                      \
    static const char *negotiate_##stem(const struct kernel_site *site,                            \
                                        struct kernel_layouts *want) {                             \
        return negotiate(&kernel_##stem, site, want);                                              \
    }                                                                                              \
    static neap_error *create_##stem(const struct kernel_site *site, void **state,                 \
                                     size_t *scratch_bytes) {                                      \
        return create(&kernel_##stem, site, state, scratch_bytes);                                 \
    }                                                                                              \
    const struct kernel wide_##stem = {                                                            \
        .name = #stem ":wide",                                                                     \
        .inner = &kernel_##stem,                                                                   \
        .negotiate = negotiate_##stem,                                                             \
        .create = create_##stem,                                                                   \
        .run = run,                                                                                \
        .destroy = destroy,                                                                        \
        .implementation = implementation,                                                          \
    };
#include "backend/cpu/kernels.def"
#undef KERNEL
