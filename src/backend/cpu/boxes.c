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

static inline __attribute__((always_inline)) void copy_groups(const float *from, float *to,
                                                              int64_t n, int64_t group,
                                                              int64_t from_step, int64_t to_step) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_step, from + i * from_step, (size_t)group * sizeof *to);
}

/* `n` groups, which lie from_step and to_step apart. Of a size known here a group is a move or two;
 * odd channels make groups of 4 and 2. */
static void copy_row(const float *from, float *to, int64_t n, int64_t group, int64_t from_step,
                     int64_t to_step) {
    if (from_step == group && to_step == group)
        copy_groups(from, to, 1, n * group, 0, 0);
    else if (group == 16)
        copy_groups(from, to, n, 16, from_step, to_step);
    else if (group == 8)
        copy_groups(from, to, n, 8, from_step, to_step);
    else if (group == 4)
        copy_groups(from, to, n, 4, from_step, to_step);
    else if (group == 2)
        copy_groups(from, to, n, 2, from_step, to_step);
    else if (group == 1)
        copy_groups(from, to, n, 1, from_step, to_step);
    else
        copy_groups(from, to, n, group, from_step, to_step);
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

static void clear_all(float *to, int64_t n) {
    parallel_for(n, ELEMENTWISE_GRAIN, clear_range, &(struct copy){.to = to});
}

struct padding {
    const struct channel_view *view;
    float *to;
};

/* The lanes of a sample's last block that are no channels. */
static void clear_padding_range(const void *context, int64_t begin, int64_t end) {
    const struct padding *p = context;
    const struct channel_view *v = p->view;
    int64_t first = v->channels % v->lanes;
    for (int64_t n = begin; n < end; n++) {
        float *place = p->to + (n + 1) * v->blocks * v->space * v->lanes - v->space * v->lanes;
        for (int64_t i = 0; i < v->space; i++, place += v->lanes)
            for (int64_t lane = first; lane < v->lanes; lane++)
                place[lane] = 0;
    }
}

static void clear_padding(const struct channel_view *view, float *to) {
    parallel_for(view->batch, ELEMENTWISE_GRAIN / (view->space * view->lanes) + 1,
                 clear_padding_range, &(struct padding){view, to});
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
    const struct channel_view *out = &s->boxes[0].to.view;
    if (!s->covered)
        clear_all(launch->out[0], out->batch * out->blocks * out->space * out->lanes);
    else if (out->channels < out->blocks * out->lanes)
        clear_padding(out, launch->out[0]);
    for (int64_t i = 0; i < s->n_boxes; i++)
        box_copy(&s->boxes[i], launch->in[i], launch->out[0]);
    return NULL;
}
