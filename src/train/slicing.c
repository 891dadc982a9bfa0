/* Which slices to run a batch in: for `--micro-batch auto`, and for the advice where slicing is
 * off.
 *
 * Compared are the whole batch, its half, quarter, … down to single samples, rounded up so that the
 * last slice is not a rest of one or two (batch norm would see those alone). Smaller slices need
 * less memory and so less recompute, yet pay for every launch, every pass over the weights and for
 * gradients that are kept between slices. A slicing is planned only where its bound, the time of
 * running every op once and of what the budget makes it recompute at least, leaves room for it to
 * win; so at most a few are. */
#include "train/slicing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/op.h"

/* An advice has to be worth a flag. */
static const double worth_telling = 1e-3;

int slicing_halvings(int64_t batch) {
    int halvings = 0;
    while (slicing_size(batch, halvings) > 1)
        halvings++;
    return halvings;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Takes the place of the best, which is freed; or is freed itself. */
static void keep_better(struct variant *v, bool better, struct variant *best) {
    if (better) {
        variant_close(best);
        *best = *v;
    } else {
        variant_close(v);
    }
}

/* Slices that the network refuses, such as a single value for batch norm, are no choice. */
static neap_error *open_slices(struct neap_plan *s, int halvings, struct variant *v,
                               bool *possible) {
    int64_t batch = s->options.batch;
    neap_error *error = variant_open(s, batch, slicing_size(batch, halvings), v);
    bool refused = halvings && error && neap_error_code(error) == NEAP_ERROR_MODEL;
    *possible = !error;
    if (!refused)
        return error;
    neap_error_free(error);
    return NULL;
}

neap_error *slicing_fastest(struct neap_plan *s, double below_seconds, struct variant *best,
                            bool *found) {
    int64_t batch = s->options.batch;
    *best = (struct variant){0};
    *found = false;
    for (int halvings = 1; halvings <= slicing_halvings(batch); halvings++) {
        struct variant v;
        double limit = *found ? best->seconds : below_seconds;
        bool possible;
        neap_error *error = open_slices(s, halvings, &v, &possible);
        bool may_win = possible && v.floor_seconds < limit;
        if (may_win)
            error = variant_solve(&v, VARIANT_MOVES);
        bool better = may_win && !error && v.s.plan.fits && v.seconds < limit;
        keep_better(&v, better, best);
        *found = *found || better;
        if (error) {
            variant_close(best);
            return error;
        }
    }
    return NULL;
}

/* From single samples up: they are the likely answer, and what is larger is then ruled out by its
 * floor. */
neap_error *slicing_least(struct neap_plan *s, struct variant *best) {
    int64_t batch = s->options.batch;
    *best = (struct variant){.least_bytes = INT64_MAX};
    for (int halvings = slicing_halvings(batch); halvings >= 0; halvings--) {
        struct variant v;
        bool possible;
        neap_error *error = open_slices(s, halvings, &v, &possible);
        bool may_win = possible && v.floor_bytes <= best->least_bytes;
        if (may_win)
            error = variant_solve_least(&v);
        keep_better(&v, may_win && !error && v.least_bytes <= best->least_bytes, best);
        if (error) {
            variant_close(best);
            return error;
        }
    }
    return NULL;
}

/* ---- in words ------------------------------------------------------------------------------- */

/* The name of an op of the model whose result for a sample depends on the others, or NULL. */
static const char *mixing_op(const neap_graph *g) {
    for (node_id n = 0; n < g->n_nodes; n++)
        if (graph_node(g, n)->op->flags & OP_MIXES_SAMPLES)
            return graph_node(g, n)->op->name;
    return NULL;
}

const char *slicing_changes(const struct neap_plan *s, int64_t micro, char text[SLICING_TEXT]) {
    const char *op = mixing_op(s->model);
    if (op)
        snprintf(text, SLICING_TEXT, "%.40s over %lld sample%s", op, (long long)micro,
                 micro == 1 ? "" : "s");
    else
        snprintf(text, SLICING_TEXT, "sums in another order");
    for (char *c = text; (c = strchr(c, '_'));)
        *c = ' ';
    return text;
}

/* ---- --micro-batch auto --------------------------------------------------------------------- */

/* Seconds of a sample where the batch is not sliced; INFINITY where that does not fit. */
static neap_error *time_whole(struct neap_plan *s, double *seconds) {
    struct variant v;
    *seconds = INFINITY;
    TRY(variant_open(s, s->options.batch, s->options.batch, &v));
    neap_error *error = isfinite(v.floor_seconds) ? variant_solve(&v, VARIANT_MOVES) : NULL;
    if (!error && v.s.plan.fits)
        *seconds = v.seconds;
    variant_close(&v);
    return error;
}

static neap_error *say_chosen(struct neap_plan *s, int64_t micro, const char *reason) {
    char text[320], changes[SLICING_TEXT];
    if (micro == s->options.batch)
        snprintf(text, sizeof text,
                 "--micro-batch auto: the whole batch at once, %s (--micro-batch off)", reason);
    else
        snprintf(text, sizeof text,
                 "--micro-batch auto: slices of %lld, %s (--micro-batch %lld: %s)",
                 (long long)micro, reason, (long long)micro, slicing_changes(s, micro, changes));
    return session_decide(s, text);
}

static neap_error *choose_least(struct neap_plan *s, const char *reason, int64_t *micro) {
    struct variant best;
    TRY(slicing_least(s, &best));
    *micro = best.micro;
    variant_close(&best);
    return say_chosen(s, *micro, reason);
}

static neap_error *choose_fastest(struct neap_plan *s, int64_t *micro) {
    int64_t batch = s->options.batch;
    double whole_seconds, sliced_seconds;
    struct variant best;
    bool found;
    char reason[128];
    TRY(time_whole(s, &whole_seconds));
    TRY(slicing_fastest(s, whole_seconds, &best, &found));
    *micro = found ? best.micro : batch;
    sliced_seconds = best.seconds;
    variant_close(&best);
    if (!found && !isfinite(whole_seconds))
        return choose_least(s, "the least memory, which does not fit", micro);
    if (!found)
        snprintf(reason, sizeof reason, "the fastest at %.4g ms a sample", 1e3 * whole_seconds);
    else if (isfinite(whole_seconds))
        snprintf(reason, sizeof reason, "the fastest at %.4g ms a sample against %.4g ms at once",
                 1e3 * sliced_seconds, 1e3 * whole_seconds);
    else
        snprintf(reason, sizeof reason,
                 "the fastest that fits at %.4g ms a sample; the whole batch does not",
                 1e3 * sliced_seconds);
    return say_chosen(s, *micro, reason);
}

neap_error *session_choose_slicing(struct neap_plan *s) {
    int64_t micro;
    if (s->options.micro_batch != NEAP_MICRO_BATCH_AUTO)
        return NULL;
    if (s->options.memory.kind == NEAP_SIZE_MIN)
        TRY(choose_least(s, "the least memory", &micro));
    else
        TRY(choose_fastest(s, &micro));
    s->options.micro_batch = micro < s->options.batch ? micro : 0;
    return NULL;
}

/* ---- advice --------------------------------------------------------------------------------- */

static neap_error *describe(struct neap_plan *s, const struct variant *v) {
    struct neap_slicing *slicing = &s->slicing;
    double now = s->report.plan.step_seconds / (double)v->batch;
    char changes[SLICING_TEXT], against[64] = "nothing else fits";
    *slicing = (struct neap_slicing){
        .micro_batch = v->micro,
        .only_way = !s->report.fits,
        .mixes_samples = mixing_op(s->model) != NULL,
        .overhead = v->seconds * (double)v->batch / s->report.store_all.step_seconds - 1,
        .seconds_per_sample = v->seconds};
    variant_totals(v, &slicing->peak_bytes, &slicing->arena_bytes);
    s->report.slicing = slicing;
    if (s->report.fits)
        snprintf(against, sizeof against, "faster than %.4g ms at once", 1e3 * now);
    return pool_format(
        &s->pool, &slicing->text, "--micro-batch %lld would take %.4g ms a sample, %s; %s",
        (long long)v->micro, 1e3 * v->seconds, against, slicing_changes(s, v->micro, changes));
}

/* Without recompute a plan in one piece runs every op once: slices can only add to that. */
neap_error *session_advise_slicing(struct neap_plan *s) {
    const struct neap_plan_report *r = &s->report;
    bool sliced = r->micro_batch < r->batch || r->batch == 1;
    bool least = s->options.memory.kind == NEAP_SIZE_MIN;
    struct variant best;
    bool found;
    if (sliced || least || s->evaluation || session_from_file(&s->options) ||
        (r->fits && !r->recomputed_ops))
        return NULL;
    double now = r->fits ? r->plan.step_seconds / (double)r->batch : INFINITY;
    TRY(slicing_fastest(s, now * (1 - worth_telling), &best, &found));
    neap_error *error = found ? describe(s, &best) : NULL;
    variant_close(&best);
    return error;
}
