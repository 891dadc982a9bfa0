/* Random steps and schedules by the thousand: replay against a naive account of the definitions,
 * both against the checker, and the checker against plans with one thing wrong. */
#include "support/files.h"

#include <math.h>

#include "plan/place.h"
#include "unit/plan/random_problem.h"

enum { n_problems = 2000, alignment = 64 };

static struct builder b;
static struct order_rules rules;

struct plan {
    struct plan_schedule schedule;
    struct plan_lives lives;
    struct plan_measure measure;
    struct plan_claim claim;
};

static void plan_free(struct plan *plan) {
    plan_schedule_free(&plan->schedule);
    plan_lives_free(&plan->lives);
}

static void plan_copy(struct plan *to, const struct plan *from) {
    to->measure = from->measure;
    to->claim = from->claim;
    assert_no_error(plan_schedule_copy(&to->schedule, &from->schedule));
    assert_no_error(memory_grow(&to->lives.at, &to->lives.capacity, from->lives.n + 1,
                                sizeof *to->lives.at)); /* room for one more */
    if (from->lives.n)
        memcpy(to->lives.at, from->lives.at, from->lives.n * sizeof *to->lives.at);
    to->lives.n = from->lives.n;
}

static neap_error *check(const struct plan *plan) {
    return plan_check(&b.problem, &plan->schedule, &plan->lives, &plan->claim);
}

static void place(struct plan *plan) {
    const struct plan_place_request request = {.alignment_bytes = alignment, .effort = 100000};
    struct plan_placement placement;
    assert_no_error(plan_place(&plan->lives, &request, &placement));
    plan->claim.arena_bytes = placement.arena_bytes;
}

/* Problem and schedule of this seed, replayed and placed. */
static void make_plan(struct dice *dice, struct plan *plan) {
    random_problem_of_all_kinds(&b, dice, 1 + dice_roll(dice, 12));
    order_rules_of(&b, &rules);
    random_schedule(&b, &rules, dice, dice_chance(dice, 0.5), dice_roll(dice, 8), &plan->schedule);
    assert_no_error(plan_replay(&b.problem, &plan->schedule, &plan->measure, &plan->lives));
    plan->claim = (struct plan_claim){.peak_bytes = plan->measure.peak_bytes,
                                      .alignment_bytes = alignment,
                                      .seconds = plan->measure.seconds};
    place(plan);
}

/* ---- the naive account -------------------------------------------------------------------- */

static const struct plan_op *op_of(const struct plan *plan, size_t step) {
    return &b.ops[plan->schedule.ops[step]];
}

static bool span_has(struct plan_span span, uint32_t value) {
    for (uint32_t i = 0; i < span.n; i++)
        if (b.ids[span.first + i] == value)
            return true;
    return false;
}

static bool uses(const struct plan_op *op, uint32_t value) {
    return span_has(op->inputs, value) || span_has(op->updates, value);
}

/* The last use of a value made at `step` before it is made again. */
static uint32_t naive_last_step(const struct plan *plan, uint32_t value, uint32_t step,
                                bool input) {
    uint32_t last = step;
    for (size_t s = input ? 0 : step + 1; s < plan->schedule.n; s++) {
        if (uses(op_of(plan, s), value))
            last = (uint32_t)s;
        if (span_has(op_of(plan, s)->outputs, value))
            break;
    }
    return last;
}

/* Bytes at a step: every life there, less what stands in for the life whose place it takes. */
static int64_t naive_live_bytes(const struct plan *plan, uint32_t step) {
    int64_t bytes = 0;
    for (size_t i = 0; i < plan->lives.n; i++) {
        const struct plan_life *life = &plan->lives.at[i];
        bool taking = life->in_place_of != PLAN_NONE && life->first_step == step;
        if (life->first_step <= step && step <= life->last_step && !taking)
            bytes += life->bytes;
    }
    return bytes;
}

