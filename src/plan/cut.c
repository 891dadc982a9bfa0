/* cut: where memory is short, the cheapest closed set of values to make again.
 *
 *   a b c | c' b' a', too much live at c'   →   a b c | c' b b' a', if b's output is the cheapest
 *
 * At the step where a schedule needs the most memory, a parametric minimum cut (separator.c,
 * hull.c) decides what to keep across it and what to make again behind it, with all that needs;
 * keep.c turns that into a schedule. Then the next peak is cut, which may be one that making values
 * again has caused, until the schedule fits or nothing helps any more: so a value can be made again
 * several times, and long chains in pieces.
 *
 * One decision looks at one moment. What others need comes in by variants, of which the best is
 * taken: weighing seconds by how much of the shortage behind the moment a value relieves, going to
 * the budget in stages, and starting from each breakpoint of the cut at the border, or from
 * segments. Effort is counted, not timed. First runs keep the base order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/separator.h"

/* Effort: arcs and steps looked at, some hundred million a second. */
enum { LEAST_WORK = 5000000, WORK_PER_OP = 150000 };
enum { STARTS = 8 };              /* at least, within the effort */
enum { THOROUGH = 8, QUICK = 1 }; /* minimum cuts tried for a decision */
enum { PATIENCE = 30, MOST_BREAKPOINTS = 64, FIRST_AIM_PARTS = 20 };

/* How seconds are weighed: divided by the share of the shortage that a value relieves, to a power.
 */
enum weight { PLAIN, FOURTH_ROOT, AS_IT_IS, CUBED };

/* How peaks are cut. */
struct method {
    enum weight weight;
    int most_cuts; /* minimum cuts to find a decision with: see separator_fit */
};

struct seed {
    const struct plan_problem *problem;
    int64_t budget_bytes;
    struct plan_schedule *best, base, now, least;
    struct plan_lives lives;
    struct plan_measure best_measure, base_measure;
    uint64_t work_left, start_ends_at; /* of the effort: a start ends when so much is left */
};

/* ---- the best so far ---------------------------------------------------------------------- */

static bool better(const struct seed *s, const struct plan_measure *m) {
    const struct plan_measure *best = &s->best_measure;
    bool fits = m->peak_bytes <= s->budget_bytes, fitted = best->peak_bytes <= s->budget_bytes;
    if (fits != fitted)
        return fits;
    if (!fits && m->peak_bytes != best->peak_bytes)
        return m->peak_bytes < best->peak_bytes;
    if (m->seconds != best->seconds)
        return m->seconds < best->seconds;
    return m->peak_bytes < best->peak_bytes;
}

/* The schedule at hand, without what it does not need. */
static neap_error *offer(struct seed *s) {
    struct plan_measure measure;
    TRY(plan_schedule_thin(s->problem, s->budget_bytes, &s->now));
    TRY(plan_replay(s->problem, &s->now, &measure, NULL));
    if (s->best->n && !better(s, &measure))
        return NULL;
    s->best_measure = measure;
    return plan_schedule_copy(s->best, &s->now);
}

/* ---- one peak ----------------------------------------------------------------------------- */

/* Bytes beyond the aim, summed over the steps from `step` on: *over by step. */
static neap_error *sum_shortage(const struct seed *s, uint32_t step, int64_t aim, double **over) {
    double live = 0, sum = 0;
    TRY(memory_alloc(s->now.n + 1, sizeof **over, over));
    for (size_t l = 0; l < s->lives.n; l++) {
        const struct plan_life *life = &s->lives.at[l];
        uint32_t first = life->first_step + (life->in_place_of != PLAN_NONE);
        if (first > life->last_step)
            continue;
        (*over)[first] += (double)life->bytes;
        (*over)[life->last_step + 1] -= (double)life->bytes;
    }
    for (size_t i = 0; i < s->now.n; i++) {
        live += (*over)[i];
        if (i >= step && live > (double)aim)
            sum += live - (double)aim;
        (*over)[i] = sum;
    }
    return NULL;
}

