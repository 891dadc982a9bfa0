/* Decisions at one moment against all of them, on small random graphs: what a decision costs is
 * told here from its definition, without a network. */
#include "support/files.h"

#include <math.h>

#include "plan/separator.h"
#include "unit/plan/random_bare.h"

enum { n_problems = 1500, most_ops = 10, most_corners = 1 << most_ops };

static struct builder b;
static struct plan_schedule schedule;

/* All decisions at a step of the base order: by set of ops before it that run again. */
static struct {
    uint32_t step;
    int64_t bytes[1 << most_ops];
    double seconds[1 << most_ops];
} all;

static bool span_has(struct plan_span span, uint32_t value) {
    for (uint32_t i = 0; i < span.n; i++)
        if (b.ids[span.first + i] == value)
            return true;
    return false;
}

static bool touched(uint32_t value) {
    const struct plan_op *op = &b.ops[all.step];
    return span_has(op->inputs, value) || span_has(op->outputs, value);
}

static bool made_before(uint32_t value) {
    return b.values[value].input || b.values[value].producer < all.step;
}

static bool read_behind(uint32_t value) {
    for (uint32_t o = all.step + 1; o < b.problem.n_ops; o++)
        if (span_has(b.ops[o].inputs, value))
            return true;
    return false;
}

static void judge(uint32_t set) {
    int64_t bytes = 0;
    double seconds = 0;
    for (uint32_t o = 0; o < all.step; o++)
        seconds += set >> o & 1 ? b.ops[o].seconds : 0;
    for (uint32_t v = 0; v < b.problem.n_values; v++) {
        bool wanted = read_behind(v), again = !b.values[v].input && set >> b.values[v].producer & 1;
        for (uint32_t o = 0; o < all.step; o++)
            wanted = wanted || (set >> o & 1 && span_has(b.ops[o].inputs, v));
        if (wanted && !again && made_before(v) && !touched(v) && !b.values[v].persistent)
            bytes += b.values[v].bytes;
    }
    all.bytes[set] = bytes;
    all.seconds[set] = seconds;
}

/* May an op of this set not run twice? */
static bool forbidden(uint32_t set) {
    for (uint32_t o = 0; o < all.step; o++)
        if (set >> o & 1 && plan_op_once(&b.ops[o]))
            return true;
    return false;
}

/* A random problem, a step of it, and all decisions there. */
static void make_problem(struct dice *dice) {
    random_bare(&b, dice, 3 + dice_roll(dice, most_ops + 5));
    for (uint32_t o = 0; o < b.problem.n_ops; o++)
        b.ops[o].effect = dice_chance(dice, 0.1);
    schedule.n = 0;
    base_order(&b, &schedule);
    all.step = 1 + dice_roll(dice, b.problem.n_ops - 1);
    all.step = all.step < most_ops ? all.step : most_ops;
    for (uint32_t set = 0; set < 1u << all.step; set++)
        judge(set);
}

/* Bytes that the separator leaves out: of what crosses and can only be kept. */
static int64_t fixed_bytes(const struct separator *s) {
    int64_t bytes = all.bytes[0];
    for (uint32_t v = 0; v < s->n_values; v++)
        bytes -= s->values[v].required ? s->values[v].bytes : 0;
    return bytes;
}

static uint32_t set_of(const struct separator *s, const struct separator_cut *cut) {
    uint32_t set = 0;
    for (uint32_t i = 0; i < s->n_ops; i++)
        set |= (uint32_t)cut->again[i] << s->ops[i].op;
    return set;
}

/* A decision is what it says it is. */
static void assert_honest(const struct separator *s, const struct separator_cut *cut) {
    uint32_t set = set_of(s, cut);
    assert_false(forbidden(set));
    assert_int_equal(all.bytes[set], cut->bytes + fixed_bytes(s));
    assert_true(fabs(all.seconds[set] - cut->seconds) <= 1e-9);
}

static void ACutIsTheBestDecisionAtItsPrice(void **state) {
    (void)state;
    int n_mixed = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct separator s;
        struct separator_cut cut = {.again = (bool[most_ops]){0}};
        make_problem(&dice);
        assert_no_error(separator_open(&b.problem, &schedule, all.step, &s));
        for (int i = 0; i < 6; i++) {
            double price = i ? exp2(-4.0 - 2 * i) * (1 + dice_roll(&dice, 3)) : 0, best = INFINITY;
            separator_decide(&s, price, &cut);
            assert_honest(&s, &cut);
            for (uint32_t set = 0; set < 1u << all.step; set++)
                if (!forbidden(set))
                    best = fmin(best, price * (double)all.bytes[set] + all.seconds[set]);
            double found = price * (double)(cut.bytes + fixed_bytes(&s)) + cut.seconds;
            assert_true(fabs(found - best) <= 1e-9);
            n_mixed += cut.seconds > 0 && cut.bytes > 0;
        }
        separator_close(&s);
    }
    assert_true(n_mixed > n_problems / 4);
}

/* How many ops may run again behind step h of a text problem. */
static uint32_t ops_again_behind_h(const char *text) {
    struct separator s;
    builder_read(&b, text);
    schedule.n = 0;
    base_order(&b, &schedule);
    assert_no_error(separator_open(&b.problem, &schedule, op_named(&b, "h"), &s));
    uint32_t n = s.n_ops;
    separator_close(&s);
    return n;
}

#define FORWARD                                                                                    \
    "persistent w\npersistent v\ninput x 8\n"                                                      \
    "forward 1 f : x w -> a 64\n"                                                                  \
    "forward 1 g : a -> b 8\n"                                                                     \
    "backward 1 h : b -> db 8\n"