static void assert_lives_are_naive(const struct plan *plan) {
    size_t n = 0;
    for (uint32_t v = 0; v < b.problem.n_values; v++)
        n += b.values[v].input;
    for (size_t s = 0; s < plan->schedule.n; s++)
        for (uint32_t i = 0; i < op_of(plan, s)->outputs.n; i++)
            n += !b.values[b.ids[op_of(plan, s)->outputs.first + i]].persistent;
    assert_int_equal(plan->lives.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct plan_life *life = &plan->lives.at[i];
        bool input = b.values[life->value].input;
        if (input)
            assert_int_equal(life->first_step, 0);
        else
            assert_true(span_has(op_of(plan, life->first_step)->outputs, life->value));
        assert_int_equal(life->last_step,
                         naive_last_step(plan, life->value, life->first_step, input));
    }
}

static void ReplayAgreesWithTheNaiveAccountAndWithTheChecker(void **state) {
    (void)state;
    struct plan plan = {0};
    uint64_t in_place = 0, recomputed = 0, alternatives = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        make_plan(&(struct dice){.seed = seed}, &plan);
        assert_no_error(check(&plan));
        assert_lives_are_naive(&plan);
        int64_t peak_bytes = 0;
        uint32_t peak_step = 0;
        double seconds = 0;
        for (uint32_t s = 0; s < plan.schedule.n; s++) {
            int64_t bytes = naive_live_bytes(&plan, s);
            if (bytes > peak_bytes) {
                peak_bytes = bytes;
                peak_step = s;
            }
            seconds += op_of(&plan, s)->seconds;
            alternatives += plan.schedule.ops[s] >= b.problem.n_ops;
        }
        assert_int_equal(plan.measure.peak_bytes, peak_bytes);
        assert_int_equal(plan.measure.peak_step, peak_step);
        assert_int_equal(plan.measure.recomputed, plan.schedule.n - b.problem.n_ops);
        assert_true(fabs(plan.measure.seconds - seconds) <= 1e-12 * seconds);
        for (size_t i = 0; i < plan.lives.n; i++)
            in_place += plan.lives.at[i].in_place_of != PLAN_NONE;
        recomputed += plan.measure.recomputed;
    }
    /* The cases are not trivial. */
    assert_true(in_place > n_problems && recomputed > n_problems && alternatives > n_problems);
    plan_free(&plan);
}

/* Every pair that may share bytes does, unless an earlier pair spoke for one of the two. */
static void InPlaceIsTakenWhereverItCanBe(void **state) {
    (void)state;
    struct plan plan = {0};
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        make_plan(&(struct dice){.seed = seed}, &plan);
        for (size_t i = 0; i < plan.lives.n; i++) {
            const struct plan_life *from = &plan.lives.at[i];
            const struct plan_op *op = op_of(&plan, from->last_step);
            bool taken = false;
            for (size_t j = 0; j < plan.lives.n; j++)
                taken = taken || plan.lives.at[j].in_place_of == i;
            for (size_t j = 0; j < plan.lives.n && !taken; j++) {
                const struct plan_life *to = &plan.lives.at[j];
                for (uint32_t k = 0; k < op->n_overwrites; k++) {
                    struct plan_overwrite pair = b.overwrites[op->first_overwrite + k];
                    if (from->value == pair.input && to->value == pair.output &&
                        to->first_step == from->last_step && to->bytes <= from->bytes)
                        assert_int_not_equal(to->in_place_of, PLAN_NONE);
                }
            }
        }
    }
    plan_free(&plan);
}

/* ---- plans with one thing wrong ----------------------------------------------------------- */

/* Breaks the plan; false where this one has nothing to break in that way. */
typedef bool mutation(struct plan *plan, struct dice *dice);

static bool remove_step(struct plan *plan, size_t step) {
    struct plan_schedule *s = &plan->schedule;
    memmove(s->ops + step, s->ops + step + 1, (s->n - step - 1) * sizeof *s->ops);
    s->n--;
    return true;
}

