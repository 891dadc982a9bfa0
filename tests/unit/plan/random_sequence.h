/* Random problems that the sequence knows, with a random schedule each, by seed. */
#ifndef NEAP_TESTS_UNIT_PLAN_RANDOM_SEQUENCE_H
#define NEAP_TESTS_UNIT_PLAN_RANDOM_SEQUENCE_H

#include "support/files.h"

#include "plan/sequence.h"
#include "unit/plan/random_bare.h"

/* A bare problem, or what networks give, with alternatives; among its inputs some that nobody
 * reads. */
static inline void random_sequence_problem(struct builder *b, struct dice *dice) {
    if (dice_chance(dice, 0.2)) {
        random_bare(b, dice, 2 + dice_roll(dice, 30));
        return;
    }
    random_problem(b, dice, 1 + dice_roll(dice, 12));
    random_alternatives(b, dice);
}

/* The base order, or any that is allowed; sometimes with runs that are not needed. */
static inline void random_start(const struct builder *b, struct dice *dice, bool fixed_order,
                                struct plan_schedule *schedule) {
    static struct order_rules rules;
    rules = (struct order_rules){0};
    order_rules_of(b, &rules);
    random_schedule(b, &rules, dice, !fixed_order && dice_chance(dice, 0.5), dice_roll(dice, 8),
                    schedule);
}

static inline struct plan_measure measure_of(const struct builder *b,
                                             const struct plan_schedule *schedule) {
    struct plan_measure measure;
    assert_no_error(plan_replay(&b->problem, schedule, &measure, NULL));
    return measure;
}

static inline bool is_near(double a, double b) {
    double more = a > b ? a : b, less = a > b ? b : a;
    return more - less <= 1e-9 * (1 + more);
}

/* Do the first runs stand in the base order? */
static inline bool keeps_base_order(const struct builder *b, const struct plan_schedule *schedule) {
    bool runs[max_ops] = {false};
    for (size_t i = 0; i < schedule->n; i++) {
        uint32_t o = plan_primary(&b->problem, schedule->ops[i]);
        if (!runs[o] && o > 0 && !runs[o - 1])
            return false;
        runs[o] = true;
    }
    return true;
}

static inline bool same_schedules(const struct plan_schedule *a, const struct plan_schedule *b) {
    return a->n == b->n && memcmp(a->ops, b->ops, a->n * sizeof *a->ops) == 0;
}

#endif