/* A value that is wanted again soon relieves few steps, so that its seconds weigh more; and ops
 * that take no time take a little, so that they are told apart. */
static neap_error *weigh(const struct seed *s, struct separator *separator, int64_t aim,
                         enum weight weight) {
    double *over, shortage;
    TRY(sum_shortage(s, separator->step, aim, &over));
    shortage = over[s->now.n - 1];
    separator->total_seconds = 0;
    for (uint32_t i = 0; i < separator->n_ops; i++) {
        struct separator_op *op = &separator->ops[i];
        double factor = shortage / over[op->latest - 1];
        if (weight == FOURTH_ROOT)
            factor = sqrt(sqrt(factor));
        else if (weight == CUBED)
            factor *= factor * factor;
        op->seconds = (op->seconds + 1e-9 * s->base_measure.seconds) * factor;
        separator->total_seconds += op->seconds;
    }
    free(over);
    return NULL;
}

/* Changes the schedule at hand as decided. */
static neap_error *forget(struct seed *s, const struct separator *separator,
                          const struct separator_cut *cut) {
    const struct plan_problem *p = s->problem;
    const struct plan_op *here = &p->ops[s->now.ops[separator->step]];
    struct plan_schedule next = {0};
    bool *kept;
    TRY(memory_alloc(p->n_values, sizeof *kept, &kept));
    memset(kept, true, p->n_values * sizeof *kept);
    for (uint32_t i = 0; i < separator->n_ops; i++) {
        const struct plan_op *op = &p->ops[separator->ops[i].op];
        for (uint32_t j = 0; j < op->outputs.n && cut->again[i]; j++)
            kept[p->ids[op->outputs.first + j]] = false;
    }
    for (uint32_t j = 0; j < here->inputs.n; j++)
        kept[p->ids[here->inputs.first + j]] = true;
    for (uint32_t j = 0; j < here->outputs.n; j++)
        kept[p->ids[here->outputs.first + j]] = true;
    neap_error *error = plan_schedule_keeping(p, &s->now, separator->step + 1, kept, &next);
    free(kept);
    plan_schedule_free(error ? &next : &s->now);
    if (!error)
        s->now = next;
    return error;
}

static uint64_t work_of(const struct plan_problem *problem) {
    return LEAST_WORK + (uint64_t)problem->n_ops * WORK_PER_OP;
}

/* What replaying and changing the schedule at hand is worth. */
static uint64_t pass_work(const struct seed *s) {
    return 16 * ((uint64_t)s->now.n + s->problem->n_ids);
}

static void spend(struct seed *s, uint64_t work) {
    s->work_left -= work < s->work_left ? work : s->work_left;
}

/* A start may spend its share of the effort, so that one that leads nowhere does not take it all.
 */
static void begin_start(struct seed *s) {
    uint64_t share = work_of(s->problem) / STARTS;
    s->start_ends_at = s->work_left > share ? s->work_left - share : 0;
}

/* Brings the peak at hand down to the aim, as far as it goes; *helped: did anything change? */
static neap_error *cut_peak(struct seed *s, const struct plan_measure *peak, int64_t aim,
                            struct method method, bool *helped) {
    struct separator separator;
    struct separator_cut cut = {0};
    int64_t all = 0;
    neap_error *error = NULL;
    TRY(separator_open(s->problem, &s->now, peak->peak_step, &separator));
    for (uint32_t v = 0; v < separator.n_values; v++)
        all += separator.values[v].required ? separator.values[v].bytes : 0;
    if (method.weight != PLAIN)
        TRY_GOTO(weigh(s, &separator, aim, method.weight));
    TRY_GOTO(separator_fit(&separator, all - (peak->peak_bytes - aim), method.most_cuts, &cut));
    *helped = cut.bytes < all;
    if (*helped)
        TRY_GOTO(forget(s, &separator, &cut));
    spend(s, separator.flow.work + pass_work(s));
done:
    free(cut.again);
    separator_close(&separator);
    return error;
}

