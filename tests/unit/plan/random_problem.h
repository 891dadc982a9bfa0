/* Random training steps and random valid schedules of them, by seed. */
#ifndef NEAP_TESTS_UNIT_PLAN_RANDOM_PROBLEM_H
#define NEAP_TESTS_UNIT_PLAN_RANDOM_PROBLEM_H

#include "base/philox.h"
#include "unit/plan/builder.h"

struct dice {
    uint64_t seed, count;
};

/* 0 … n - 1. */
static inline uint32_t dice_roll(struct dice *d, uint32_t n) {
    return (uint32_t)(((uint64_t)philox_at(d->seed, 0, d->count++).word[0] * n) >> 32);
}

static inline bool dice_chance(struct dice *d, double p) {
    return philox_float(philox_at(d->seed, 0, d->count++).word[0]) < p;
}

/* Mostly a few sizes, so that in-place pairs occur; sometimes nothing at all. */
static inline int64_t random_bytes(struct dice *d) {
    static const int64_t common[] = {64, 256, 256, 1024};
    return dice_chance(d, 0.6) ? common[dice_roll(d, 4)] : 64 * (int64_t)dice_roll(d, 20);
}

static inline double random_seconds(struct dice *d) {
    return dice_chance(d, 0.1) ? 0 : 0.001 * (1 + dice_roll(d, 1000));
}

struct random_step {
    struct builder *b;
    struct dice *dice;
    uint32_t gradient[max_values]; /* by forward value; PLAN_NONE */
    uint32_t weight[max_ops];      /* by forward op; PLAN_NONE */
    uint32_t weight_gradient[max_ops];
    bool fused[max_ops];
    bool sums_in_place; /* gradients may be summed up by updates of values in the arena */
};

static inline void add_once(uint32_t *ids, uint32_t *n, uint32_t id) {
    for (uint32_t i = 0; i < *n; i++)
        if (ids[i] == id)
            return;
    if (*n < max_per_op)
        ids[(*n)++] = id;
}

static inline void random_overwrites(struct random_step *s, struct op_spec *spec) {
    while (spec->n_overwrites < 4 && spec->n_inputs && spec->n_outputs &&
           dice_chance(s->dice, 0.45)) {
        struct plan_overwrite pair = {spec->inputs[dice_roll(s->dice, spec->n_inputs)],
                                      spec->outputs[dice_roll(s->dice, spec->n_outputs)]};
        if (!s->b->values[pair.input].persistent && !s->b->values[pair.output].persistent)
            spec->overwrites[spec->n_overwrites++] = pair;
    }
}

static inline void add_output(struct random_step *s, struct op_spec *spec, int64_t bytes) {
    spec->outputs[spec->n_outputs++] = builder_output(s->b, bytes);
}

static inline void random_forward(struct random_step *s) {
    struct builder *b = s->b;
    struct op_spec spec = {.phase = PLAN_FORWARD, .seconds = random_seconds(s->dice)};
    uint32_t n_values = b->problem.n_values;
    for (uint32_t n = 1 + dice_roll(s->dice, 3); n > 0; n--) {
        uint32_t back = dice_roll(s->dice, dice_chance(s->dice, 0.7) ? 3 : n_values);
        uint32_t value = n_values - 1 - (back < n_values ? back : n_values - 1);
        if (!b->values[value].persistent)
            add_once(spec.inputs, &spec.n_inputs, value);
    }
    s->weight[b->problem.n_ops] = PLAN_NONE;
    if (dice_chance(s->dice, 0.5)) {
        uint32_t w = builder_persistent(b);
        s->weight[b->problem.n_ops] = w;
        spec.inputs[spec.n_inputs++] = w;
    }
    spec.effect = dice_chance(s->dice, 0.15);
    if (spec.effect)
        spec.updates[spec.n_updates++] = builder_persistent(b);
    for (uint32_t n = !spec.effect + (dice_chance(s->dice, 0.3) ? 1 : 0); n > 0; n--)
        add_output(s, &spec, random_bytes(s->dice));
    random_overwrites(s, &spec);
    if (dice_chance(s->dice, 0.15))
        add_output(s, &spec, random_bytes(s->dice)); /* scratch, mostly */
    builder_op(b, &spec);
}

