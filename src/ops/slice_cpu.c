/* Slices and their backward as copies of one box. */
#include "ops/slice.h"

#include "backend/cpu/boxes.h"

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    const struct node *node = site->node;
    const struct value *in = node_input(site->g, node, 0), *out = node_output(site->g, node, 0);
    bool backward = node->op == &op_slice_backward;
    struct slice_geometry geometry;
    struct box_state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s + sizeof s->boxes[0], &s));
    slice_geometry_of(node->attrs, backward ? out->shape : in->shape, &geometry);
    struct box_place whole = {backward ? out : in, geometry.begin, geometry.step};
    struct box_place part = {.value = backward ? in : out};
    box_of(backward ? &part : &whole, backward ? &whole : &part, geometry.output, &s->boxes[0]);
    s->n_boxes = 1;
    s->covered = shape_equal(geometry.output, out->shape);
    *state = s;
    return NULL;
}

const struct kernel kernel_slice_cpu = {
    .name = "slice:cpu",
    .op = &op_slice,
    .negotiate = box_negotiate,
    .create = create,
    .run = box_run,
};

const struct kernel kernel_slice_backward_cpu = {
    .name = "slice_backward:cpu",
    .op = &op_slice_backward,
    .negotiate = box_negotiate,
    .create = create,
    .run = box_run,
};