/* Cuts one peak after another until the schedule at hand needs no more than the aim, or the peak
 * has not come down for long; then it is the one with the least peak seen. */
static neap_error *relieve(struct seed *s, int64_t aim, struct method method) {
    int64_t least = INT64_MAX;
    bool helped = true;
    TRY(plan_schedule_copy(&s->least, &s->now));
    for (int patience = PATIENCE; helped && patience && s->work_left > s->start_ends_at;
         patience--) {
        struct plan_measure measure;
        TRY(plan_replay(s->problem, &s->now, &measure, &s->lives));
        if (measure.peak_bytes <= aim)
            return NULL;
        if (measure.peak_bytes < least) {
            least = measure.peak_bytes;
            patience = PATIENCE;
            TRY(plan_schedule_copy(&s->least, &s->now));
        }
        TRY(cut_peak(s, &measure, aim, method, &helped));
    }
    return plan_schedule_copy(&s->now, &s->least);
}

/* ---- where to start ----------------------------------------------------------------------- */

/* From keeping everything down to the aim, each stage the same factor below the one before. */
static neap_error *descend(struct seed *s, int64_t aim, int stages, struct method method) {
    double factor = (double)aim / (double)s->base_measure.peak_bytes;
    for (int halving = 1; halving < stages; halving *= 2)
        factor = sqrt(factor);
    double stage_bytes = (double)s->base_measure.peak_bytes;
    begin_start(s);
    TRY(plan_schedule_copy(&s->now, &s->base));
    for (int i = 1; i < stages; i++) {
        stage_bytes *= factor;
        TRY(relieve(s, (int64_t)stage_bytes, method));
    }
    TRY(relieve(s, aim, method));
    return offer(s);
}

struct sweep {
    struct seed *s;
    const struct separator *separator;
};

static neap_error *try_breakpoint(void *context, const struct separator_cut *cut) {
    struct sweep *sweep = context;
    struct seed *s = sweep->s;
    struct plan_measure measure;
    TRY(plan_schedule_copy(&s->now, &s->base));
    TRY(forget(s, sweep->separator, cut));
    TRY(plan_replay(s->problem, &s->now, &measure, NULL));
    spend(s, pass_work(s));
    return measure.peak_bytes <= s->budget_bytes ? offer(s) : NULL;
}

/* Every breakpoint of the cut between what comes before the border and what comes behind. */
static neap_error *sweep_border(struct seed *s) {
    struct separator separator;
    struct sweep sweep = {s, &separator};
    uint32_t border = plan_border(s->problem);
    if (border == PLAN_NONE)
        return error_memory(s->problem->n_ops);
    TRY(separator_open(s->problem, &s->base, border, &separator));
    neap_error *error = separator_sweep(&separator, MOST_BREAKPOINTS, try_breakpoint, &sweep);
    spend(s, separator.flow.work);
    separator_close(&separator);
    return error;
}

/* The first cut to less than the budget, the next ones to the budget. */
static neap_error *start_below(struct seed *s, int64_t first_aim) {
    const struct method plain = {PLAIN, THOROUGH};
    bool helped;
    begin_start(s);
    TRY(plan_schedule_copy(&s->now, &s->base));
    TRY(cut_peak(s, &s->base_measure, first_aim, plain, &helped));
    TRY(relieve(s, s->budget_bytes, plain));
    return offer(s);
}