static bool drop_an_op(struct plan *plan, struct dice *dice) {
    uint32_t op = dice_roll(dice, b.problem.n_ops);
    for (size_t s = plan->schedule.n; s-- > 0;)
        if (plan_primary(&b.problem, plan->schedule.ops[s]) == op)
            remove_step(plan, s);
    return true;
}

static bool drop_a_step(struct plan *plan, struct dice *dice) {
    return remove_step(plan, dice_roll(dice, (uint32_t)plan->schedule.n));
}

static bool repeat_a_once_op(struct plan *plan, struct dice *dice) {
    uint32_t op = dice_roll(dice, b.problem.n_ops);
    if (!plan_op_once(&b.ops[op]))
        return false;
    push_op(&plan->schedule, op);
    return true;
}

static bool name_no_op(struct plan *plan, struct dice *dice) {
    plan->schedule.ops[dice_roll(dice, (uint32_t)plan->schedule.n)] =
        b.problem.n_ops + b.problem.n_alternatives;
    return true;
}

/* Two neighbours of which the second needs the first, both run for the only time. */
static bool swap_dependent_steps(struct plan *plan, struct dice *dice) {
    uint32_t runs[max_ops] = {0}, *ops = plan->schedule.ops;
    for (size_t s = 0; s < plan->schedule.n; s++)
        runs[plan_primary(&b.problem, ops[s])]++;
    for (size_t n = plan->schedule.n - 1, k = 0, s = dice_roll(dice, (uint32_t)n + 1); k < n; k++) {
        s = (s + 1) % n;
        uint32_t x = ops[s], y = ops[s + 1];
        if (x < y && y < b.problem.n_ops && runs[x] == 1 && runs[y] == 1 && rules.precedes[x][y]) {
            ops[s] = y;
            ops[s + 1] = x;
            return true;
        }
    }
    return false;
}

/* Another implementation of the same op, with the claims of the first. */
static bool swap_implementations(struct plan *plan, struct dice *dice) {
    uint32_t n_alternatives = b.problem.n_alternatives;
    if (!n_alternatives)
        return false;
    uint32_t other = b.problem.n_ops + dice_roll(dice, n_alternatives);
    uint32_t primary = b.ops[other].alternative_of, *step = plan->schedule.ops;
    while (plan_primary(&b.problem, *step) != primary)
        step++;
    if (*step == other)
        other = primary;
    double change = b.ops[other].seconds - b.ops[*step].seconds;
    *step = other;
    return fabs(change) > 1e-6 * plan->claim.seconds;
}

static struct plan_life *any_life(struct plan *plan, struct dice *dice) {
    return &plan->lives.at[dice_roll(dice, (uint32_t)plan->lives.n)];
}

static bool lengthen_a_life(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->last_step++;
    return true;
}

static bool shorten_a_life(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->last_step--;
    return true;
}

static bool start_a_life_late(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->first_step++;
    return true;
}

static bool start_a_life_early(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->first_step--;
    return true;
}

static bool drop_a_life(struct plan *plan, struct dice *dice) {
    struct plan_life *life = any_life(plan, dice), *end = plan->lives.at + plan->lives.n--;
    memmove(life, life + 1, (size_t)(end - life - 1) * sizeof *life);
    return true;
}

static bool add_a_life(struct plan *plan, struct dice *dice) {
    struct plan_life copy = *any_life(plan, dice);
    plan->lives.at[plan->lives.n++] = copy;
    return true;
}

static bool exchange_two_lives(struct plan *plan, struct dice *dice) {
    struct plan_life *x = any_life(plan, dice), *y = any_life(plan, dice), swap = *x;
    *x = *y;
    *y = swap;
    return x != y;
}

static bool rename_a_life(struct plan *plan, struct dice *dice) {
    struct plan_life *life = any_life(plan, dice);
    life->value =
        (life->value + 1 + dice_roll(dice, b.problem.n_values)) % (b.problem.n_values + 1);
    return true; /* n_values is no value at all */
}

