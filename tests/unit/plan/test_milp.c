/* An oracle from elsewhere: Checkmate's mixed-integer program of the recompute problem in the base
 * order, solved by CBC (tests/tools/milp_plan.py), against the exhaustive search and the judge. */
#include "support/files.h"

#include "fmt/problem_text.h"
#include "plan/plan.h"
#include "unit/plan/exhaustive.h"

enum { n_problems = 6, n_budgets = 2, most_verdict = 64 };

static struct plan_problem problem;
static struct plan_schedule schedule;
static struct exhaustive search;

/* A network's forward with a few skips and its backward, as a file. */
static void write_problem(const char *path, uint64_t seed) {
    struct dice dice = {.seed = seed};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    uint32_t n = 5 + dice_roll(&dice, 3);
    fprintf(file, "%u\n", 2 * n);
    for (uint32_t i = 0; i < n; i++) {
        bool skip = i > 1 && dice_chance(&dice, 0.3);
        fprintf(file, "%u %u %u", dice_roll(&dice, 20), 1 + dice_roll(&dice, 20), (i > 0) + skip);
        if (i > 0)
            fprintf(file, " %u", i - 1);
        if (skip)
            fprintf(file, " %u", dice_roll(&dice, i - 1));
        fputc('\n', file);
    }
    for (uint32_t i = n; i-- > 0;) {
        bool both = i > 0 && dice_chance(&dice, 0.6);
        fprintf(file, "%u %u %u %u", dice_roll(&dice, 20), 1 + dice_roll(&dice, 20),
                1 + both + (i + 1 < n), i);
        if (both)
            fprintf(file, " %u", i - 1);
        if (i + 1 < n)
            fprintf(file, " %u", 2 * n - 2 - i);
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
}

/* Of the problem of this seed the base order's peak and the least possible. */
static void open_problem(uint64_t seed, int64_t *least_bytes, int64_t *all_bytes) {
    struct plan_measure all;
    pool_free(&problem.pool);
    exhaustive_close(&search);
    write_problem("x.problem", seed);
    assert_no_error(problem_text_read("x.problem", &problem));
    assert_true(exhaustive_open(&search, &problem, true, 20));
    *least_bytes = (int64_t)exhaustive_solve(&search, true, INT64_MAX, &schedule);
    schedule.n = 0;
    for (uint32_t o = 0; o < problem.n_ops; o++)
        push_op(&schedule, o);
    assert_no_error(plan_replay(&problem, &schedule, &all, NULL));
    *all_bytes = all.peak_bytes;
}

/* The program's own words: "optimal SECONDS", "infeasible", "unknown". */
static int ask(int64_t budget_bytes, char *verdict) {
    char command[1024];
    snprintf(command, sizeof command,
             "python3 '%s/tests/tools/milp_plan.py' x.problem %lld x.schedule",
             getenv("SOURCE_DIR"), (long long)budget_bytes);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(verdict, most_verdict, pipe))
        *verdict = 0;
    return pclose(pipe) >> 8;
}

static void read_optimum(void) {
    FILE *file = fopen("x.schedule", "r");
    assert_non_null(file);
    schedule.n = 0;
    for (unsigned op; fscanf(file, "%u", &op) == 1;)
        push_op(&schedule, op);
    fclose(file);
}

/* The search knows schedules that the program does not: an op twice in a stage. Where it needs none
 * of these the two agree; the program's optimum replays as it says. */
static void TheProgramAndTheSearchAgree(void **state) {
    (void)state;
    int n_known = 0, n_equal = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        int64_t least_bytes, all_bytes;
        open_problem(seed, &least_bytes, &all_bytes);
        for (int part = 0; part < n_budgets; part++) {
            char verdict[most_verdict];
            double seconds;
            struct plan_measure measure;
            int64_t budget_bytes = least_bytes + (all_bytes - least_bytes) * part / n_budgets;
            assert_int_equal(ask(budget_bytes, verdict), 0);
            if (sscanf(verdict, "optimal %lf", &seconds) != 1)
                continue;
            n_known++;
            read_optimum();
            assert_no_error(plan_replay(&problem, &schedule, &measure, NULL));
            assert_true(measure.seconds == seconds);
            assert_true(measure.peak_bytes <= budget_bytes);
            double best = exhaustive_solve(&search, false, budget_bytes, &schedule);
            assert_true(best <= seconds);
            n_equal += best == seconds;
        }
    }
    print_message("%d of %d optima are those of the search\n", n_equal, n_known);
    assert_true(n_known > 0 && n_equal >= n_known * 9 / 10);
}

static void BelowTheLeastPeakTheProgramFindsNothing(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < n_problems / 2; seed++) {
        int64_t least_bytes, all_bytes;
        char verdict[most_verdict];
        open_problem(seed, &least_bytes, &all_bytes);
        assert_int_equal(ask(least_bytes - 1, verdict), 0);
        if (strcmp(verdict, "unknown\n") != 0)
            assert_string_equal(verdict, "infeasible\n");
    }
}

/* Has each op run at most once between two first executions, and in the file's order? */
static bool program_knows(const struct plan_schedule *planned) {
    uint32_t n_done = 0, last = PLAN_NONE; /* of the stage */
    for (size_t s = 0; s < planned->n; s++) {
        uint32_t op = planned->ops[s];
        if (last != PLAN_NONE && op <= last)
            return false;
        last = op;
        if (op == n_done) {
            n_done++;
            last = PLAN_NONE;
        }
    }
    return true;
}

static void WhatIsPlannedInTheBaseOrderIsMostlyOptimal(void **state) {
    (void)state;
    int n_known = 0, n_equal = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        int64_t least_bytes, all_bytes;
        double all_seconds = 0;
        open_problem(seed, &least_bytes, &all_bytes);
        for (uint32_t o = 0; o < problem.n_ops; o++)
            all_seconds += problem.ops[o].seconds;
        for (int part = 0; part < n_budgets; part++) {
            char verdict[most_verdict];
            double seconds;
            struct plan_result result;
            struct plan_request request = {.strategy = "auto",
                                           .budget_bytes = least_bytes + (all_bytes - least_bytes) *
                                                                             part / n_budgets,
                                           .alignment_bytes = 1,
                                           .live_peak = true,
                                           .fixed_order = true};
            assert_int_equal(ask(request.budget_bytes, verdict), 0);
            if (sscanf(verdict, "optimal %lf", &seconds) != 1)
                continue;
            assert_no_error(plan_solve(&problem, &request, &result));
            n_known++;
            n_equal += result.fits && result.measure.seconds <= seconds;
            assert_true(!result.fits || result.measure.seconds <= seconds + 0.05 * all_seconds);
            if (result.fits && program_knows(&result.schedule))
                assert_true(result.measure.seconds >= seconds);
            plan_result_free(&result);
        }
    }
    print_message("%d of %d plans are optimal\n", n_equal, n_known);
    assert_true(n_known > 0 && n_equal >= n_known * 9 / 10);
}

static int release(void **state) {
    (void)state;
    pool_free(&problem.pool);
    plan_schedule_free(&schedule);
    exhaustive_close(&search);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheProgramAndTheSearchAgree),
        cmocka_unit_test(WhatIsPlannedInTheBaseOrderIsMostlyOptimal),
        cmocka_unit_test(BelowTheLeastPeakTheProgramFindsNothing),
    };
    if (system("python3 -c '' && command -v cbc >/dev/null") != 0) {
        puts("no python3 or no cbc (coinor-cbc)");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, release);
}
