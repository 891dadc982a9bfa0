/* What a bench measures, from its options.
 *
 *   a model: for each precision, without and with the input's gradient
 *       none · every other strategy · auto at each limit · the same in slices
 *   a suite: for each network the same with
 *       none · auto at the published arena · auto at the published overhead · the first in slices
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/bench.h"

static const char default_strategies[] = "none,sequential:2,sqrt,auto";

/* Measured overheads scatter around the planned one: a tenth keeps them within what was asked. */
static const double overhead_margin = 0.9;

static const struct neap_published ogc[] = {
#define PUBLISHED(network, batch, size, all_mib, mib, all_seconds, seconds, percent)               \
    {#network, batch, size, all_mib, mib, all_seconds, seconds, (percent) / 100.0},
#include "train/ogc.def"
#undef PUBLISHED
};

const struct neap_published *neap_published_at(const char *suite, size_t index) {
    return !strcmp(suite, "ogc") && index < sizeof ogc / sizeof *ogc ? &ogc[index] : NULL;
}

/* ---- lists by commas ------------------------------------------------------------------------ */

/* The words of `text`, in a copy that the pool owns; an empty word is refused. */
static neap_error *split(struct pool *pool, const char *what, const char *text, const char ***words,
                         size_t *n) {
    const char *copy;
    *n = 1;
    for (const char *c = text; *c; c++)
        *n += *c == ',';
    TRY(pool_string(pool, text, &copy));
    TRY(pool_alloc(pool, *n, sizeof **words, words));
    char *at = (char *)copy;
    for (size_t i = 0; i < *n; i++) {
        (*words)[i] = at;
        at += strcspn(at, ",");
        *at++ = '\0';
        if (!*(*words)[i])
            return error_make(NEAP_ERROR_USAGE, "%s '%s': an empty name in the list", what, text);
        for (size_t j = 0; j < i; j++)
            if (!strcmp((*words)[i], (*words)[j]))
                return error_make(NEAP_ERROR_USAGE, "%s '%s': '%s' is there twice", what, text,
                                  (*words)[i]);
    }
    return NULL;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct making {
    struct bench_list *list;
    const struct neap_options *options;
    const struct neap_bench_options *bench;
    struct neap_options base; /* of the group under way */
    struct bench_group *group;
};

/* Options beside those with fields of their own in a row. */
static neap_error *describe_setup(struct pool *pool, const struct neap_options *o,
                                  const char **out) {
    return pool_format(pool, out,
                       "opt=%s momentum=%g accum=%s img=%lld classes=%lld dropout=%g fuse=%d "
                       "cost=%d order=%d",
                       o->optimizer, o->momentum, o->grad_accum_steps ? o->grad_accum_steps : "1",
                       (long long)o->img_size, (long long)o->num_classes, o->dropout,
                       (int)o->fuse_update, (int)o->cost, (int)o->plan_order);
}

static neap_error *describe_slicing(struct pool *pool, int64_t micro_batch, const char **out) {
    if (micro_batch == NEAP_MICRO_BATCH_AUTO)
        return pool_string(pool, "auto", out);
    return micro_batch ? pool_format(pool, out, "%lld", (long long)micro_batch)
                       : pool_string(pool, "off", out);
}

/* A row of the group; `options` with strategy, limit and slicing. */
static neap_error *add_row(struct making *m, const struct neap_options *options, const char *limit,
                           const char *flags) {
    struct bench_group *group = m->group;
    struct pool *pool = &m->list->pool;
    TRY(memory_grow(&group->jobs, &group->capacity, group->n + 1, sizeof *group->jobs));
    struct bench_job *job = &group->jobs[group->n];
    const char *model = options->model   ? options->model
                        : options->graph ? options->graph->name
                                         : "";
    *job = (struct bench_job){.options = *options,
                              .row = {.precision = options->precision,
                                      .batch = options->batch,
                                      .input_gradient = options->input_gradient,
                                      .strategy = options->recompute,
                                      .limit = limit,
                                      .flags = flags,
                                      .missing = "",
                                      .worst_moment = "",
                                      .overhead = NAN}};
    TRY(pool_string(pool, model, &job->row.model));
    TRY(describe_slicing(pool, options->micro_batch, &job->row.slicing));
    TRY(describe_setup(pool, options, &job->row.setup));
    group->n++;
    return NULL;
}

static neap_error *add_fixed(struct making *m, const char *strategy) {
    struct neap_options o = m->base;
    o.recompute = strategy;
    return add_row(m, &o, "none", "");
}

static neap_error *flag_of_size(struct pool *pool, const char *flag, const struct neap_size *size,
                                const char **out) {
    static const char *const words[] = {[NEAP_SIZE_MIN] = "min", [NEAP_SIZE_MAX] = "max"};
    if (size->kind == NEAP_SIZE_PERCENT)
        return pool_format(pool, out, "%s %g%%", flag, size->percent);
    if (size->kind == NEAP_SIZE_BYTES)
        return pool_format(pool, out, "%s %lld", flag, (long long)size->bytes);
    return pool_format(pool, out, "%s %s", flag, words[size->kind]);
}

/* The slices that were asked for have a row of their own, in the group without input gradient. */
static neap_error *add_at_size(struct making *m, const struct neap_size *size, bool arena,
                               bool slices) {
    struct neap_options o = m->base;
    const char *flags;
    *(arena ? &o.arena : &o.memory) = *size;
    o.micro_batch = slices ? m->options->micro_batch : 0;
    TRY(flag_of_size(&m->list->pool, arena ? "--arena" : "-m", size, &flags));
    return add_row(m, &o, arena ? "arena" : "memory", flags);
}

static neap_error *add_limits(struct making *m, bool slices) {
    static const struct neap_size half = {.kind = NEAP_SIZE_PERCENT, .percent = 50};
    const struct neap_bench_options *b = m->bench;
    for (size_t i = 0; i < b->n_arenas; i++)
        TRY(add_at_size(m, &b->arenas[i], true, slices));
    for (size_t i = 0; i < b->n_memories; i++)
        TRY(add_at_size(m, &b->memories[i], false, slices));
    return b->n_arenas + b->n_memories ? NULL : add_at_size(m, &half, true, slices);
}

static bool wants_slices(const struct making *m) {
    return m->options->micro_batch && !m->base.input_gradient;
}

/* ---- a model -------------------------------------------------------------------------------- */

static neap_error *add_model_rows(struct making *m, const char *const *strategies, size_t n) {
    bool searched = false;
    TRY(add_fixed(m, "none"));
    for (size_t i = 0; i < n; i++) {
        bool is_auto = !strcmp(strategies[i], "auto");
        searched = searched || is_auto;
        if (is_auto)
            TRY(add_limits(m, false));
        else if (strcmp(strategies[i], "none"))
            TRY(add_fixed(m, strategies[i]));
    }
    bool limited = m->bench->n_arenas + m->bench->n_memories || m->options->micro_batch;
    if (limited && !searched)
        return error_make(NEAP_ERROR_USAGE, "limits and slices are for the strategy 'auto', which "
                                            "is not among those to measure");
    return wants_slices(m) ? add_limits(m, true) : NULL;
}

static neap_error *fill_from_model(struct making *m, const struct neap_published *published) {
    const char **strategies;
    size_t n;
    (void)published;
    TRY(split(&m->list->pool, "--strategies",
              m->bench->strategies ? m->bench->strategies : default_strategies, &strategies, &n));
    return add_model_rows(m, strategies, n);
}

/* ---- a suite -------------------------------------------------------------------------------- */

static double scale_of(const struct neap_bench_options *b) {
    return b->scale > 0 ? b->scale : 1;
}

static neap_error *add_at_overhead(struct making *m, double overhead) {
    struct neap_options o = m->base;
    const char *flags;
    o.max_overhead = overhead_margin * overhead;
    TRY(pool_format(&m->list->pool, &flags, "--max-overhead %.4g%%", 100 * o.max_overhead));
    return add_row(m, &o, "overhead", flags);
}

static neap_error *fill_from_published(struct making *m, const struct neap_published *p) {
    double bytes = scale_of(m->bench) * (double)p->arena_mib * (1 << 20);
    const struct neap_size arena = {.kind = NEAP_SIZE_BYTES, .bytes = (int64_t)bytes};
    TRY(add_fixed(m, "none"));
    TRY(add_at_size(m, &arena, true, false));
    TRY(add_at_overhead(m, p->overhead));
    return wants_slices(m) ? add_at_size(m, &arena, true, true) : NULL;
}

/* Forward and backward alone, as published. */
static neap_error *set_published(struct neap_options *o, const struct neap_bench_options *b,
                                 const struct neap_published *p) {
    double batch = scale_of(b) * (double)p->batch;
    if (batch != floor(batch))
        return error_make(NEAP_ERROR_USAGE,
                          "%s at %g of its batch of %lld is no whole number of samples", p->network,
                          scale_of(b), (long long)p->batch);
    o->model = p->network;
    o->batch = (int64_t)batch;
    o->img_size = p->image_size;
    o->optimizer = "none";
    o->dropout = 0;
    return NULL;
}

/* ---- together ------------------------------------------------------------------------------- */

static neap_error *add_groups(struct making *m, const char *precisions,
                              const struct neap_published *published,
                              neap_error *(*fill)(struct making *m,
                                                  const struct neap_published *published)) {
    struct bench_list *list = m->list;
    const char **words;
    size_t n;
    TRY(split(&list->pool, "--precision", precisions, &words, &n));
    for (size_t i = 0; i < n; i++)
        for (int with = 0; with <= m->options->input_gradient; with++) {
            TRY(memory_grow(&list->groups, &list->capacity, list->n + 1, sizeof *list->groups));
            m->group = &list->groups[list->n++];
            *m->group = (struct bench_group){0};
            m->base.precision = words[i];
            m->base.input_gradient = with;
            TRY(fill(m, published));
        }
    return NULL;
}

/* *out NULL: all of them. */
static neap_error *find_networks(struct making *m, const char ***out, size_t *n) {
    const struct neap_bench_options *b = m->bench;
    *out = NULL;
    *n = 0;
    if (!neap_published_at(b->suite, 0))
        return error_make(NEAP_ERROR_USAGE, "unknown suite '%s': there is ogc", b->suite);
    if (!b->networks)
        return NULL;
    TRY(split(&m->list->pool, "--networks", b->networks, out, n));
    for (size_t i = 0; i < *n; i++) {
        size_t p = 0;
        while (neap_published_at(b->suite, p) &&
               strcmp(neap_published_at(b->suite, p)->network, (*out)[i]))
            p++;
        if (!neap_published_at(b->suite, p))
            return error_make(NEAP_ERROR_USAGE, "'%s' is no network of the suite '%s'", (*out)[i],
                              b->suite);
    }
    return NULL;
}

static bool is_listed(const char *name, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(words[i], name))
            return true;
    return !words;
}

static neap_error *make(struct making *m) {
    const struct neap_bench_options *b = m->bench;
    const char *precisions = b->precisions ? b->precisions : m->options->precision, **networks;
    size_t n;
    m->base = *m->options;
    m->base.micro_batch = 0;
    m->base.memory = m->base.arena = (struct neap_size){0};
    m->base.max_overhead = -1;
    m->base.recompute = "auto";
    if (!b->suite)
        return add_groups(m, precisions, NULL, fill_from_model);
    TRY(find_networks(m, &networks, &n));
    const struct neap_published *p;
    for (size_t i = 0; (p = neap_published_at(b->suite, i)); i++)
        if (is_listed(p->network, networks, n)) {
            TRY(set_published(&m->base, b, p));
            TRY(add_groups(m, precisions, p, fill_from_published));
        }
    return NULL;
}

neap_error *bench_list_make(const struct neap_options *options,
                            const struct neap_bench_options *bench, struct bench_list *out) {
    struct making m = {.list = out, .options = options, .bench = bench};
    *out = (struct bench_list){0};
    neap_error *error = make(&m);
    if (error)
        bench_list_free(out);
    return error;
}

void bench_list_free(struct bench_list *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->groups[i].jobs);
    free(list->groups);
    pool_free(&list->pool);
    *list = (struct bench_list){0};
}