static bool change_a_lifes_bytes(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->bytes += alignment;
    return true;
}

static bool misalign(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->offset += 1 + dice_roll(dice, alignment - 1);
    return true;
}

static bool go_below_zero(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->offset = -alignment;
    return true;
}

static bool go_beyond_the_arena(struct plan *plan, struct dice *dice) {
    any_life(plan, dice)->offset = plan->claim.arena_bytes + alignment;
    return true;
}

/* Two lives with bytes that share a step and are not one in place of the other. */
static bool make_two_overlap(struct plan *plan, struct dice *dice) {
    struct plan_life *x = any_life(plan, dice), *y = any_life(plan, dice);
    if (x == y || !x->bytes || !y->bytes || x->in_place_of != PLAN_NONE)
        return false;
    for (size_t i = 0; i < plan->lives.n; i++)
        if (plan->lives.at[i].in_place_of == (uint32_t)(x - plan->lives.at))
            return false; /* x alone is moved */
    uint32_t y_from = y->first_step + (y->in_place_of != PLAN_NONE);
    if (x->first_step > y->last_step || y_from > x->last_step || y_from > y->last_step)
        return false;
    x->offset = y->offset;
    return true;
}

static bool forget_in_place(struct plan *plan, struct dice *dice) {
    struct plan_life *life = any_life(plan, dice);
    if (life->in_place_of == PLAN_NONE || !life->bytes)
        return false;
    life->in_place_of = PLAN_NONE;
    return true;
}

/* Two storages for what is said to be one. */
static bool part_with_its_place(struct plan *plan, struct dice *dice) {
    struct plan_life *life = any_life(plan, dice);
    if (life->in_place_of == PLAN_NONE)
        return false;
    for (size_t i = 0; i < plan->lives.n; i++)
        if (plan->lives.at[i].in_place_of == (uint32_t)(life - plan->lives.at))
            return false;
    life->offset = plan->claim.arena_bytes;
    plan->claim.arena_bytes += life->bytes;
    return life->offset > 0;
}

static bool invent_in_place(struct plan *plan, struct dice *dice) {
    struct plan_life *x = any_life(plan, dice), *y = any_life(plan, dice);
    if (x->in_place_of != PLAN_NONE)
        return false;
    const struct plan_op *op = op_of(plan, x->first_step);
    for (uint32_t i = 0; i < op->n_overwrites; i++)
        if (b.overwrites[op->first_overwrite + i].input == y->value &&
            b.overwrites[op->first_overwrite + i].output == x->value)
            return false;
    x->in_place_of = (uint32_t)(y - plan->lives.at);
    return true;
}

static bool claim_another_peak(struct plan *plan, struct dice *dice) {
    plan->claim.peak_bytes += dice_chance(dice, 0.5) ? alignment : -alignment;
    return true;
}

static bool claim_another_arena(struct plan *plan, struct dice *dice) {
    plan->claim.arena_bytes += dice_chance(dice, 0.5) ? alignment : -alignment;
    return true;
}

static bool claim_other_seconds(struct plan *plan, struct dice *dice) {
    plan->claim.seconds *= dice_chance(dice, 0.5) ? 1 + 1e-6 : 1 - 1e-6;
    return plan->measure.seconds > 0;
}

