/* Networks of searched cells for CIFAR: NASNet-A (Zoph et al. 2018), AmoebaNet-A (Real et al. 2019)
 * and DARTS (Liu et al. 2019), as the last one's published code builds them: C = 36, 20 cells, no
 * auxiliary head, no drop-path. Parameters have that code's names (cells.3._ops.0.op.1.weight) and
 * PyTorch's default start, U(±1/√fan_in).
 *
 * A cell sees the outputs of the two cells before it as states 0 and 1; each step adds a state, the
 * sum of two operations on earlier ones. The image's side should be a multiple of 4. */
#include <stdio.h>

#include "models/models.h"

enum {
    N_CELLS = 20,
    FIRST_CHANNELS = 36, /* doubled by every reducing cell */
    STEM_CHANNELS = 108,
    MAX_STEPS = 5,
    MAX_NAME = 64,
};

/* What has no parameters is made once of a state, however many operations begin with it. */
enum { RELU, MAX_POOL, AVG_POOL, N_SHARED };

struct state {
    neap_value value, made[N_SHARED];
};

/* An operation, or a preprocess: prefix of its layers' names, and what comes out. */
struct place {
    neap_graph *g;
    const char *name;
    int64_t channels, stride;
};

struct edge {
    neap_value (*operation)(const struct place *p, struct state *from, int64_t kernel);
    int kernel, from;
};

struct cell {
    int n_steps, n_concat;
    struct edge edges[2 * MAX_STEPS]; /* two a step */
    int concat[MAX_STEPS];            /* the states that are the cell's output */
};

/* ---- layers ---------------------------------------------------------------------------------- */

static const char *layer_name(char name[MAX_NAME], const struct place *p, const char *layer) {
    snprintf(name, MAX_NAME, "%s.%s", p->name, layer);
    return name;
}

static struct state state_of(neap_value value) {
    return (struct state){value, {NEAP_NONE, NEAP_NONE, NEAP_NONE}};
}

static neap_value conv(const struct place *p, neap_value x, const char *layer,
                       struct neap_conv2d conv) {
    char name[MAX_NAME];
    if (!conv.out_channels)
        conv.out_channels = p->channels;
    return neap_conv2d(p->g, x, layer_name(name, p, layer), &conv);
}

static neap_value batch_norm(const struct place *p, neap_value x, const char *layer) {
    char name[MAX_NAME];
    return neap_batch_norm(p->g, x, layer_name(name, p, layer), 0, 0);
}

static neap_value relu_of(const struct place *p, struct state *from, const char *layer) {
    char name[MAX_NAME];
    if (from->made[RELU] == NEAP_NONE)
        from->made[RELU] = neap_relu(p->g, from->value, layer_name(name, p, layer));
    return from->made[RELU];
}

/* Depthwise k×k, 1×1, batch norm: layers op.`first` and the two behind it. */
static neap_value separable(const struct place *p, neap_value x, int first,
                            const struct neap_conv2d *depthwise) {
    char layer[3][8];
    for (int i = 0; i < 3; i++)
        snprintf(layer[i], sizeof layer[i], "op.%d", first + i);
    x = conv(p, x, layer[0], *depthwise);
    x = conv(p, x, layer[1], (struct neap_conv2d){.kernel = {1}});
    return batch_norm(p, x, layer[2]);
}

/* ---- operations ------------------------------------------------------------------------------ */

static neap_value sep(const struct place *p, struct state *from, int64_t kernel) {
    struct neap_conv2d depthwise = {
        .kernel = {kernel}, .stride = {p->stride}, .padding = {kernel / 2}, .groups = p->channels};
    char name[MAX_NAME];
    neap_value x = separable(p, relu_of(p, from, "op.0"), 1, &depthwise);
    depthwise.stride[0] = 1;
    x = neap_relu(p->g, x, layer_name(name, p, "op.4"));
    return separable(p, x, 5, &depthwise);
}

static neap_value dil(const struct place *p, struct state *from, int64_t kernel) {
    const struct neap_conv2d depthwise = {.kernel = {kernel},
                                          .stride = {p->stride},
                                          .padding = {kernel - 1},
                                          .dilation = {2},
                                          .groups = p->channels};
    return separable(p, relu_of(p, from, "op.0"), 1, &depthwise);
}

/* 1×k, then k×1. */
static neap_value cross(const struct place *p, struct state *from, int64_t kernel) {
    const struct neap_conv2d row = {
        .kernel = {1, kernel}, .stride = {1, p->stride}, .padding = {0, kernel / 2}};
    const struct neap_conv2d column = {
        .kernel = {kernel, 1}, .stride = {p->stride, 1}, .padding = {kernel / 2, 0}};
    neap_value x = conv(p, relu_of(p, from, "0"), "1", row);
    return batch_norm(p, conv(p, x, "2", column), "3");
}

