/* Annealing returns what replays and is no worse than what it was given, the same for the same
 * seed. */
#include "plan/anneal.h"

#include "unit/plan/random_sequence.h"

enum { n_problems = 150, moves = 4000 };

static struct builder b;
static struct plan_schedule given, found, other;

static bool at_once(void *context) {
    ++*(int *)context;
    return true;
}

static int64_t share(int64_t bytes, double part) {
    return (int64_t)(part * (double)bytes);
}

/* A problem, a schedule of it in `given` and a request for a part of its peak. */
static struct anneal_request random_request(uint64_t seed, struct dice *dice, bool *fixed_order) {
    *dice = (struct dice){.seed = seed};
    *fixed_order = dice_chance(dice, 0.3);
    random_sequence_problem(&b, dice);
    random_start(&b, dice, *fixed_order, &given);
    struct plan_measure measure = measure_of(&b, &given);
    return (struct anneal_request){.budget_bytes =
                                       share(measure.peak_bytes, dice_roll(dice, 12) / 10.0),
                                   .moves = moves,
                                   .seed = seed,
                                   .hot = 0.01,
                                   .cold = 1e-5,
                                   .order_only = dice_chance(dice, 0.2)};
}

static void run(const struct anneal_request *request, bool fixed_order, struct plan_schedule *out) {
    struct sequence *s;
    assert_no_error(sequence_create(&b.problem, fixed_order, &s));
    assert_no_error(plan_schedule_copy(out, &given));
    assert_no_error(anneal(s, request, out));
    sequence_free(s);
}

static void ItIsNeverWorseThanItsStart(void **state) {
    (void)state;
    int n_better = 0, n_within = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice;
        bool fixed_order;
        struct anneal_request request = random_request(seed, &dice, &fixed_order);
        struct plan_measure before = measure_of(&b, &given), after;
        run(&request, fixed_order, &found);
        after = measure_of(&b, &found);
        if (before.peak_bytes <= request.budget_bytes) {
            assert_true(after.peak_bytes <= request.budget_bytes);
            assert_true(after.seconds <= before.seconds + 1e-9);
            n_better += after.seconds < before.seconds;
        } else {
            assert_true(after.peak_bytes <= before.peak_bytes);
            n_better += after.peak_bytes < before.peak_bytes;
        }
        n_within += after.peak_bytes <= request.budget_bytes;
        if (request.order_only)
            assert_int_equal(found.n, given.n);
        if (fixed_order)
            assert_true(keeps_base_order(&b, &found));
    }
    assert_true(n_better > n_problems / 3 && n_within > n_problems / 5);
}

static void TheSameSeedGivesTheSameSchedule(void **state) {
    (void)state;
    int n_different = 0;
    for (uint64_t seed = 0; seed < n_problems / 3; seed++) {
        struct dice dice;
        bool fixed_order;
        struct anneal_request request = random_request(seed, &dice, &fixed_order);
        run(&request, fixed_order, &found);
        run(&request, fixed_order, &other);
        assert_true(same_schedules(&found, &other));
        request.seed++;
        run(&request, fixed_order, &other);
        n_different += !same_schedules(&found, &other);
    }
    assert_true(n_different > 0);
}

/* A sequence that was used before gives what a new one gives. */
static void NothingIsLeftOfEarlierRuns(void **state) {
    (void)state;
    struct sequence *s;
    struct dice dice;
    bool fixed_order;
    struct anneal_request request = random_request(7, &dice, &fixed_order);
    run(&request, fixed_order, &found);
    assert_no_error(sequence_create(&b.problem, fixed_order, &s));
    for (int i = 0; i < 2; i++) {
        assert_no_error(plan_schedule_copy(&other, &given));
        assert_no_error(anneal(s, &request, &other));
        assert_true(same_schedules(&found, &other));
    }
    sequence_free(s);
}

static void StoppedAtOnceNothingChanges(void **state) {
    (void)state;
    struct dice dice;
    bool fixed_order;
    struct anneal_request request = random_request(3, &dice, &fixed_order);
    int n_asked = 0;
    request.stop = at_once;
    request.stop_context = &n_asked;
    run(&request, fixed_order, &found);
    assert_true(same_schedules(&found, &given));
    assert_int_equal(n_asked, 1);
    request.stop = NULL;
    request.moves = 0;
    run(&request, fixed_order, &found);
    assert_true(same_schedules(&found, &given));
}

/* Twelve units instead of twenty-one, by running layers again. */
static void AChainFitsIntoLess(void **state) {
    (void)state;
    unit_chain(&b, 20);
    plan_schedule_free(&given);
    base_order(&b, &given);
    struct anneal_request request = {
        .budget_bytes = 12, .moves = 200000, .hot = 0.01, .cold = 1e-5};
    assert_int_equal(measure_of(&b, &given).peak_bytes, 21);
    run(&request, true, &found);
    struct plan_measure measure = measure_of(&b, &found);
    assert_int_equal(measure.peak_bytes, 12);
    assert_true(measure.recomputed > 0 && measure.recomputed < 20);
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&given);
    plan_schedule_free(&found);
    plan_schedule_free(&other);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ItIsNeverWorseThanItsStart),
        cmocka_unit_test(TheSameSeedGivesTheSameSchedule),
        cmocka_unit_test(NothingIsLeftOfEarlierRuns),
        cmocka_unit_test(StoppedAtOnceNothingChanges),
        cmocka_unit_test(AChainFitsIntoLess),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
