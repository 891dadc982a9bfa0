/* The dynamic program over chains: published optima, exhaustive search on small chains, and random
 * training steps. */
#include "support/files.h"

#include <math.h>

#include "plan/plan.h"
#include "unit/plan/random_problem.h"

static struct builder b;

/* Layers 0 … n - 1, a loss n, and a backward op for each layer, which reads the gradient and the
 * layer's output; with `wide`, its input too. */
struct layers {
    uint32_t n;
    bool wide;
    enum plan_phase backward;
    int64_t bytes[32];
    double seconds[32]; /* by op; both are taken from here modulo 32 */
};

static void add_op(const struct layers *l, uint32_t o, enum plan_phase phase, uint32_t n_inputs,
                   uint32_t first, uint32_t second, uint32_t third) {
    struct op_spec spec = {.seconds = l->seconds[o % 32],
                           .phase = phase,
                           .inputs = {first, second, third},
                           .n_inputs = n_inputs,
                           .n_outputs = 1};
    spec.outputs[0] = builder_output(&b, l->bytes[o % 32]);
    assert_int_equal(builder_op(&b, &spec), o);
}

static void build_layers(const struct layers *l) {
    builder_start(&b);
    for (uint32_t o = 0; o <= l->n; o++)
        add_op(l, o, PLAN_FORWARD, o > 0, o - 1, 0, 0);
    for (uint32_t o = l->n + 1; o <= 2 * l->n; o++) {
        uint32_t layer = 2 * l->n - o;
        add_op(l, o, l->backward, 2 + (l->wide && layer > 0), o - 1, layer, layer - 1);
    }
}

static struct plan_measure store_all(void) {
    struct plan_schedule schedule = {0};
    struct plan_measure all;
    base_order(&b, &schedule);
    assert_no_error(plan_replay(&b.problem, &schedule, &all, NULL));
    plan_schedule_free(&schedule);
    return all;
}

static struct plan_measure seed_within(int64_t budget_bytes) {
    struct plan_schedule schedule = {0};
    struct plan_measure measure;
    assert_no_error(plan_seed_chain(&b.problem, budget_bytes, &schedule));
    assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
    plan_schedule_free(&schedule);
    return measure;
}

/* ---- the chain that is published ------------------------------------------------------------ */

static void AHundredUnitLayersCostTheOptimum(void **state) {
    (void)state;
    static const struct {
        int64_t slots;
        uint32_t recomputed; /* 20.9, 35.8, 40.8, 42.8, 62.2 % of 201 ops */
    } published[] = {{102, 0}, {60, 42}, {30, 72}, {20, 82}, {16, 86}, {12, 125}};
    struct layers l = {.n = 100, .backward = PLAN_FORWARD};
    for (int i = 0; i < 32; i++)
        l.bytes[i] = l.seconds[i] = 1;
    build_layers(&l);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct plan_measure measure = seed_within(published[i].slots);
        assert_true(measure.peak_bytes <= published[i].slots);
        assert_int_equal(measure.recomputed, published[i].recomputed);
    }
    /* A backward op alone takes three slots; in three, every layer is run again from the first. */
    assert_int_equal(seed_within(0).peak_bytes, 3);
    assert_int_equal(seed_within(3).recomputed, 99 * 100 / 2);
}

/* ---- small chains, exhaustively ------------------------------------------------------------- */

enum { most_layers = 8, n_places = 2 * most_layers + 2, n_sets = 1 << most_layers };

/* By ops run for the first time and the set of layers whose output is there. */
static struct brute {
    double seconds[n_places][n_sets];
    bool queued[n_places][n_sets];
    uint32_t queue[n_places * n_sets], head, n;
} brute;

static void arrive(uint32_t place, uint32_t set, double seconds) {
    if (seconds >= brute.seconds[place][set])
        return;
    brute.seconds[place][set] = seconds;
    if (brute.queued[place][set])
        return;
    brute.queued[place][set] = true;
    brute.queue[(brute.head + brute.n++) % (n_places * n_sets)] = place * n_sets + set;
}

static void expand(const struct layers *l, int64_t budget_bytes, uint32_t place, uint32_t set) {
    double seconds = brute.seconds[place][set];
    int64_t live_bytes = place > l->n ? l->bytes[place - 1] : 0; /* the gradient */
    for (uint32_t i = 0; i < l->n; i++)
        live_bytes += set >> i & 1 ? l->bytes[i] : 0;
    uint32_t layer = 2 * l->n - place, needed = place ? 1u << (place - 1) : 0;
    if (place > l->n)
        needed = 1u << layer | (l->wide && layer > 0 ? 1u << (layer - 1) : 0);
    if ((set & needed) == needed && live_bytes + l->bytes[place] <= budget_bytes)
        arrive(place + 1, place < l->n ? set | 1u << place : set, seconds + l->seconds[place]);
    for (uint32_t i = 0; i < l->n; i++) {
        if (set >> i & 1)
            arrive(place, set & ~(1u << i), seconds);
        else if (i < place && (i == 0 || set >> (i - 1) & 1) &&
                 live_bytes + l->bytes[i] <= budget_bytes)
            arrive(place, set | 1u << i, seconds + l->seconds[i]);
    }
}