static neap_value pool_of(const struct place *p, struct state *from, int64_t kernel, int shared,
                          neap_value (*pool)(neap_graph *, neap_value, const char *,
                                             const struct neap_pool2d *)) {
    if (from->made[shared] == NEAP_NONE)
        from->made[shared] = pool(
            p->g, from->value, p->name,
            &(struct neap_pool2d){.kernel = kernel, .stride = p->stride, .padding = kernel / 2});
    return from->made[shared];
}

static neap_value max(const struct place *p, struct state *from, int64_t kernel) {
    return pool_of(p, from, kernel, MAX_POOL, neap_max_pool2d);
}

/* Padding does not count. */
static neap_value avg(const struct place *p, struct state *from, int64_t kernel) {
    return pool_of(p, from, kernel, AVG_POOL, neap_avg_pool2d);
}

/* Every second pixel, from (first, first) on, through a 1×1 convolution. */
static neap_value half(const struct place *p, neap_value x, int first, const char *layer,
                       int64_t channels) {
    char name[MAX_NAME], slice[16], attrs[64];
    neap_value out;
    snprintf(slice, sizeof slice, "%s.slice", layer);
    snprintf(attrs, sizeof attrs, "begin=0,0,%d,%d step=1,1,2,2", first, first);
    x = neap_op(p->g, "slice", layer_name(name, p, slice), &x, 1, attrs, &out, 1);
    return conv(p, x, layer, (struct neap_conv2d){.out_channels = channels, .kernel = {1}});
}

static neap_value factorized_reduce(const struct place *p, struct state *from) {
    char name[MAX_NAME];
    neap_value x = relu_of(p, from, "relu");
    const neap_value halves[] = {
        half(p, x, 0, "conv_1", p->channels / 2),
        half(p, x, 1, "conv_2", p->channels - p->channels / 2),
    };
    return batch_norm(p, neap_concat(p->g, halves, 2, 1, layer_name(name, p, "concat")), "bn");
}

static neap_value skip(const struct place *p, struct state *from, int64_t kernel) {
    (void)kernel;
    return p->stride == 1 ? from->value : factorized_reduce(p, from);
}

/* ---- the searched cells: operation, kernel, state -------------------------------------------- */

static const struct cell nasnet_normal = {5,
                                          5,
                                          {{sep, 5, 1},
                                           {sep, 3, 0},
                                           {sep, 5, 0},
                                           {sep, 3, 0},
                                           {avg, 3, 1},
                                           {skip, 1, 0},
                                           {avg, 3, 0},
                                           {avg, 3, 0},
                                           {sep, 3, 1},
                                           {skip, 1, 1}},
                                          {2, 3, 4, 5, 6}};
static const struct cell nasnet_reducing = {5,
                                            3,
                                            {{sep, 5, 1},
                                             {sep, 7, 0},
                                             {max, 3, 1},
                                             {sep, 7, 0},
                                             {avg, 3, 1},
                                             {sep, 5, 0},
                                             {skip, 1, 3},
                                             {avg, 3, 2},
                                             {sep, 3, 2},
                                             {max, 3, 1}},
                                            {4, 5, 6}};
static const struct cell amoebanet_normal = {5,
                                             3,
                                             {{avg, 3, 0},
                                              {max, 3, 1},
                                              {sep, 3, 0},
                                              {sep, 5, 2},
                                              {sep, 3, 0},
                                              {avg, 3, 3},
                                              {sep, 3, 1},
                                              {skip, 1, 1},
                                              {skip, 1, 0},
                                              {avg, 3, 1}},
                                             {4, 5, 6}};
static const struct cell amoebanet_reducing = {5,
                                               3,
                                               {{avg, 3, 0},
                                                {sep, 3, 1},
                                                {max, 3, 0},
                                                {sep, 7, 2},
                                                {sep, 7, 0},
                                                {avg, 3, 1},
                                                {max, 3, 0},
                                                {max, 3, 1},
                                                {cross, 7, 0},
                                                {sep, 3, 5}},
                                               {3, 4, 6}};
static const struct cell darts_normal = {4,
                                         4,
                                         {{sep, 3, 0},
                                          {sep, 3, 1},
                                          {sep, 3, 0},
                                          {sep, 3, 1},
                                          {sep, 3, 1},
                                          {skip, 1, 0},
                                          {skip, 1, 0},
                                          {dil, 3, 2}},
                                         {2, 3, 4, 5}};