/* A contribution to the gradient of a forward value; a second one is added to the first. */
static inline void give_gradient(struct random_step *s, uint32_t value, uint32_t contribution) {
    struct builder *b = s->b;
    uint32_t old = s->gradient[value];
    s->gradient[value] = contribution;
    if (old == PLAN_NONE)
        return;
    if (s->sums_in_place && dice_chance(s->dice, 0.5)) {
        s->gradient[value] = old;
        builder_op(b, &(struct op_spec){.phase = PLAN_BACKWARD,
                                        .seconds = random_seconds(s->dice),
                                        .inputs = {contribution},
                                        .n_inputs = 1,
                                        .updates = {old},
                                        .n_updates = 1});
        return;
    }
    struct op_spec sum = {.phase = PLAN_BACKWARD,
                          .seconds = random_seconds(s->dice),
                          .inputs = {old, contribution},
                          .n_inputs = 2};
    add_output(s, &sum, b->values[value].bytes);
    sum.overwrites[0] = (struct plan_overwrite){old, sum.outputs[0]};
    sum.overwrites[1] = (struct plan_overwrite){contribution, sum.outputs[0]};
    sum.n_overwrites = dice_roll(s->dice, 3);
    s->gradient[value] = sum.outputs[0];
    builder_op(b, &sum);
}

/* What a backward op reads of its forward op: the gradients of its outputs, some of its values. */
static inline void backward_inputs(struct random_step *s, const struct plan_op *forward,
                                   struct op_spec *spec) {
    const uint32_t *ids = s->b->ids;
    for (uint32_t i = 0; i < forward->outputs.n; i++) {
        uint32_t value = ids[forward->outputs.first + i];
        if (s->gradient[value] != PLAN_NONE)
            add_once(spec->inputs, &spec->n_inputs, s->gradient[value]);
        if (dice_chance(s->dice, 0.3))
            add_once(spec->inputs, &spec->n_inputs, value);
    }
    for (uint32_t i = 0; i < forward->inputs.n; i++)
        if (dice_chance(s->dice, 0.5))
            add_once(spec->inputs, &spec->n_inputs, ids[forward->inputs.first + i]);
}

/* The weight's gradient: summed up, written whole into its place, or used up at once. */
static inline void random_weight_gradient(struct random_step *s, uint32_t op) {
    struct builder *b = s->b;
    if (s->weight[op] == PLAN_NONE)
        return;
    struct op_spec spec = {.phase = PLAN_BACKWARD, .seconds = random_seconds(s->dice)};
    backward_inputs(s, &b->ops[op], &spec);
    s->fused[op] = dice_chance(s->dice, 0.3);
    if (s->fused[op]) {
        add_output(s, &spec, random_bytes(s->dice));
        s->weight_gradient[op] = spec.outputs[0];
        builder_op(b, &spec);
        struct op_spec update = {.phase = PLAN_UPDATE,
                                 .seconds = random_seconds(s->dice),
                                 .effect = true,
                                 .inputs = {s->weight_gradient[op]},
                                 .n_inputs = 1,
                                 .updates = {s->weight[op]},
                                 .n_updates = 1};
        /* Behind everything that reads the weight: this op's backward comes after. */
        if (dice_chance(s->dice, 0.5))
            builder_op(b, &update);
        return;
    }
    s->weight_gradient[op] = builder_persistent(b);
    if (dice_chance(s->dice, 0.5)) {
        add_output(s, &spec, random_bytes(s->dice)); /* a temporary, then added up */
        builder_op(b, &spec);
        spec = (struct op_spec){.phase = PLAN_BACKWARD,
                                .seconds = random_seconds(s->dice),
                                .inputs = {spec.outputs[0]},
                                .n_inputs = 1,
                                .updates = {s->weight_gradient[op]},
                                .n_updates = 1};
    } else if (dice_chance(s->dice, 0.5)) {
        spec.outputs[spec.n_outputs++] = s->weight_gradient[op];
    } else {
        spec.updates[spec.n_updates++] = s->weight_gradient[op];
    }
    builder_op(b, &spec);
}

