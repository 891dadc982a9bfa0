/* Padding: zeros, then a copy of one box. */
#include "ops/pad.h"

#include "backend/cpu/boxes.h"
#include "ops/index.h"

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct pad_attrs *a = node->attrs;
    const struct value *in = node_input(site->g, node, 0), *out = node_output(site->g, node, 0);
    int64_t before[MAX_RANK];
    struct box_state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s + sizeof s->boxes[0], &s));
    for (int d = 0; d < MAX_RANK; d++)
        before[d] = int_list_at(&a->before, d, 0);
    box_of(&(struct box_place){.value = in}, &(struct box_place){.value = out, .begin = before},
           in->shape, &s->boxes[0]);
    s->n_boxes = 1;
    *state = s;
    return NULL;
}

const struct kernel kernel_pad_cpu = {
    .name = "pad:cpu",
    .op = &op_pad,
    .negotiate = box_negotiate,
    .create = create,
    .run = box_run,
};