static const struct cell darts_reducing = {4,
                                           4,
                                           {{max, 3, 0},
                                            {max, 3, 1},
                                            {skip, 1, 2},
                                            {max, 3, 1},
                                            {max, 3, 0},
                                            {skip, 1, 2},
                                            {skip, 1, 2},
                                            {max, 3, 1}},
                                           {2, 3, 4, 5}};

/* ---- cells ----------------------------------------------------------------------------------- */

/* ReLU, 1×1 convolution and batch norm to the cell's channels. */
static struct state preprocess(const struct place *p, struct state *from) {
    neap_value x = relu_of(p, from, "op.0");
    x = conv(p, x, "op.1", (struct neap_conv2d){.kernel = {1}});
    return state_of(batch_norm(p, x, "op.2"));
}

/* One of the two cells before, halved where the one in between has halved the image. */
static struct state preprocessed(struct place p, int cell, int which, struct state *from,
                                 bool halved) {
    char name[MAX_NAME];
    snprintf(name, sizeof name, "cells.%d.preprocess%d", cell, which);
    p.name = name;
    return halved ? state_of(factorized_reduce(&p, from)) : preprocess(&p, from);
}

static neap_value operation(struct place p, int cell, int index, const struct edge *edge,
                            struct state *states) {
    char name[MAX_NAME];
    snprintf(name, sizeof name, "cells.%d._ops.%d", cell, index);
    p.name = name;
    if (edge->from > 1)
        p.stride = 1;
    return edge->operation(&p, &states[edge->from], edge->kernel);
}

/* Fills the states behind 0 and 1 and gives the cell's output. */
static struct state build_cell(const struct place *p, int index, const struct cell *cell,
                               struct state *states) {
    char name[MAX_NAME];
    neap_value outputs[MAX_STEPS];
    for (int i = 0; i < cell->n_steps; i++) {
        neap_value a = operation(*p, index, 2 * i, &cell->edges[2 * i], states);
        neap_value b = operation(*p, index, 2 * i + 1, &cell->edges[2 * i + 1], states);
        snprintf(name, sizeof name, "cells.%d.add%d", index, i + 2);
        states[i + 2] = state_of(neap_add(p->g, a, b, name));
    }
    for (int i = 0; i < cell->n_concat; i++)
        outputs[i] = states[cell->concat[i]].value;
    snprintf(name, sizeof name, "cells.%d.concat", index);
    return state_of(neap_concat(p->g, outputs, (size_t)cell->n_concat, 1, name));
}

static void cell_network(neap_graph *g, const struct model_spec *spec, const struct cell *normal,
                         const struct cell *reducing) {
    struct place p = {g, "stem", STEM_CHANNELS, 1};
    neap_value x =
        conv(&p, model_images(g, spec), "0", (struct neap_conv2d){.kernel = {3}, .padding = {1}});
    struct state outputs[1 + N_CELLS] = {state_of(batch_norm(&p, x, "1"))};
    bool halved = false;
    p.channels = FIRST_CHANNELS;
    for (int i = 0; i < N_CELLS; i++) {
        bool reduces = i == N_CELLS / 3 || i == 2 * N_CELLS / 3;
        struct state *last = &outputs[i], *before = i ? last - 1 : last;
        struct state states[2 + MAX_STEPS];
        p.channels *= 1 + reduces;
        p.stride = 1;
        states[0] = preprocessed(p, i, 0, before, halved);
        states[1] = preprocessed(p, i, 1, last, false);
        p.stride = 1 + reduces;
        outputs[i + 1] = build_cell(&p, i, reduces ? reducing : normal, states);
        halved = reduces;
    }
    x = neap_flatten(g, neap_adaptive_avg_pool2d(g, outputs[N_CELLS].value, "global_pooling", 1),
                     "flatten");
    neap_classifier(g, neap_linear(g, x, "classifier",
                                   &(struct neap_linear){.out_features = spec->num_classes}));
}

void model_nasnet_cifar(neap_graph *g, const struct model_spec *spec) {
    cell_network(g, spec, &nasnet_normal, &nasnet_reducing);
}

void model_amoebanet_cifar(neap_graph *g, const struct model_spec *spec) {
    cell_network(g, spec, &amoebanet_normal, &amoebanet_reducing);
}

void model_darts_cifar(neap_graph *g, const struct model_spec *spec) {
    cell_network(g, spec, &darts_normal, &darts_reducing);
}