static inline void random_backward(struct random_step *s, uint32_t op) {
    struct builder *b = s->b;
    if (b->ops[op].outputs.n == 0)
        return;
    struct op_spec spec = {.phase = PLAN_BACKWARD, .seconds = random_seconds(s->dice)};
    backward_inputs(s, &b->ops[op], &spec);
    uint32_t wanted[max_per_op], n_wanted = 0;
    for (uint32_t i = 0; i < b->ops[op].inputs.n; i++) {
        uint32_t value = b->ids[b->ops[op].inputs.first + i];
        if (!b->values[value].input && !b->values[value].persistent)
            wanted[n_wanted++] = value;
    }
    for (uint32_t i = 0; i < n_wanted; i++)
        add_output(s, &spec, b->values[wanted[i]].bytes);
    if (n_wanted) {
        random_overwrites(s, &spec);
        if (dice_chance(s->dice, 0.2))
            add_output(s, &spec, random_bytes(s->dice));
        builder_op(b, &spec);
    }
    for (uint32_t i = 0; i < n_wanted; i++)
        give_gradient(s, wanted[i], spec.outputs[i]);
    random_weight_gradient(s, op);
}

/* A step of n_forward forward ops with everything that follows from them. */
static inline void random_step(struct builder *b, struct dice *dice, uint32_t n_forward,
                               bool sums_in_place) {
    struct random_step s = {.b = b, .dice = dice, .sums_in_place = sums_in_place};
    for (uint32_t v = 0; v < max_values; v++)
        s.gradient[v] = PLAN_NONE;
    builder_start(b);
    for (uint32_t n = 1 + dice_roll(dice, 2); n > 0; n--)
        builder_input(b, random_bytes(dice));
    for (uint32_t i = 0; i < n_forward; i++)
        random_forward(&s);
    for (uint32_t i = n_forward; i-- > 0;)
        random_backward(&s, i);
    for (uint32_t i = 0; i < n_forward; i++)
        if (s.weight[i] != PLAN_NONE && !s.fused[i] && b->ops[i].outputs.n)
            builder_op(b, &(struct op_spec){.phase = PLAN_UPDATE,
                                            .seconds = random_seconds(dice),
                                            .effect = true,
                                            .update_part = true,
                                            .inputs = {s.weight_gradient[i]},
                                            .n_inputs = 1,
                                            .updates = {s.weight[i]},
                                            .n_updates = 1});
}

/* Another implementation of an op: other seconds and scratch; some of the primary's inputs, or one
 * more of the first n_values that is there. */
static inline void random_alternative(struct builder *b, struct dice *dice, uint32_t primary,
                                      uint32_t n_values) {
    const struct plan_op op = b->ops[primary];
    struct op_spec spec = {.seconds = op.seconds + random_seconds(dice)};
    for (uint32_t i = 0; i < op.inputs.n; i++)
        if (dice_chance(dice, 0.8))
            spec.inputs[spec.n_inputs++] = b->ids[op.inputs.first + i];
    if (dice_chance(dice, 0.5)) {
        uint32_t value = dice_roll(dice, n_values);
        const struct plan_value *v = &b->values[value];
        if (v->input || (v->producer != PLAN_NONE && v->producer < primary))
            if (!op.update_part || v->persistent)
                add_once(spec.inputs, &spec.n_inputs, value);
    }
    for (uint32_t i = 0; i < op.outputs.n; i++)
        spec.outputs[spec.n_outputs++] = b->ids[op.outputs.first + i];
    for (uint32_t i = 0; i < op.updates.n; i++)
        spec.updates[spec.n_updates++] = b->ids[op.updates.first + i];
    random_overwrites(&(struct random_step){.b = b, .dice = dice}, &spec);
    if (dice_chance(dice, 0.3))
        spec.outputs[spec.n_outputs++] = builder_output(b, random_bytes(dice));
    builder_alternative(b, primary, &spec);
}

static inline void random_alternatives(struct builder *b, struct dice *dice) {
    uint32_t n_values = b->problem.n_values; /* the scratch of alternatives is their own */
    for (uint32_t primary = 0; primary < b->problem.n_ops; primary++)
        for (int n = 0; n < 2 && dice_chance(dice, 0.2); n++)
            random_alternative(b, dice, primary, n_values);
}

/* What networks give today: one implementation of each op, and updates of persistent values alone.
 */
static inline void random_problem(struct builder *b, struct dice *dice, uint32_t n_forward) {
    random_step(b, dice, n_forward, false);
}

/* All that problem.h knows. */
static inline void random_problem_of_all_kinds(struct builder *b, struct dice *dice,
                                               uint32_t n_forward) {
    random_step(b, dice, n_forward, true);
    random_alternatives(b, dice);
}

