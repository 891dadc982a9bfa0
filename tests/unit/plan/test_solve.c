/* plan_solve at the edges: almost nothing to plan, nothing to gain, no time to do it in. What it
 * promises elsewhere is in test_promises.c. */
#include "plan/plan.h"

#include "unit/plan/random_sequence.h"

enum { alignment = 1 };

static struct builder b;

static bool at_once(void *context) {
    ++*(int *)context;
    return true;
}

/* plan_solve has checked the plan; here the rest of the result. */
static struct plan_measure solve(struct plan_request request) {
    struct plan_result result;
    request.strategy = "auto";
    request.alignment_bytes = alignment;
    assert_no_error(plan_solve(&b.problem, &request, &result));
    struct plan_measure measure = measure_of(&b, &result.schedule);
    assert_int_equal(measure.peak_bytes, result.measure.peak_bytes);
    int64_t bytes = request.live_peak ? measure.peak_bytes : result.arena_bytes;
    assert_int_equal(result.fits, bytes <= request.budget_bytes);
    if (request.fixed_order)
        assert_true(keeps_base_order(&b, &result.schedule));
    plan_result_free(&result);
    return measure;
}

/* All budgets, both orders, both measures, few moves and none at all. */
static void solve_in_every_way(void) {
    const int64_t peak = solve((struct plan_request){.budget_bytes = INT64_MAX}).peak_bytes;
    const int64_t budgets[] = {0, 1, peak / 2, peak - 1, peak, INT64_MAX};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
        for (int way = 0; way < 8; way++) {
            int n_asked = 0;
            struct plan_request request = {.budget_bytes = budgets[i] < 0 ? 0 : budgets[i],
                                           .live_peak = way & 1,
                                           .fixed_order = way & 2,
                                           .moves = way & 4 ? 1 : 3000};
            solve(request);
            request.stop = at_once;
            request.stop_context = &n_asked;
            solve(request);
        }
}

static void NoOps(void **state) {
    (void)state;
    builder_start(&b);
    solve_in_every_way();
}

static void OneOp(void **state) {
    (void)state;
    builder_read(&b, "forward 1 f : -> a 8\n");
    solve_in_every_way();
    builder_read(&b, "input x 8\nforward 1 f : x -> a 8 over x a\n");
    solve_in_every_way();
    builder_read(&b, "persistent w\nupdate 1 u : w -> updates w effect last\n");
    solve_in_every_way();
}

static void NothingTakesTime(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct dice dice = {.seed = seed};
        random_sequence_problem(&b, &dice);
        for (uint32_t o = 0; o < b.problem.n_ops + b.problem.n_alternatives; o++)
            b.ops[o].seconds = 0;
        solve_in_every_way();
    }
}

static void NothingTakesBytes(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct dice dice = {.seed = seed};
        random_sequence_problem(&b, &dice);
        for (uint32_t v = 0; v < b.problem.n_values; v++)
            b.values[v].bytes = 0;
        solve_in_every_way();
    }
}

static void NothingMayBeMadeAgain(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct dice dice = {.seed = seed};
        random_bare(&b, &dice, 20);
        for (uint32_t o = 0; o < b.problem.n_ops; o++)
            b.ops[o].phase = PLAN_BACKWARD;
        solve_in_every_way();
        assert_int_equal(solve((struct plan_request){.moves = 3000}).recomputed, 0);
    }
}

static void AnOpWithManyInputs(void **state) {
    (void)state;
    uint32_t inputs[64], output;
    builder_start(&b);
    for (uint32_t i = 0; i < 64; i++) {
        struct op_spec spec = {.phase = PLAN_FORWARD, .seconds = 1, .n_outputs = 1};
        inputs[i] = spec.outputs[0] = builder_output(&b, 8 + i % 5);
        builder_op(&b, &spec);
    }
    output = builder_output(&b, 8);
    builder_op(&b, &(struct op_spec){.phase = PLAN_FORWARD, .seconds = 1});
    b.ops[64].inputs = builder_span(&b, inputs, 64);
    b.ops[64].outputs = builder_span(&b, &output, 1);
    b.ops[64].first_overwrite = b.problem.n_overwrites;
    for (uint32_t i = 0; i < 64; i++)
        b.overwrites[b.problem.n_overwrites++] = (struct plan_overwrite){inputs[i], output};
    b.ops[64].n_overwrites = 64;
    solve_in_every_way();
}

/* To make one layer again all before it is needed: more changes than the sequence takes. */
static void AChainDeeperThanAMoveReaches(void **state) {
    (void)state;
    unit_chain(&b, 100);
    struct plan_measure measure =
        solve((struct plan_request){.budget_bytes = 20, .live_peak = true, .moves = 20000});
    assert_true(measure.peak_bytes <= 20);
    measure = solve((struct plan_request){.budget_bytes = 4, .live_peak = true, .moves = 20000});
    assert_true(measure.peak_bytes < 101);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(NoOps),
        cmocka_unit_test(OneOp),
        cmocka_unit_test(NothingTakesTime),
        cmocka_unit_test(NothingTakesBytes),
        cmocka_unit_test(NothingMayBeMadeAgain),
        cmocka_unit_test(AnOpWithManyInputs),
        cmocka_unit_test(AChainDeeperThanAMoveReaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
