/* Dropout on plain tensors: the words that name the mask run along logical elements. */
#include "ops/dropout.h"

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "base/simd.h"

struct state {
    const struct dropout_attrs *attrs;
    int64_t samples, per_sample;
};

struct call {
    const struct state *state;
    const struct run_params *params;
    const float *x;
    float *y;
    float scale;
};

enum { STEP = 64 }; /* blocks of four words at a time */

/* Element i of the run, the first of which is element 4 block of its sample. */
SIMD static void drop_run(const struct call *call, int64_t sample, int64_t block, const float *x,
                          float *y, int64_t n) {
    uint32_t words[4 * STEP];
    for (int64_t k = 0; k < STEP && 4 * k < n; k++) {
        struct philox_block four =
            dropout_words(call->state->attrs, call->params, sample, block + k);
        for (int w = 0; w < 4; w++)
            words[4 * k + w] = four.word[w];
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = dropout_keeps(call->state->attrs, words[i]) ? x[i] * call->scale : 0;
}

/* Of all runs of all samples. */
static void drop_range(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    int64_t per_sample = call->state->per_sample, runs = (per_sample + 4 * STEP - 1) / (4 * STEP);
    for (int64_t run = begin; run < end; run++) {
        int64_t sample = run / runs, first = run % runs * 4 * STEP;
        int64_t at = sample * per_sample + first, left = per_sample - first;
        drop_run(call, sample, first / 4, call->x + at, call->y + at,
                 left < 4 * STEP ? left : 4 * STEP);
    }
}

static const char *negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    want->in[0] = want->out[0] = (struct layout){0};
    return f32_negotiate(site);
}

static neap_error *create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    struct shape shape = node_input(site->g, site->node, 0)->shape;
    struct state *s;
    (void)scratch_bytes;
    TRY(memory_alloc(1, sizeof *s, &s));
    *s = (struct state){site->node->attrs, shape.dim[0], shape_elements(shape) / shape.dim[0]};
    *state = s;
    return NULL;
}

static neap_error *run(void *state, const struct launch *launch) {
    const struct state *s = state;
    int64_t runs = (s->per_sample + 4 * STEP - 1) / (4 * STEP);
    parallel_for(s->samples * runs, 8, drop_range,
                 &(struct call){s, launch->params, launch->in[0], launch->out[0],
                                (float)dropout_scale(s->attrs)});
    return NULL;
}

const struct kernel kernel_dropout_cpu = {
    .name = "dropout:cpu",
    .op = &op_dropout,
    .negotiate = negotiate,
    .create = create,
    .run = run,
};