/* ---- schedules ---------------------------------------------------------------------------- */

/* What orders allow, for a primary and an op or alternative. */
struct order_rules {
    /* The first run of the row, a primary, comes before any of the column, which stands behind. */
    bool precedes[max_ops][max_ops];
    /* Behind the column, a primary, the row, which stands before it, may not run any more. */
    bool spoils[max_ops][max_ops];
};

static inline bool spans_meet(const struct plan_problem *p, struct plan_span x,
                              struct plan_span y) {
    for (uint32_t i = 0; i < x.n; i++)
        for (uint32_t j = 0; j < y.n; j++)
            if (p->ids[x.first + i] == p->ids[y.first + j])
                return true;
    return false;
}

/* Does x read what y changes in place? Making a value that lies in the arena starts another life.
 */
static inline bool loses_to(const struct plan_problem *p, const struct plan_op *x,
                            const struct plan_op *y) {
    if (spans_meet(p, x->inputs, y->updates) || spans_meet(p, x->outputs, y->updates))
        return true;
    for (uint32_t i = 0; i < y->outputs.n; i++)
        if (p->values[p->ids[y->outputs.first + i]].persistent &&
            spans_meet(p, x->inputs, (struct plan_span){y->outputs.first + i, 1}))
            return true;
    return false;
}

static inline void order_rules_of_problem(const struct plan_problem *p, struct order_rules *rules) {
    for (uint32_t e = 0; e < p->n_ops + p->n_alternatives; e++)
        for (uint32_t l = 0; l < p->n_ops + p->n_alternatives; l++) {
            const struct plan_op *x = &p->ops[e], *y = &p->ops[l];
            if (plan_primary(p, e) >= plan_primary(p, l))
                continue;
            rules->spoils[e][l] = loses_to(p, x, y) || x->update_part < y->update_part;
            rules->precedes[e][l] = rules->spoils[e][l] || spans_meet(p, x->updates, y->inputs) ||
                                    spans_meet(p, x->updates, y->updates) ||
                                    spans_meet(p, x->outputs, y->inputs);
        }
}

static inline void order_rules_of(const struct builder *b, struct order_rules *rules) {
    order_rules_of_problem(&b->problem, rules);
}

/* May this op or alternative run, by what primaries have run so often? An op that has not run yet
 * can always run as its primary once those before it have. */
static inline bool may_run(const struct plan_problem *p, const struct order_rules *rules,
                           const uint32_t *runs, uint32_t op) {
    uint32_t primary = plan_primary(p, op);
    if (runs[primary] && plan_op_once(&p->ops[primary]))
        return false;
    for (uint32_t earlier = 0; earlier < primary; earlier++)
        if (!runs[earlier] && rules->precedes[earlier][op])
            return false;
    for (uint32_t later = primary + 1; later < p->n_ops; later++)
        if (runs[later] && rules->spoils[op][later])
            return false;
    return true;
}

/* A valid schedule: the base order or, with `reorder`, any that data and hazards allow, with
 * alternatives anywhere; about `recomputes` forward executions more than needed. */
static inline void random_schedule(const struct builder *b, const struct order_rules *rules,
                                   struct dice *dice, bool reorder, double recomputes,
                                   struct plan_schedule *schedule) {
    const struct plan_problem *p = &b->problem;
    uint32_t runs[max_ops] = {0}, n_left = p->n_ops;
    schedule->n = 0;
    while (n_left) {
        uint32_t fresh[max_ops] = {0}, again[max_ops] = {0}, n_fresh = 0, n_again = 0;
        for (uint32_t op = 0; op < p->n_ops + p->n_alternatives; op++) {
            if (!may_run(p, rules, runs, op))
                continue;
            if (runs[plan_primary(p, op)])
                again[n_again++] = op;
            else
                fresh[n_fresh++] = op;
        }
        assert_int_not_equal(n_fresh, 0);
        uint32_t next = fresh[reorder ? dice_roll(dice, n_fresh) : 0];
        if (n_again && dice_chance(dice, recomputes / (recomputes + p->n_ops)))
            next = again[dice_roll(dice, n_again)];
        n_left -= runs[plan_primary(p, next)]++ == 0;
        push_op(schedule, next);
    }
}

#endif
