/* Random bare problems, by seed: every op forward, one output each, none with an effect. */
#ifndef NEAP_TESTS_UNIT_PLAN_RANDOM_BARE_H
#define NEAP_TESTS_UNIT_PLAN_RANDOM_BARE_H

#include "unit/plan/random_problem.h"

/* Op i makes value i. */
static inline void random_bare(struct builder *b, struct dice *dice, uint32_t n_ops) {
    builder_start(b);
    for (uint32_t o = 0; o < n_ops; o++) {
        struct op_spec spec = {.phase = PLAN_FORWARD, .seconds = random_seconds(dice)};
        for (uint32_t n = o ? 1 + dice_roll(dice, 3) : 0; n > 0; n--) {
            uint32_t back = dice_roll(dice, dice_chance(dice, 0.5) ? 2 : o);
            add_once(spec.inputs, &spec.n_inputs, o - 1 - (back < o ? back : o - 1));
        }
        spec.outputs[spec.n_outputs++] = builder_output(b, random_bytes(dice));
        builder_op(b, &spec);
    }
}

/* A chain of n layers and its backward, all ops and values of one unit: layer i's backward reads
 * what layer i - 1 made. */
static inline void unit_chain(struct builder *b, uint32_t n_layers) {
    builder_start(b);
    for (uint32_t i = 0; i < 2 * n_layers; i++) {
        struct op_spec spec = {.phase = PLAN_FORWARD, .seconds = 1};
        if (i > 0)
            spec.inputs[spec.n_inputs++] = i - 1;
        if (i >= n_layers && i < 2 * n_layers - 1)
            add_once(spec.inputs, &spec.n_inputs, 2 * n_layers - 2 - i);
        spec.outputs[spec.n_outputs++] = builder_output(b, 1);
        builder_op(b, &spec);
    }
}

#endif