static void NothingRunsAgainBehindAnUpdateOfWhatItReads(void **state) {
    (void)state;
    assert_int_equal(ops_again_behind_h(FORWARD "backward 1 k : db a -> dx 8\n"
                                                "update 1 u : db -> updates w effect\n"),
                     1);
    assert_int_equal(ops_again_behind_h(FORWARD "update 1 u : db -> updates w effect\n"
                                                "backward 1 k : db a -> dx 8\n"),
                     0);
    assert_int_equal(ops_again_behind_h(FORWARD "update 1 u : db -> updates v effect\n"
                                                "backward 1 k : db a -> dx 8\n"),
                     1);
}

static void NothingRunsAgainInTheUpdatesPart(void **state) {
    (void)state;
    assert_int_equal(ops_again_behind_h(FORWARD "update 1 k : db a -> updates v effect last\n"), 1);
    assert_int_equal(ops_again_behind_h(FORWARD "update 1 u : db -> updates v effect last\n"
                                                "update 1 k : db a -> updates v effect last\n"),
                     0);
}

struct corners {
    const struct separator *s;
    int64_t bytes[most_corners];
    double seconds[most_corners];
    uint32_t n;
};

static neap_error *note(void *context, const struct separator_cut *cut) {
    struct corners *c = context;
    assert_true(c->n < most_corners);
    assert_honest(c->s, cut);
    c->bytes[c->n] = cut->bytes + fixed_bytes(c->s);
    c->seconds[c->n++] = cut->seconds;
    return NULL;
}

/* Is this decision the best, none with other costs as good, in a range of prices? Where the slopes
 * to the decisions with more bytes and to those with fewer leave room between. */
static bool is_corner(uint32_t set) {
    double least = 0, most = INFINITY;
    for (uint32_t other = 0; other < 1u << all.step; other++) {
        double bytes = (double)(all.bytes[other] - all.bytes[set]);
        double seconds = all.seconds[other] - all.seconds[set];
        if (other == set || forbidden(other))
            continue;
        if (fabs(bytes) < 0.5 && seconds < -1e-9)
            return false;
        if (bytes > 0)
            least = fmax(least, -seconds / bytes);
        if (bytes < 0)
            most = fmin(most, seconds / -bytes);
    }
    return least < most * (1 - 1e-6);
}

static void TheSweepFindsEveryBreakpoint(void **state) {
    (void)state;
    static struct corners found;
    uint32_t n_corners = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct separator s;
        make_problem(&dice);
        assert_no_error(separator_open(&b.problem, &schedule, all.step, &s));
        found.s = &s;
        found.n = 0;
        assert_no_error(separator_sweep(&s, UINT32_MAX, note, &found));
        for (uint32_t set = 0; set < 1u << all.step; set++) {
            if (forbidden(set) || !is_corner(set))
                continue;
            bool there = false;
            for (uint32_t i = 0; i < found.n; i++)
                there = there || (found.bytes[i] == all.bytes[set] &&
                                  fabs(found.seconds[i] - all.seconds[set]) <= 1e-9);
            assert_true(there);
            n_corners++;
        }
        separator_close(&s);
    }
    print_message("%u breakpoints\n", n_corners);
    assert_true(n_corners > 2 * n_problems);
}

static neap_error *refuse(void *context, const struct separator_cut *cut) {
    (void)cut;
    ++*(int *)context;
    return error_make(NEAP_ERROR_USAGE, "enough");
}

static void AVisitCanEndTheSweep(void **state) {
    (void)state;
    struct separator s;
    int n = 0;
    make_problem(&(struct dice){.seed = 1});
    assert_no_error(separator_open(&b.problem, &schedule, all.step, &s));
    assert_error(separator_sweep(&s, UINT32_MAX, refuse, &n), NEAP_ERROR_USAGE, "enough");
    assert_int_equal(n, 1);
    separator_close(&s);
}

static void AFitIsWithinItsBytesWhereverOneIs(void **state) {
    (void)state;
    int n_fits = 0, n_best = 0;
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct separator s;
        struct separator_cut cut;
        make_problem(&dice);
        assert_no_error(separator_open(&b.problem, &schedule, all.step, &s));
        int64_t most = all.bytes[0] * dice_roll(&dice, 8) / 8, least = INT64_MAX;
        double best = INFINITY;
        for (uint32_t set = 0; set < 1u << all.step; set++) {
            if (forbidden(set))
                continue;
            least = all.bytes[set] < least ? all.bytes[set] : least;
            best = all.bytes[set] <= most ? fmin(best, all.seconds[set]) : best;
        }
        assert_no_error(separator_fit(&s, most - fixed_bytes(&s), 8, &cut));
        assert_honest(&s, &cut);
        int64_t bytes = cut.bytes + fixed_bytes(&s);
        if (isinf(best)) {
            assert_int_equal(bytes, least);
        } else {
            assert_true(bytes <= most);
            assert_true(cut.seconds >= best - 1e-9);
            n_fits++;
            n_best += cut.seconds <= best + 1e-9;
        }
        free(cut.again);
        separator_close(&s);
    }
    print_message("%d of %d fits are the best decision\n", n_best, n_fits);
    assert_true(n_fits > n_problems / 3 && n_best > n_fits * 98 / 100);
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ACutIsTheBestDecisionAtItsPrice),
        cmocka_unit_test(NothingRunsAgainBehindAnUpdateOfWhatItReads),
        cmocka_unit_test(NothingRunsAgainInTheUpdatesPart),
        cmocka_unit_test(TheSweepFindsEveryBreakpoint),
        cmocka_unit_test(AVisitCanEndTheSweep),
        cmocka_unit_test(AFitIsWithinItsBytesWhereverOneIs),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
