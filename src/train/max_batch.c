/* The largest batch that fits: `-b max` and `--max-batch`.
 *
 * What a batch needs is nearly proportional to it, but not quite: kernels choose other algorithms,
 * slices keep gradients, plans differ. So nothing is extrapolated: batches are planned, at a
 * doubling distance until one does not fit and then by bisection, first with little search in each
 * plan, then from the batch found with all of it. Most batches are decided without a plan: too
 * large by their floor, or small enough to keep everything. About 4·log2(batch) plans.
 *
 * The result is a batch that fits where one sample more does not, as far as plans are found; proven
 * where the bounds rule that out. A larger one that fits in spite of that is not looked for. */
#include <math.h>
#include <stdio.h>

#include "train/data.h"
#include "train/slicing.h"

enum { MOST_SAMPLES = 1000000000 }; /* as the command line takes */

struct search {
    struct neap_plan *s;
    int64_t least, most; /* batches to choose from */
    uint64_t moves;
    int64_t impossible; /* the smallest that the bounds rule out */
};

/* ---- does it fit? --------------------------------------------------------------------------- */

static neap_error *try_slicing(const struct search *search, int64_t batch, int64_t micro,
                               bool *fits, bool *impossible) {
    struct variant v;
    TRY(variant_open(search->s, batch, micro, &v));
    neap_error *error = NULL;
    if (isfinite(v.floor_seconds)) {
        *impossible = false;
        error = variant_solve(&v, search->moves);
        *fits = !error && v.s.plan.fits;
    }
    variant_close(&v);
    return error;
}

/* With slices to choose, from single samples up: the small ones fit if any do. */
static neap_error *try_batch(struct search *search, int64_t batch, bool *fits) {
    int64_t micro = search->s->options.micro_batch;
    bool impossible = true;
    int halvings = micro == NEAP_MICRO_BATCH_AUTO ? slicing_halvings(batch) : 0;
    *fits = false;
    for (; halvings >= 0 && !*fits; halvings--)
        TRY(try_slicing(search, batch, micro > 0 ? micro : slicing_size(batch, halvings), fits,
                        &impossible));
    if (impossible && batch < search->impossible)
        search->impossible = batch;
    return NULL;
}

/* ---- search --------------------------------------------------------------------------------- */

/* Between `low`, which fits, and `high`, which does not, to neighbours. */
static neap_error *bisect(struct search *search, int64_t *low, int64_t high) {
    while (high - *low > 1) {
        int64_t middle = *low + (high - *low) / 2;
        bool fits;
        TRY(try_batch(search, middle, &fits));
        *(fits ? low : &high) = middle;
    }
    return NULL;
}

/* From `low`, which fits. */
static neap_error *search_up(struct search *search, int64_t *low) {
    bool fits = true;
    int64_t high = *low;
    for (int64_t distance = 1; fits && *low < search->most; distance *= 2) {
        high = search->most - *low < distance ? search->most : *low + distance;
        TRY(try_batch(search, high, &fits));
        if (fits)
            *low = high;
    }
    return fits ? NULL : bisect(search, low, high);
}

/* From `high`, which does not fit; *low is 0 where none does. */
static neap_error *search_down(struct search *search, int64_t high, int64_t *low) {
    bool fits = false;
    for (int64_t distance = 1; !fits && high > search->least; distance *= 2) {
        *low = high - search->least < distance ? search->least : high - distance;
        TRY(try_batch(search, *low, &fits));
        if (!fits)
            high = *low;
    }
    if (fits)
        return bisect(search, low, high);
    *low = 0;
    return NULL;
}

static neap_error *search_largest(struct search *search, int64_t *batch) {
    bool fits;
    search->moves = VARIANT_MOVES;
    *batch = search->least;
    TRY(try_batch(search, *batch, &fits));
    if (fits)
        TRY(search_up(search, batch));
    search->moves = VARIANT_FULL_MOVES;
    TRY(try_batch(search, *batch, &fits));
    return fits ? search_up(search, batch) : search_down(search, *batch, batch);
}