/* The fewest seconds within the budget; infinite where nothing is. */
static double solve_exhaustively(const struct layers *l, int64_t budget_bytes) {
    for (uint32_t place = 0; place < n_places; place++)
        for (uint32_t set = 0; set < n_sets; set++)
            brute.seconds[place][set] = INFINITY;
    arrive(0, 0, 0);
    while (brute.n) {
        uint32_t place = brute.queue[brute.head] / n_sets, set = brute.queue[brute.head] % n_sets;
        brute.head = (brute.head + 1) % (n_places * n_sets);
        brute.n--;
        brute.queued[place][set] = false;
        if (place <= 2 * l->n)
            expand(l, budget_bytes, place, set);
    }
    double best = INFINITY;
    for (uint32_t set = 0; set < n_sets; set++)
        best = fmin(best, brute.seconds[2 * l->n + 1][set]);
    return best;
}

static void random_layers(struct layers *l, uint64_t seed, uint32_t most_bytes) {
    struct dice dice = {.seed = seed};
    l->n = 2 + dice_roll(&dice, most_layers - 1);
    l->wide = dice_chance(&dice, 0.5);
    l->backward = PLAN_BACKWARD;
    for (uint32_t o = 0; o < 32; o++) {
        l->bytes[o] = 1 + dice_roll(&dice, most_bytes);
        l->seconds[o] = dice_roll(&dice, 10);
    }
}

struct tally {
    int n, n_optimal, n_infeasible;
};

/* Every budget from what nothing fits in to what everything does. */
static struct tally compare(uint32_t most_bytes, uint64_t n_seeds) {
    struct tally tally = {0};
    struct layers l;
    for (uint64_t seed = 0; seed < n_seeds; seed++) {
        random_layers(&l, seed, most_bytes);
        build_layers(&l);
        int64_t all_bytes = store_all().peak_bytes;
        for (int64_t budget_bytes = 2; budget_bytes <= all_bytes; budget_bytes++) {
            double best = solve_exhaustively(&l, budget_bytes);
            struct plan_measure measure = seed_within(budget_bytes);
            bool fits = measure.peak_bytes <= budget_bytes;
            assert_false(fits && measure.seconds < best);
            tally.n += isfinite(best);
            tally.n_infeasible += isfinite(best) && !fits;
            tally.n_optimal += fits && measure.seconds == best;
        }
    }
    print_message("%d of %d chains optimal, %d not found within the budget\n", tally.n_optimal,
                  tally.n, tally.n_infeasible);
    return tally;
}

static void SmallChainsOfEqualTensorsAreOptimal(void **state) {
    (void)state;
    struct tally tally = compare(1, 100);
    assert_int_equal(tally.n_optimal, tally.n);
}

static void SmallChainsOfUnequalTensorsAreNearlyOptimal(void **state) {
    (void)state;
    struct tally tally = compare(4, 60);
    assert_true(tally.n_optimal >= tally.n * 0.9);
    assert_true(tally.n_infeasible <= tally.n * 0.02);
}

/* ---- training steps ------------------------------------------------------------------------- */

static void assert_base_order_of_first_runs(const struct plan_schedule *schedule) {
    uint32_t next = 0;
    for (size_t s = 0; s < schedule->n; s++) {
        assert_true(schedule->ops[s] <= next);
        next += schedule->ops[s] == next;
    }
    assert_int_equal(next, b.problem.n_ops);
}

static void RandomStepsReplayAndFirstRunsKeepTheirOrder(void **state) {
    (void)state;
    int n_recomputing = 0, n_within = 0, n_plans = 0;
    struct plan_schedule schedule = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct dice dice = {.seed = seed};
        struct plan_measure measure;
        random_problem(&b, &dice, 2 + dice_roll(&dice, 14));
        struct plan_measure all = store_all();
        for (int part = 0; part <= 4; part++) {
            int64_t budget_bytes = all.peak_bytes * part / 4;
            assert_no_error(plan_seed_chain(&b.problem, budget_bytes, &schedule));
            if (schedule.n == 0)
                continue;
            assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
            assert_base_order_of_first_runs(&schedule);
            assert_true(part < 4 || measure.peak_bytes <= budget_bytes);
            n_plans++;
            n_recomputing += measure.recomputed > 0;
            n_within += measure.peak_bytes <= budget_bytes && part < 4;
        }
    }
    print_message("%d plans, %d recompute, %d are within less than all\n", n_plans, n_recomputing,
                  n_within);
    assert_true(n_recomputing > n_plans / 10);
    assert_true(n_within > n_plans / 20);
    plan_schedule_free(&schedule);
}

/* Values that are read soon are no training step. */
static void NoTrainingStepGivesNoSchedule(void **state) {
    (void)state;
    struct layers l = {.n = 1, .backward = PLAN_FORWARD};
    struct plan_schedule schedule = {0};
    l.bytes[0] = l.bytes[1] = l.bytes[2] = 1;
    builder_start(&b);
    for (uint32_t o = 0; o < 40; o++)
        add_op(&l, o, PLAN_FORWARD, o > 0, o - 1, 0, 0);
    assert_no_error(plan_seed_chain(&b.problem, 2, &schedule));
    assert_int_equal(schedule.n, 0);
    plan_schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AHundredUnitLayersCostTheOptimum),
        cmocka_unit_test(SmallChainsOfEqualTensorsAreOptimal),
        cmocka_unit_test(SmallChainsOfUnequalTensorsAreNearlyOptimal),
        cmocka_unit_test(RandomStepsReplayAndFirstRunsKeepTheirOrder),
        cmocka_unit_test(NoTrainingStepGivesNoSchedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
