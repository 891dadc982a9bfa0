/* Concatenation: a copy of a box from each input. */
#include "ops/concat.h"

#include "backend/cpu/boxes.h"

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct concat_attrs *a = node->attrs;
    const struct value *out = node_output(site->g, node, 0);
    int64_t begin[MAX_RANK] = {0};
    struct box_state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s + node->n_inputs * sizeof s->boxes[0], &s));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct value *in = node_input(site->g, node, i);
        box_of(&(struct box_place){.value = in}, &(struct box_place){.value = out, .begin = begin},
               in->shape, &s->boxes[i]);
        begin[a->axis] += in->shape.dim[a->axis];
    }
    s->n_boxes = node->n_inputs;
    s->covered = true;
    *state = s;
    return NULL;
}

const struct kernel kernel_concat_cpu = {
    .name = "concat:cpu",
    .op = &op_concat,
    .negotiate = box_negotiate,
    .create = create,
    .run = box_run,
};
