/* Exhaustive search on steps of a few ops: what no schedule can beat, and what one reaches.
 *
 * A state is how much of the base order has run and which values are kept; moves run the next op,
 * run a forward op again, or forget a value. All of them are searched, so that the least peak, and
 * the least seconds under a budget, are known without any planner: replay must find just these in
 * the schedules found, and whatever is planned must not be better. */
#include "support/files.h"

#include <math.h>

#include "plan/place.h"
#include "plan/plan.h"
#include "unit/plan/random_problem.h"

enum { most_values = 12, most_ops = 20, n_states = (most_ops + 1) << most_values };

static struct builder b;
static struct order_rules rules;
static uint32_t bit_of[max_values]; /* a value's mask; 0 if persistent */

struct arrival {
    double cost; /* the peak so far, or the seconds */
    uint32_t state;
};

static struct search {
    bool by_peak;
    int64_t budget_bytes;
    double cost[n_states];
    uint32_t from[n_states], op[n_states]; /* op PLAN_NONE: something was forgotten */
    struct arrival *heap;
    size_t n, capacity;
} search;

static void heap_push(struct arrival arrival) {
    assert_no_error(memory_grow(&search.heap, &search.capacity, search.n + 1, sizeof *search.heap));
    size_t at = search.n++;
    for (; at > 0 && search.heap[(at - 1) / 2].cost > arrival.cost; at = (at - 1) / 2)
        search.heap[at] = search.heap[(at - 1) / 2];
    search.heap[at] = arrival;
}

static struct arrival heap_pop(void) {
    struct arrival top = search.heap[0], last = search.heap[--search.n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < search.n; at = child) {
        if (child + 1 < search.n && search.heap[child + 1].cost < search.heap[child].cost)
            child++;
        if (search.heap[child].cost >= last.cost)
            break;
        search.heap[at] = search.heap[child];
    }
    search.heap[at] = last;
    return top;
}

static uint32_t mask_of(struct plan_span span) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < span.n; i++)
        mask |= bit_of[b.ids[span.first + i]];
    return mask;
}

static int64_t bytes_of(uint32_t mask) {
    int64_t bytes = 0;
    for (uint32_t v = 0; v < b.problem.n_values; v++)
        bytes += mask & bit_of[v] ? b.values[v].bytes : 0;
    return bytes;
}

/* The bytes that outputs share with inputs that die in this execution. */
static int64_t shared_bytes(const struct plan_op *op, uint32_t dying) {
    int64_t bytes = 0;
    uint32_t spoken = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        struct plan_overwrite pair = b.overwrites[op->first_overwrite + i];
        uint32_t both = bit_of[pair.input] | bit_of[pair.output];
        if (!(dying & bit_of[pair.input]) || both & spoken ||
            b.values[pair.output].bytes > b.values[pair.input].bytes)
            continue;
        spoken |= both;
        bytes += b.values[pair.output].bytes;
    }
    return bytes;
}

static void arrive(uint32_t state, double cost, uint32_t from, uint32_t op) {
    if (cost >= search.cost[state])
        return;
    search.cost[state] = cost;
    search.from[state] = from;
    search.op[state] = op;
    heap_push((struct arrival){cost, state});
}

static void execute(struct arrival at, uint32_t index, uint32_t position) {
    const struct plan_op *op = &b.ops[index];
    uint32_t kept = at.state & ((1u << most_values) - 1);
    uint32_t inputs = mask_of(op->inputs), outputs = mask_of(op->outputs);
    if ((inputs & kept) != inputs || (outputs & kept))
        return;
    uint32_t dying = inputs;
    do { /* every set of inputs may die here */
        int64_t bytes = bytes_of(kept | outputs) - shared_bytes(op, dying);
        double cost = at.cost + op->seconds;
        if (search.by_peak)
            cost = at.cost < (double)bytes ? (double)bytes : at.cost;
        if (bytes <= search.budget_bytes)
            arrive(position << most_values | ((kept | outputs) & ~dying), cost, at.state, index);
        dying = (dying - 1) & inputs;
    } while (dying != inputs);
}

static void expand(struct arrival at) {
    uint32_t position = at.state >> most_values, kept = at.state & ((1u << most_values) - 1);
    execute(at, position, position + 1);
    for (uint32_t op = 0; op < position; op++) {
        bool spoiled = plan_op_once(&b.ops[op]);
        for (uint32_t later = op + 1; later < position; later++)
            spoiled = spoiled || rules.spoils[op][later];
        if (!spoiled)
            execute(at, op, position);
    }
    for (uint32_t bit = 1; bit < 1u << most_values && position > 0; bit <<= 1)
        if (kept & bit)
            arrive(at.state & ~bit, at.cost, at.state, PLAN_NONE);
}

/* The least peak, or the least seconds within the budget; infinite where nothing fits. Sets the
 * schedule that reaches it. */