/* From sequential segments, more and more of them. */
static neap_error *start_from_segments(struct seed *s) {
    bool *drop;
    int64_t n_cuts, fitting = 0;
    TRY(plan_count_cuts(s->problem, &n_cuts));
    TRY(memory_alloc(s->problem->n_values, sizeof *drop, &drop));
    neap_error *error = NULL;
    begin_start(s);
    for (int64_t k = 2; k <= n_cuts + 1 && fitting < 2 && s->work_left > s->start_ends_at;
         k += 1 + k / 8) {
        struct plan_measure measure;
        TRY_GOTO(plan_drop_segments(s->problem, k, drop));
        TRY_GOTO(plan_schedule_dropping(s->problem, drop, &s->now));
        TRY_GOTO(plan_replay(s->problem, &s->now, &measure, NULL));
        fitting += measure.peak_bytes <= s->budget_bytes;
        spend(s, pass_work(s));
        TRY_GOTO(relieve(s, s->budget_bytes, (struct method){FOURTH_ROOT, THOROUGH}));
        TRY_GOTO(offer(s));
    }
done:
    free(drop);
    return error;
}

/* Where the budget was out of reach: a little below the least peak so far, again and again. */
static neap_error *reach_down(struct seed *s) {
    int64_t before = INT64_MAX, least;
    for (; (least = s->best_measure.peak_bytes) > s->budget_bytes && least < before && s->work_left;
         before = least) {
        int64_t aim = least - least / 32;
        TRY(descend(s, aim, 1, (struct method){PLAIN, THOROUGH}));
        TRY(descend(s, aim, 8, (struct method){FOURTH_ROOT, THOROUGH}));
        TRY(descend(s, aim, 4, (struct method){CUBED, THOROUGH}));
    }
    return NULL;
}

/* What is worth trying: the quick ones not because they are quick, but because they differ. */
static const struct {
    int stages;
    struct method method;
} descents[] = {
    {1, {PLAIN, THOROUGH}},       {1, {CUBED, THOROUGH}},     {4, {FOURTH_ROOT, THOROUGH}},
    {2, {FOURTH_ROOT, THOROUGH}}, {4, {CUBED, THOROUGH}},     {1, {PLAIN, QUICK}},
    {2, {FOURTH_ROOT, QUICK}},    {4, {FOURTH_ROOT, QUICK}},  {16, {FOURTH_ROOT, THOROUGH}},
    {8, {AS_IT_IS, THOROUGH}},    {16, {FOURTH_ROOT, QUICK}}, {4, {CUBED, QUICK}},
    {2, {PLAIN, THOROUGH}},       {1, {AS_IT_IS, THOROUGH}},  {1, {CUBED, QUICK}},
    {2, {PLAIN, QUICK}},          {1, {AS_IT_IS, QUICK}},     {8, {AS_IT_IS, QUICK}},
};
enum { N_DESCENTS = sizeof descents / sizeof *descents };

static neap_error *search(struct seed *s) {
    TRY(start_from_segments(s));
    for (int i = 0; i < N_DESCENTS && s->work_left; i++)
        TRY(descend(s, s->budget_bytes, descents[i].stages, descents[i].method));
    TRY(reach_down(s));
    if (s->work_left)
        TRY(sweep_border(s));
    for (int part = FIRST_AIM_PARTS - 1; part > FIRST_AIM_PARTS / 3 && s->work_left; part--)
        TRY(start_below(s, s->budget_bytes / FIRST_AIM_PARTS * part));
    return NULL;
}

neap_error *plan_seed_cut(const struct plan_problem *problem, int64_t budget_bytes,
                          struct plan_schedule *schedule) {
    struct seed s = {.problem = problem, .budget_bytes = budget_bytes, .best = schedule};
    neap_error *error = NULL;
    s.work_left = work_of(problem);
    schedule->n = 0;
    TRY_GOTO(plan_base_order(problem, &s.base));
    TRY_GOTO(plan_replay(problem, &s.base, &s.base_measure, NULL));
    TRY_GOTO(plan_schedule_copy(&s.now, &s.base));
    TRY_GOTO(offer(&s));
    if (s.base_measure.peak_bytes > budget_bytes)
        TRY_GOTO(search(&s));
done:
    plan_schedule_free(&s.base);
    plan_schedule_free(&s.now);
    plan_schedule_free(&s.least);
    plan_lives_free(&s.lives);
    return error;
}