static const struct {
    const char *name;
    mutation *apply;
} mutations[] = {
#define MUTATION(function)                                                                         \
    { #function, function }
    MUTATION(swap_implementations), MUTATION(exchange_two_lives),
    MUTATION(drop_an_op),           MUTATION(drop_a_step),
    MUTATION(repeat_a_once_op),     MUTATION(name_no_op),
    MUTATION(swap_dependent_steps), MUTATION(lengthen_a_life),
    MUTATION(shorten_a_life),       MUTATION(start_a_life_late),
    MUTATION(start_a_life_early),   MUTATION(drop_a_life),
    MUTATION(add_a_life),           MUTATION(rename_a_life),
    MUTATION(change_a_lifes_bytes), MUTATION(misalign),
    MUTATION(go_below_zero),        MUTATION(go_beyond_the_arena),
    MUTATION(make_two_overlap),     MUTATION(forget_in_place),
    MUTATION(part_with_its_place),  MUTATION(invent_in_place),
    MUTATION(claim_another_peak),   MUTATION(claim_another_arena),
    MUTATION(claim_other_seconds),
#undef MUTATION
};
enum { n_mutations = sizeof mutations / sizeof *mutations };

static void EveryBrokenPlanIsRefused(void **state) {
    (void)state;
    struct plan good = {0}, bad = {0};
    int applied[n_mutations] = {0};
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        make_plan(&dice, &good);
        for (int m = 0; m < n_mutations; m++) {
            plan_copy(&bad, &good);
            if (!mutations[m].apply(&bad, &dice))
                continue;
            applied[m]++;
            neap_error *error = check(&bad);
            if (!error)
                print_error("seed %d: not noticed: %s\n", (int)seed, mutations[m].name);
            assert_error(error, NEAP_ERROR_INTERNAL, "the plan breaks '");
        }
    }
    for (int m = 0; m < n_mutations; m++) {
        if (applied[m] < n_problems / 20)
            print_error("%s was applied %d times\n", mutations[m].name, applied[m]);
        assert_true(applied[m] >= n_problems / 20);
    }
    plan_free(&good);
    plan_free(&bad);
}

/* ---- schedules that break a rule, with lives that fit them --------------------------------- */

static void assert_refused_for_its_sequence(const struct plan *plan) {
    neap_error *error = check(plan);
    assert_non_null(error);
    const char *text = neap_error_message(error);
    if (!strstr(text, "'once'") && !strstr(text, "'order'") && !strstr(text, "'liveness'"))
        assert_non_null(strstr(text, "'hazard'"));
    neap_error_free(error);
}

static void insert_step(struct plan *plan, size_t at, uint32_t op) {
    push_op(&plan->schedule, op);
    uint32_t *ops = plan->schedule.ops;
    memmove(ops + at + 1, ops + at, (plan->schedule.n - 1 - at) * sizeof *ops);
    ops[at] = op;
}

/* A step moved elsewhere, or one more: replay and checker both accept or both refuse. */
static void ReplayAndCheckerAcceptTheSameSchedules(void **state) {
    (void)state;
    struct plan plan = {0}, other = {0};
    int n_accepted = 0, n_refused = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        make_plan(&dice, &plan);
        for (int round = 0; round < 4; round++) {
            plan_copy(&other, &plan);
            uint32_t n = (uint32_t)plan.schedule.n;
            uint32_t op = dice_roll(&dice, b.problem.n_ops + b.problem.n_alternatives);
            if (dice_chance(&dice, 0.6)) {
                uint32_t from = dice_roll(&dice, n);
                op = plan.schedule.ops[from];
                remove_step(&other, from);
            }
            insert_step(&other, dice_roll(&dice, n), op);
            other.claim.seconds = 0;
            for (size_t s = 0; s < other.schedule.n; s++)
                other.claim.seconds += op_of(&other, s)->seconds;
            neap_error *error =
                plan_replay(&b.problem, &other.schedule, &other.measure, &other.lives);
            if (error) {
                n_refused++;
                neap_error_free(error);
                assert_refused_for_its_sequence(&other);
                continue;
            }
            n_accepted++;
            place(&other);
            other.claim.peak_bytes = other.measure.peak_bytes;
            assert_no_error(check(&other));
        }
    }
    assert_true(n_accepted > n_problems / 4 && n_refused > n_problems / 4);
    plan_free(&plan);
    plan_free(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ReplayAgreesWithTheNaiveAccountAndWithTheChecker),
        cmocka_unit_test(InPlaceIsTakenWhereverItCanBe),
        cmocka_unit_test(EveryBrokenPlanIsRefused),
        cmocka_unit_test(ReplayAndCheckerAcceptTheSameSchedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
