/* Copying boxes: see boxes.h. */
#include "backend/cpu/boxes.h"

#include <string.h>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"

enum { BATCH, CHANNEL, HEIGHT, WIDTH };

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool side_of(const struct box_place *place, struct box_side *side) {
    int rank = place->value->shape.rank;
    for (int d = 0; d < BOX_DIMS; d++) {
        side->begin[d] = d < rank && place->begin ? place->begin[d] : 0;
        side->step[d] = d < rank && place->step ? place->step[d] : 1;
    }
    return channel_view_of(place->value, &side->view);
}

bool box_of(const struct box_place *from, const struct box_place *to, struct shape count,
            struct box *out) {
    if (!side_of(from, &out->from) || !side_of(to, &out->to))
        return false;
    for (int d = 0; d < BOX_DIMS; d++)
        out->count[d] = d < count.rank ? count.dim[d] : 1;
    const struct box_side *sides[] = {&out->from, &out->to};
    out->group = out->count[CHANNEL];
    for (int i = 0; i < 2; i++) {
        const struct box_side *s = sides[i];
        int64_t group = s->view.blocks > 1 ? common_divisor(s->view.lanes, s->begin[CHANNEL])
                                           : s->view.lanes - s->begin[CHANNEL];
        if (s->step[CHANNEL] != 1)
            group = 1;
        if (s->view.blocks > 1 || group < out->group)
            out->group = common_divisor(out->group, group);
    }
    return true;
}

/* Where element (n, c, h, 0) of the box lies. */
static int64_t row_offset(const struct box_side *s, int64_t n, int64_t c, int64_t h) {
    const struct channel_view *v = &s->view;
    int64_t channel = s->begin[CHANNEL] + s->step[CHANNEL] * c;
    int64_t plane = (s->begin[BATCH] + s->step[BATCH] * n) * v->blocks + channel / v->lanes;
    int64_t row = plane * v->height + s->begin[HEIGHT] + s->step[HEIGHT] * h;
    return (row * v->width + s->begin[WIDTH]) * v->lanes + channel % v->lanes;
}

/* `n` groups, which lie from_step and to_step apart. */
static void copy_row(const float *from, float *to, int64_t n, int64_t group, int64_t from_step,
                     int64_t to_step) {
    if (from_step == group && to_step == group)
        memcpy(to, from, (size_t)(n * group) * sizeof *to);
    else if (group == 1)
        for (int64_t i = 0; i < n; i++)
            to[i * to_step] = from[i * from_step];
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * from_step, (size_t)group * sizeof *to);
}

struct copy {
    const struct box *box;
    const float *from;
    float *to;
};

/* Rows (n, h) with all their channels, which keeps both sides in cache. */
static void copy_range(const void *context, int64_t begin, int64_t end) {
    const struct copy *copy = context;
    const struct box *b = copy->box;
    int64_t from_step = b->from.step[WIDTH] * b->from.view.lanes;
    int64_t to_step = b->to.step[WIDTH] * b->to.view.lanes;
    for (int64_t i = begin; i < end; i++) {
        int64_t n = i / b->count[HEIGHT], h = i % b->count[HEIGHT];
        for (int64_t c = 0; c < b->count[CHANNEL]; c += b->group)
            copy_row(copy->from + row_offset(&b->from, n, c, h),
                     copy->to + row_offset(&b->to, n, c, h), b->count[WIDTH], b->group, from_step,
                     to_step);
    }
}

void box_copy(const struct box *box, const float *from, float *to) {
    int64_t rows = box->count[BATCH] * box->count[HEIGHT];
    int64_t elements = box->count[CHANNEL] * box->count[WIDTH];
    parallel_for(rows, ELEMENTWISE_GRAIN / elements + 1, copy_range, &(struct copy){box, from, to});
}

static void clear_range(const void *context, int64_t begin, int64_t end) {
    float *to = ((const struct copy *)context)->to;
    memset(to + begin, 0, (size_t)(end - begin) * sizeof *to);
}

void box_clear(float *to, int64_t n) {
    parallel_for(n, ELEMENTWISE_GRAIN, clear_range, &(struct copy){.to = to});
}

const char *box_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    const struct node *node = site->node;
    struct value value = *node_input(site->g, node, 0);
    struct channel_view view;
    if (value.shape.rank != 2 && value.shape.rank != 4)
        return "the rank is neither 2 nor 4";
    if (value.dtype != DTYPE_F32)
        return "it moves fp32";
    value.layout = want->in[0];
    if (!channel_view_of(&value, &view))
        value.layout = (struct layout){0};
    for (uint32_t i = 0; i < node->n_inputs; i++)
        want->in[i] = value.layout;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        want->out[i] = value.layout;
    return NULL;
}

neap_error *box_run(void *state, const struct launch *launch) {
    const struct box_state *s = state;
    if (s->n_clear)
        box_clear(launch->out[0], s->n_clear);
    for (int64_t i = 0; i < s->n_boxes; i++)
        box_copy(&s->boxes[i], launch->in[i], launch->out[0]);
    return NULL;
}