static double solve(bool by_peak, int64_t budget_bytes, struct plan_schedule *schedule) {
    uint32_t start = 0, end = PLAN_NONE;
    for (uint32_t v = 0; v < b.problem.n_values; v++)
        start |= b.values[v].input ? bit_of[v] : 0;
    search.by_peak = by_peak;
    search.budget_bytes = budget_bytes;
    search.n = 0;
    for (uint32_t s = 0; s < n_states; s++)
        search.cost[s] = INFINITY;
    arrive(start, 0, PLAN_NONE, PLAN_NONE);
    while (search.n) {
        struct arrival at = heap_pop();
        if (at.cost > search.cost[at.state])
            continue;
        if (at.state >> most_values == b.problem.n_ops) {
            end = at.state;
            break;
        }
        expand(at);
    }
    schedule->n = 0;
    if (end == PLAN_NONE)
        return INFINITY;
    for (uint32_t s = end; s != PLAN_NONE; s = search.from[s])
        if (search.op[s] != PLAN_NONE)
            push_op(schedule, search.op[s]);
    for (size_t i = 0; i < schedule->n / 2; i++) {
        uint32_t op = schedule->ops[i];
        schedule->ops[i] = schedule->ops[schedule->n - 1 - i];
        schedule->ops[schedule->n - 1 - i] = op;
    }
    return search.cost[end];
}

/* False where the problem of this seed is too large. */
static bool make_problem(uint64_t seed) {
    struct dice dice = {.seed = seed};
    uint32_t n = 0;
    random_problem(&b, &dice, 2 + dice_roll(&dice, 4));
    for (uint32_t v = 0; v < b.problem.n_values; v++) {
        bit_of[v] = b.values[v].persistent || n >= most_values ? 0 : 1u << n;
        n += !b.values[v].persistent;
    }
    order_rules_of(&b, &rules);
    return n <= most_values && b.problem.n_ops <= most_ops && n > 3;
}

enum { n_problems = 200 };

static void ReplayFindsInTheBestSchedulesWhatTheSearchFound(void **state) {
    (void)state;
    struct plan_schedule schedule = {0};
    struct plan_measure measure;
    int n_solved = 0, n_recomputing = 0;
    for (uint64_t seed = 0; n_solved < n_problems; seed++) {
        if (!make_problem(seed))
            continue;
        n_solved++;
        double peak_bytes = solve(true, INT64_MAX, &schedule);
        assert_true(isfinite(peak_bytes));
        assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
        assert_true((double)measure.peak_bytes == peak_bytes);
        double seconds = solve(false, (int64_t)peak_bytes, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &measure, NULL));
        assert_true((double)measure.peak_bytes == peak_bytes);
        assert_true(fabs(measure.seconds - seconds) <= 1e-9 * seconds);
        n_recomputing += measure.recomputed > 0;
        assert_true(isinf(solve(false, (int64_t)peak_bytes - 1, &schedule)));
    }
    assert_true(n_recomputing > n_problems / 20);
    plan_schedule_free(&schedule);
}

static void NoScheduleBeatsTheBound(void **state) {
    (void)state;
    struct plan_schedule schedule = {0};
    struct plan_measure all;
    struct plan_bound bound;
    int n_solved = 0, n_positive = 0, n_met = 0;
    for (uint64_t seed = 0; n_solved < n_problems; seed++) {
        if (!make_problem(seed))
            continue;
        n_solved++;
        int64_t least = (int64_t)solve(true, INT64_MAX, &schedule);
        schedule.n = 0;
        base_order(&b, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &all, NULL));
        for (int part = -1; part <= 4; part++) {
            int64_t budget_bytes = least + (all.peak_bytes - least) * part / 4 - (part < 0);
            assert_no_error(plan_bound(&b.problem, budget_bytes, &bound));
            assert_true(bound.floor_bytes <= least);
            double best = solve(false, budget_bytes, &schedule);
            assert_true(all.seconds + bound.extra_seconds <= best * (1 + 1e-9) || isinf(best));
            n_positive += bound.extra_seconds > 0;
            n_met += isfinite(best) && bound.extra_seconds > 0 &&
                     all.seconds + bound.extra_seconds >= best * (1 - 1e-9);
        }
    }
    print_message("%d bounds above 0, %d of them met exactly\n", n_positive, n_met);
    assert_true(n_positive > n_problems / 20);
    plan_schedule_free(&schedule);
}

static void NothingPlannedIsBetterThanTheOptimum(void **state) {
    (void)state;
    struct plan_schedule schedule = {0};
    struct plan_measure all;
    int n_solved = 0, n_plans = 0, n_optimal = 0;
    for (uint64_t seed = 0; n_solved < n_problems / 4; seed++) {
        if (!make_problem(seed))
            continue;
        n_solved++;
        int64_t least = (int64_t)solve(true, INT64_MAX, &schedule);
        schedule.n = 0;
        base_order(&b, &schedule);
        assert_no_error(plan_replay(&b.problem, &schedule, &all, NULL));
        for (int part = 0; part <= 4; part++) {
            int64_t budget_bytes = least + (all.peak_bytes - least) * part / 4;
            struct plan_request request = {
                .strategy = "auto", .budget_bytes = budget_bytes, .alignment_bytes = 64};
            struct plan_result result = {0};
            assert_no_error(plan_solve(&b.problem, &request, &result));
            double best = solve(false, budget_bytes, &schedule);
            assert_true(result.measure.peak_bytes >= least);
            n_plans++;
            if (result.fits) {
                assert_true(result.measure.seconds >= best * (1 - 1e-9));
                n_optimal += result.measure.seconds <= best * (1 + 1e-9);
            }
            plan_result_free(&result);
        }
    }
    print_message("%d of %d plans are optimal\n", n_optimal, n_plans);
    plan_schedule_free(&schedule);
}

static int release(void **state) {
    (void)state;
    free(search.heap);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ReplayFindsInTheBestSchedulesWhatTheSearchFound),
        cmocka_unit_test(NoScheduleBeatsTheBound),
        cmocka_unit_test(NothingPlannedIsBetterThanTheOptimum),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
