/* Any op by its reference function, on plain layouts: slow, and right by definition. */
#include "backend/reference.h"

#include <stdlib.h>
#include <string.h>

struct state {
    const void *attrs;
    const char *name;
    void (*reference)(const struct op_call *call);
    uint32_t n_in, n_out, n_up;
    struct tensor tensors[]; /* in, out, up */
};

static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    if (!node->op->reference)
        return "it is expanded before kernels are chosen";
    for (uint32_t i = 0; i < node->n_inputs; i++)
        want->in[i] = (struct layout){0};
    for (uint32_t i = 0; i < node->n_outputs; i++)
        want->out[i] = (struct layout){0};
    for (uint32_t i = 0; i < node->n_updates; i++)
        if (!layout_is_plain(graph_value(site->g, node->updates[i])->layout))
            return "what it updates is not in the plain layout";
    return NULL;
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct node *node = site->node;
    uint32_t n = node->n_inputs + node->n_outputs + node->n_updates, at = 0;
    struct state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s + n * sizeof s->tensors[0], &s));
    s->attrs = node->attrs;
    s->name = node->name;
    s->reference = node->op->reference;
    s->n_in = node->n_inputs;
    s->n_out = node->n_outputs;
    s->n_up = node->n_updates;
    const value_id *const lists[] = {node->inputs, node->outputs, node->updates};
    const uint32_t counts[] = {node->n_inputs, node->n_outputs, node->n_updates};
    for (int l = 0; l < 3; l++)
        for (uint32_t i = 0; i < counts[l]; i++, at++)
            if (lists[l][i] != ID_NONE) {
                const struct value *value = graph_value(site->g, lists[l][i]);
                s->tensors[at] = (struct tensor){NULL, value->dtype, value->shape};
            }
    *state = s;
    return NULL;
}

static neap_error *run(void *state, const struct launch *launch) {
    struct state *s = state;
    struct tensor *in = s->tensors, *out = in + s->n_in, *up = out + s->n_out;
    for (uint32_t i = 0; i < s->n_in; i++)
        in[i].data = launch->in[i];
    for (uint32_t i = 0; i < s->n_out; i++)
        out[i].data = launch->out[i];
    for (uint32_t i = 0; i < s->n_up; i++)
        up[i].data = launch->up[i];
    s->reference(&(struct op_call){.attrs = s->attrs,
                                   .name = s->name,
                                   .in = in,
                                   .out = out,
                                   .up = up,
                                   .n_in = s->n_in,
                                   .n_out = s->n_out,
                                   .n_up = s->n_up,
                                   .params = launch->params});
    return NULL;
}

const struct kernel kernel_reference = {
    .name = "reference",
    .negotiate = negotiate,
    .create = create,
    .run = run,
};