/* ---- together ------------------------------------------------------------------------------- */

static neap_error *check_limits(const struct neap_plan *s) {
    const struct neap_options *o = &s->options;
    bool arena_alone = o->arena.kind != NEAP_SIZE_UNSET && o->memory.kind == NEAP_SIZE_UNSET;
    if (o->memory.kind == NEAP_SIZE_MIN)
        return error_make(NEAP_ERROR_USAGE, "the largest batch in the smallest memory: one of the "
                                            "two must be given");
    if (o->arena.kind == NEAP_SIZE_PERCENT)
        return error_make(NEAP_ERROR_USAGE,
                          "the largest batch needs a limit in bytes: a percentage "
                          "of store-all's arena grows with the batch");
    if (arena_alone && o->micro_batch && !s->data)
        return error_make(NEAP_ERROR_USAGE,
                          "in slices every batch fits an arena: the largest batch needs a limit of "
                          "everything (-m), or no --micro-batch");
    return NULL;
}

static neap_error *say_found(struct neap_plan *s, const struct search *search) {
    struct neap_max_batch *found = &s->max_batch;
    bool all = s->data && found->batch == search->most;
    char text[160];
    snprintf(text, sizeof text, "-b max: %lld is %s (-b %lld)", (long long)found->batch,
             all             ? "all the data has, and fits"
             : found->proven ? "the largest batch that fits, proven"
                             : "the largest batch found to fit",
             (long long)found->batch);
    return session_decide(s, text);
}

/* Where none fits the session goes on with the smallest, to be refused with all there is to say. */
neap_error *session_find_batch(struct neap_plan *s) {
    int64_t micro = s->options.micro_batch;
    if (s->options.batch != NEAP_BATCH_MAX)
        return NULL;
    TRY(check_limits(s));
    struct search search = {.s = s,
                            .least = micro > 0 ? micro : 1,
                            .most = s->data && s->data->train ? s->data->train->n_samples
                                                              : MOST_SAMPLES,
                            .impossible = INT64_MAX};
    if (search.least > search.most)
        return error_make(NEAP_ERROR_USAGE, "micro-batch %lld: the data has %lld samples",
                          (long long)micro, (long long)search.most);
    TRY(search_largest(&search, &s->max_batch.batch));
    s->report.max_batch = &s->max_batch;
    s->options.batch = s->max_batch.batch ? s->max_batch.batch : search.least;
    if (!s->max_batch.batch)
        return NULL;
    s->max_batch.proven =
        s->max_batch.batch == search.most || s->max_batch.batch + 1 == search.impossible;
    return say_found(s, &search);
}

/* Of the plan at that batch, which is the session's own or one made for it. */
static void fill(struct neap_max_batch *found, const struct neap_plan_report *r) {
    if (!r->fits)
        return;
    found->micro_batch = r->micro_batch;
    found->peak_bytes = r->plan.peak_bytes;
    found->arena_bytes = r->plan.arena_bytes;
    found->overhead = r->overhead;
    found->seconds_per_sample = r->plan.step_seconds / (double)r->batch;
}

neap_error *session_report_batch(struct neap_plan *s) {
    if (s->report.max_batch) /* it is the session's own */
        fill(&s->max_batch, &s->report);
    if (s->report.max_batch || !s->options.max_batch)
        return NULL;
    struct neap_plan *other;
    struct neap_options o = s->options;
    o.batch = NEAP_BATCH_MAX;
    o.max_batch = false;
    TRY(session_create(&(struct session_request){.options = &o,
                                                 .data = s->data,
                                                 .without_host = s->without_host,
                                                 .device = s->device,
                                                 .allow_unfit = true},
                       &other));
    s->max_batch = other->max_batch;
    s->report.max_batch = &s->max_batch;
    neap_plan_free(other);
    return NULL;
}
