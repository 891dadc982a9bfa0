/* The bound against every schedule of small random steps, and on steps whose optimum is known. */
#include "support/files.h"

#include <math.h>

#include "base/philox.h"
#include "plan/plan.h"
#include "unit/plan/all_schedules.h"

enum { n_problems = 1500 };

static struct builder b;
static uint64_t seed, n_rolled;

/* 0 … n - 1. */
static uint32_t roll(uint32_t n) {
    return (uint32_t)(((uint64_t)philox_at(seed, 0, n_rolled++).word[0] * n) >> 32);
}

static bool chance(uint32_t percent) {
    return roll(100) < percent;
}

/* ---- small random steps --------------------------------------------------------------------- */

static bool among(const uint32_t *ids, uint32_t n, uint32_t id) {
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void read_some(struct op_spec *spec, uint32_t n_values, bool persistent) {
    for (uint32_t n = 1 + roll(3); n > 0; n--) {
        uint32_t v = chance(50) ? n_values - 1 - roll(n_values < 3 ? n_values : 3) : roll(n_values);
        if (b.values[v].persistent == persistent && !among(spec->inputs, spec->n_inputs, v))
            spec->inputs[spec->n_inputs++] = v;
    }
}

static void pair_some(struct op_spec *spec) {
    while (spec->n_inputs && spec->n_outputs && spec->n_overwrites < 4 && chance(60))
        spec->overwrites[spec->n_overwrites++] = (struct plan_overwrite){
            spec->inputs[roll(spec->n_inputs)], spec->outputs[roll(spec->n_outputs)]};
}

static int64_t some_bytes(void) {
    return 64 * (chance(60) ? 1 + roll(2) : roll(6));
}

/* An update of a persistent value, or of what an op made that cannot make it again. */
static void update_some(struct op_spec *spec) {
    uint32_t v = roll(b.problem.n_values);
    const struct plan_value *value = &b.values[v];
    bool may = value->persistent ||
               (value->producer != PLAN_NONE && plan_op_once(&b.ops[value->producer]));
    if (may && !among(spec->inputs, spec->n_inputs, v))
        spec->updates[spec->n_updates++] = v;
    spec->effect = spec->n_updates > 0;
}

/* What the op just before made, and what a mirrored op of n made. */
static void read_mirrored(struct op_spec *spec, uint32_t n_ops) {
    uint32_t o = b.problem.n_ops, mirrored = n_ops - 1 - o;
    if (o > 0)
        spec->inputs[spec->n_inputs++] = b.ids[b.ops[o - 1].outputs.first];
    if (mirrored + 1 < o)
        spec->inputs[spec->n_inputs++] = b.ids[b.ops[mirrored].outputs.first];
}

static void add_op(uint32_t n_ops, bool mirrored, bool backward, bool last) {
    struct op_spec spec = {.seconds = chance(10) ? 0 : 1 + roll(100)};
    uint32_t n_values = b.problem.n_values;
    spec.phase = last ? PLAN_UPDATE : backward ? PLAN_BACKWARD : PLAN_FORWARD;
    spec.update_part = last;
    if (mirrored)
        read_mirrored(&spec, n_ops);
    if (!mirrored || chance(20))
        read_some(&spec, n_values, false);
    if (chance(40))
        read_some(&spec, n_values, true);
    if (chance(backward ? 40 : 10))
        update_some(&spec);
    for (uint32_t n = chance(20) ? 2 : 1; n > 0; n--)
        spec.outputs[spec.n_outputs++] = builder_output(&b, some_bytes());
    pair_some(&spec);
    builder_op(&b, &spec);
}

/* Another implementation of op o: other inputs among those that o could have, other scratch. */
static void add_alternative(uint32_t o) {
    const struct plan_op *op = &b.ops[o];
    struct op_spec spec = {.seconds = chance(10) ? 0 : 1 + roll(100),
                           .phase = op->phase,
                           .effect = op->effect,
                           .update_part = op->update_part};
    for (uint32_t i = 0; i < op->outputs.n; i++)
        spec.outputs[spec.n_outputs++] = b.ids[op->outputs.first + i];
    for (uint32_t i = 0; i < op->updates.n; i++)
        spec.updates[spec.n_updates++] = b.ids[op->updates.first + i];
    for (uint32_t i = 0; i < op->inputs.n; i++)
        if (chance(60))
            spec.inputs[spec.n_inputs++] = b.ids[op->inputs.first + i];
    if (chance(30) && spec.outputs[0] > 0 && !among(spec.updates, spec.n_updates, 0) &&
        !among(spec.inputs, spec.n_inputs, 0))
        spec.inputs[spec.n_inputs++] = 0;
    pair_some(&spec);
    if (chance(50)) {
        b.problem.n_ops--; /* an alternative's scratch is its primary's: see problem.h */
        spec.outputs[spec.n_outputs] = builder_output(&b, some_bytes());
        b.values[spec.outputs[spec.n_outputs++]].producer = o;
        b.problem.n_ops++;
    }
    uint32_t a = builder_op(&b, &spec);
    b.ops[a].alternative_of = o;
}

/* Ops, of which the last ones may be backward, and one an update; with alternatives, perhaps. */
static void make_step(uint64_t of) {
    seed = of;
    n_rolled = 0;
    builder_start(&b);
    uint32_t n_ops = 4 + roll(5), border = chance(40) ? n_ops : 2 + roll(n_ops - 1);
    bool update = chance(20), mirrored = chance(60);
    builder_input(&b, some_bytes());
    if (chance(60))
        builder_persistent(&b);
    if (chance(20))
        builder_input(&b, some_bytes());
    for (uint32_t o = 0; o < n_ops; o++)
        add_op(n_ops, mirrored, o >= border, update && o + 1 == n_ops);
    if (chance(30))
        for (uint32_t n = 1 + roll(2); n > 0; n--)
            add_alternative(roll(n_ops));
    b.problem.n_alternatives = b.problem.n_ops - n_ops;
    b.problem.n_ops = n_ops;
}

/* ---- against every schedule ----------------------------------------------------------------- */

static double least_seconds(void) {
    double seconds = 0;
    for (uint32_t o = 0; o < b.problem.n_ops; o++) {
        double least = b.ops[o].seconds;
        for (uint32_t a = 0; a < b.problem.n_alternatives; a++)
            if (b.ops[b.problem.n_ops + a].alternative_of == o)
                least = fmin(least, b.ops[b.problem.n_ops + a].seconds);
        seconds += least;
    }
    return seconds;
}

static struct tally { int n_steps, n_floors_met, n_needed, n_positive, n_met; } tally;

/* Budgets from nothing to where every schedule fits. */
static void compare(bool fixed_order) {
    struct plan_bounds *bounds;
    struct plan_bound bound;
    double once = least_seconds();
    int64_t all_at_once = all_bytes(UINT32_MAX);
    assert_no_error(plan_bounds_open(&b.problem, fixed_order, &bounds));
    int64_t least = (int64_t)all_solve(true, INT64_MAX);
    plan_bounds_at(bounds, INT64_MAX / 2, &bound, NULL);
    assert_true(bound.floor_bytes <= least);
    assert_true(bound.extra_seconds == 0);
    tally.n_floors_met += bound.floor_bytes == least;
    tally.n_steps++;
    for (int64_t budget = least - 1; budget <= all_at_once; budget += 1 + (int64_t)roll(128)) {
        double best = all_solve(false, budget);
        plan_bounds_at(bounds, budget, &bound, NULL);
        assert_true(once + bound.extra_seconds <= best);
        bool needed = isfinite(best) && best > once;
        tally.n_needed += needed;
        tally.n_positive += needed && bound.extra_seconds > 0;
        tally.n_met += needed && once + bound.extra_seconds == best;
        if (best == once)
            break;
    }
    plan_bounds_close(bounds);
}

static void compare_all(bool fixed_order) {
    tally = (struct tally){0};
    for (uint64_t of = 0; tally.n_steps < n_problems; of++) {
        make_step(of);
        if (all_open(&b.problem, fixed_order))
            compare(fixed_order);
    }
    print_message("%d of %d floors met; %d budgets need recompute, %d bounds say so, %d exactly\n",
                  tally.n_floors_met, tally.n_steps, tally.n_needed, tally.n_positive, tally.n_met);
    assert_true(tally.n_floors_met > n_problems / 2);
    assert_true(tally.n_met > tally.n_needed / 3 && tally.n_needed > n_problems / 5);
}

static void NoScheduleBeatsTheBound(void **state) {
    (void)state;
    compare_all(false);
}

static void NoScheduleInBaseOrderBeatsItsBound(void **state) {
    (void)state;
    compare_all(true);
}

/* ---- properties of the bound alone ---------------------------------------------------------- */

/* A bound for a smaller budget, or for fewer schedules, is not lower; the way past the worst moment
 * is allowed and costs no less than the bound. */
static void BoundsRiseAsBudgetsAndOrdersShrink(void **state) {
    (void)state;
    struct plan_bound free_bound, fixed_bound, last;
    for (uint64_t of = 0; of < n_problems; of++) {
        struct plan_bounds *free_order, *fixed_order;
        bool again[max_ops];
        make_step(of);
        assert_no_error(plan_bounds_open(&b.problem, false, &free_order));
        assert_no_error(plan_bounds_open(&b.problem, true, &fixed_order));
        last.extra_seconds = INFINITY;
        for (int64_t budget = 0; budget < 2000; budget += 1 + (int64_t)roll(200)) {
            double seconds = 0;
            plan_bounds_at(free_order, budget, &free_bound, again);
            plan_bounds_at(fixed_order, budget, &fixed_bound, NULL);
            assert_true(free_bound.floor_bytes <= fixed_bound.floor_bytes);
            assert_true(free_bound.extra_seconds <= fixed_bound.extra_seconds * (1 + 1e-12));
            assert_true(free_bound.extra_seconds <= last.extra_seconds * (1 + 1e-12));
            assert_true(isinf(free_bound.extra_seconds) == (budget < free_bound.floor_bytes));
            for (uint32_t o = 0; o < b.problem.n_ops; o++) {
                seconds += again[o] ? b.ops[o].seconds : 0;
                assert_false(again[o] && plan_op_once(&b.ops[o]));
            }
            if (isfinite(free_bound.extra_seconds) && !b.problem.n_alternatives)
                assert_true(seconds >= free_bound.extra_seconds);
            last = free_bound;
        }
        plan_bounds_close(free_order);
        plan_bounds_close(fixed_order);
    }
}

/* ---- known optima --------------------------------------------------------------------------- */

static void expect_extra(int64_t budget_bytes, double extra_seconds) {
    struct plan_bound bound;
    assert_no_error(plan_bound(&b.problem, budget_bytes, &bound));
    assert_true(bound.extra_seconds == extra_seconds);
}

/* A hundred layers of one second and one byte and their backward: dynamic programming over chains
 * gives 42, 72, 82 and 86 recomputes at these budgets. */
static void AChainsBoundIsItsOptimum(void **state) {
    (void)state;
    enum { n_layers = 100 };
    builder_start(&b);
    for (uint32_t o = 0; o <= 2 * n_layers; o++) {
        struct op_spec spec = {.seconds = 1, .outputs = {builder_output(&b, 1)}, .n_outputs = 1};
        if (o > 0)
            spec.inputs[spec.n_inputs++] = o - 1;
        if (o > n_layers)
            spec.inputs[spec.n_inputs++] = 2 * n_layers - o;
        builder_op(&b, &spec);
    }
    expect_extra(60, 42);
    expect_extra(30, 72);
    expect_extra(20, 82);
    expect_extra(16, 86);
    expect_extra(101, 1);
    expect_extra(102, 0);
    expect_extra(2, INFINITY);
}

/* z may take y's place only if y is made again. */
static void AnInputThatIsWantedLaterGivesItsPlaceOnlyIfMadeAgain(void **state) {
    (void)state;
    builder_read(&b, "input x 0\n"
                     "forward 3 conv : x -> y 64\n"
                     "forward 1 relu : y -> z 64 over y z\n"
                     "backward 1 last : z y -> d 0\n");
    expect_extra(128, 0);
    builder_read(&b, "input x 0\n"
                     "forward 3 conv : x -> y 64\n"
                     "forward 1 relu : y -> z 64 over y z\n"
                     "forward 1 sum : z -> s 0\n"
                     "backward 1 last : s y -> d 0\n");
    expect_extra(127, 3);
    expect_extra(64, 3);
    expect_extra(63, INFINITY);
}

/* y is cheap to make again, but only with x, which nobody else reads and which is dear and large.
 */
static void MakingAgainNeedsInputs(void **state) {
    (void)state;
    struct plan_bounds *bounds;
    struct plan_bound bound;
    bool again[max_ops];
    builder_read(&b, "forward 50 first : -> x 100\n"
                     "forward 1 next : x -> y 60\n"
                     "forward 9 other : y -> z 40\n"
                     "forward 1 tip : z -> t 140\n"
                     "forward 1 turn : t -> u 10\n"
                     "forward 1 end : u y z -> v 0\n");
    expect_extra(250, 0);
    assert_no_error(plan_bounds_open(&b.problem, false, &bounds));
    plan_bounds_at(bounds, 180, &bound, again);
    assert_true(bound.extra_seconds <= 51 && bound.extra_seconds > 51 * (1 - 1e-9));
    assert_int_equal(bound.op, op_named(&b, "tip"));
    assert_true(again[0] && again[1] && !again[2] && !again[3]);
    plan_bounds_close(bounds);
}

/* An update ends what may be made again with the weight that it changes. */
static void NothingIsMadeAgainAcrossAnUpdate(void **state) {
    (void)state;
    static const char step[] = "persistent w\n"
                               "input x 0\n"
                               "forward 3 conv : x w -> y 64\n"
                               "forward 1 loss : y -> l 0\n"
                               "backward 1 grad : l -> dw 64\n"
                               "%s 1 sgd : dw -> big 100%s\n"
                               "forward 1 end : big y -> z 0\n";
    char text[512];
    snprintf(text, sizeof text, step, "backward", "");
    builder_read(&b, text);
    expect_extra(164, 3);
    snprintf(text, sizeof text, step, "backward", " updates w effect");
    builder_read(&b, text);
    expect_extra(228, 0);
    expect_extra(227, INFINITY);
}

/* The lean implementation costs its delay; the fast one's scratch, a recompute. */
static void TheCheaperOfAnAlternativeAndARecomputeCounts(void **state) {
    (void)state;
    for (int delay = 2; delay <= 20; delay += 18) {
        builder_read(&b, "forward 10 conv : -> y 64\n"
                         "forward 1 mid : y -> m 8\n"
                         "forward 4 fast : m -> z 8 scratch 100\n"
                         "forward 1 end : z y -> e 0\n");
        struct op_spec lean = {.seconds = 4 + delay,
                               .inputs = {value_named(&b, "m")},
                               .n_inputs = 1,
                               .outputs = {value_named(&b, "z")},
                               .n_outputs = 1};
        b.ops[builder_op(&b, &lean)].alternative_of = op_named(&b, "fast");
        b.problem.n_ops--;
        b.problem.n_alternatives = 1;
        expect_extra(180, 0);
        expect_extra(179, delay < 10 ? delay : 10);
        expect_extra(116, delay < 10 ? delay : 10);
        expect_extra(115, delay);
        expect_extra(79, delay + 10);
        expect_extra(71, INFINITY);
    }
}

static int release(void **state) {
    (void)state;
    free(all.heap);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(NoScheduleBeatsTheBound),
        cmocka_unit_test(NoScheduleInBaseOrderBeatsItsBound),
        cmocka_unit_test(BoundsRiseAsBudgetsAndOrdersShrink),
        cmocka_unit_test(AChainsBoundIsItsOptimum),
        cmocka_unit_test(AnInputThatIsWantedLaterGivesItsPlaceOnlyIfMadeAgain),
        cmocka_unit_test(MakingAgainNeedsInputs),
        cmocka_unit_test(NothingIsMadeAgainAcrossAnUpdate),
        cmocka_unit_test(TheCheaperOfAnAlternativeAndARecomputeCounts),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
