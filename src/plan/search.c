#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/anneal.h"
#include "plan/greedy.h"
#include "plan/order.h"

enum {
    POOL = 8,           /* schedules kept */
    BEAM_WORK = 1 << 27 /* steps that beam search may take, about */
};

struct entry {
    struct plan_schedule schedule;
    struct plan_measure measure;
};

struct search {
    const struct plan_problem *problem;
    const struct plan_request *request;
    struct sequence *sequence;
    struct entry pool[POOL + 1]; /* best first; one more for what is offered */
    size_t n;
    int64_t target_bytes;
    double least_seconds, total_seconds; /* by the bound; of one run of each op */
};

neap_error *search_create(const struct plan_problem *problem, const struct plan_request *request,
                          struct search **out) {
    struct search *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->problem = problem;
    s->request = request;
    s->target_bytes = request->budget_bytes;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        s->total_seconds += problem->ops[o].seconds;
    neap_error *error = sequence_create(problem, request->fixed_order, &s->sequence);
    if (error) {
        search_free(s);
        s = NULL;
    }
    *out = s;
    return error;
}

void search_free(struct search *s) {
    if (!s)
        return;
    for (size_t i = 0; i <= POOL; i++)
        plan_schedule_free(&s->pool[i].schedule);
    sequence_free(s->sequence);
    free(s);
}

const struct plan_schedule *search_best(const struct search *s) {
    return &s->pool[0].schedule;
}

int64_t search_peak(const struct search *s) {
    return s->pool[0].measure.peak_bytes;
}

/* ---- the pool ------------------------------------------------------------------------------- */

static bool before(const struct search *s, const struct plan_measure *a,
                   const struct plan_measure *b) {
    bool within = a->peak_bytes <= s->target_bytes, other = b->peak_bytes <= s->target_bytes;
    if (within != other)
        return within;
    if (within && a->seconds != b->seconds)
        return a->seconds < b->seconds;
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes;
    return a->seconds < b->seconds;
}

static void sort_pool(struct search *s) {
    for (size_t i = 1; i < s->n; i++)
        for (size_t j = i; j > 0 && before(s, &s->pool[j].measure, &s->pool[j - 1].measure); j--) {
            struct entry entry = s->pool[j];
            s->pool[j] = s->pool[j - 1];
            s->pool[j - 1] = entry;
        }
}

neap_error *search_offer(struct search *s, const struct plan_schedule *schedule) {
    struct entry *entry = &s->pool[s->n];
    if (!schedule->n)
        return NULL;
    TRY(plan_replay(s->problem, schedule, &entry->measure, NULL));
    for (size_t i = 0; i < s->n; i++)
        if (s->pool[i].measure.seconds == entry->measure.seconds &&
            s->pool[i].measure.peak_bytes == entry->measure.peak_bytes)
            return NULL;
    TRY(plan_schedule_copy(&entry->schedule, schedule));
    s->n++;
    sort_pool(s);
    s->n = s->n < POOL ? s->n : POOL;
    return NULL;
}

static void aim(struct search *s, int64_t target_bytes) {
    s->target_bytes = target_bytes;
    sort_pool(s);
}

/* Nothing better can be found: the best is within the target and as fast as the bound allows. */
static bool proven(const struct search *s) {
    return s->n && s->pool[0].measure.peak_bytes <= s->target_bytes &&
           s->pool[0].measure.seconds <= s->least_seconds;
}

/* ---- seeds ---------------------------------------------------------------------------------- */

static neap_error *seed_orders(struct search *s) {
    static const double aims[] = {0.9, 0.75}; /* of the base order's peak */
    const struct plan_problem *p = s->problem;
    struct plan_schedule schedule = {0}, base = {0};
    neap_error *error;
    uint64_t width = BEAM_WORK / ((uint64_t)p->n_ops * p->n_ops + 1);
    width = width < 1 ? 1 : width > 64 ? 64 : width;
    TRY_GOTO(plan_schedule_copy(&base, search_best(s)));
    int64_t peak = s->pool[0].measure.peak_bytes;
    TRY_GOTO(plan_order_beam(p, (uint32_t)width, &schedule));
    TRY_GOTO(search_offer(s, &schedule));
    for (int i = 0; i < 2 && !plan_stopped(s->request); i++) {
        const struct anneal_request request = {.budget_bytes = (int64_t)(aims[i] * (double)peak),
                                               .moves = s->request->moves / 12,
                                               .seed = s->request->seed + (uint64_t)i,
                                               .hot = 0.03,
                                               .cold = 0.001,
                                               .order_only = true,
                                               .stop = s->request->stop,
                                               .stop_context = s->request->stop_context};
        TRY_GOTO(plan_schedule_copy(&schedule, &base));
        TRY_GOTO(anneal(s->sequence, &request, &schedule));
        TRY_GOTO(search_offer(s, &schedule));
    }
done:
    plan_schedule_free(&schedule);
    plan_schedule_free(&base);
    return error;
}

/* Greedy from everything in the pool that is over the target, and from the base order. */
static neap_error *seed_greedily(struct search *s) {
    struct plan_schedule found[POOL] = {0};
    size_t n = s->n;
    neap_error *error = NULL;
    for (size_t i = 0; i < n; i++)
        TRY_GOTO(plan_schedule_copy(&found[i], &s->pool[i].schedule));
    for (size_t i = 0; i < n && !proven(s); i++) {
        if (i && plan_stopped(s->request))
            break;
        TRY_GOTO(plan_greedy(s->sequence, s->target_bytes, &found[i]));
        TRY_GOTO(search_offer(s, &found[i]));
    }
done:
    for (size_t i = 0; i < n; i++)
        plan_schedule_free(&found[i]);
    return error;
}

neap_error *search_seed(struct search *s, int64_t target_bytes) {
    struct plan_bound bound;
    aim(s, target_bytes);
    TRY(plan_bound(s->problem, target_bytes, &bound));
    s->least_seconds = s->total_seconds * (1 + 1e-9) + bound.extra_seconds;
    if (proven(s))
        return NULL;
    if (!s->request->fixed_order)
        TRY(seed_orders(s));
    return proven(s) ? NULL : seed_greedily(s);
}

/* ---- local search --------------------------------------------------------------------------- */

/* Rounds of annealing: whence, how hot, and which part of the moves. */
static const struct round {
    size_t from; /* place in the pool */
    double hot, share;
} rounds[] = {
    {0, .3, .1}, {1, .3, .1}, {2, 1, .1}, {0, 1, .4}, {0, .3, .2}, {0, .03, .1},
};
enum { N_ROUNDS = sizeof rounds / sizeof *rounds };

neap_error *search_improve(struct search *s, int64_t target_bytes, uint64_t moves) {
    struct plan_schedule schedule = {0};
    neap_error *error = NULL;
    aim(s, target_bytes);
    double gap = (s->pool[0].measure.seconds - s->least_seconds) / s->total_seconds;
    double scale =
        s->pool[0].measure.peak_bytes > target_bytes ? 0.01 : fmin(0.01, fmax(gap, 2e-4));
    for (size_t r = 0; r < N_ROUNDS && !proven(s) && !plan_stopped(s->request); r++) {
        const struct anneal_request request = {.budget_bytes = target_bytes,
                                               .moves = (uint64_t)(rounds[r].share * (double)moves),
                                               .seed = s->request->seed * N_ROUNDS + r,
                                               .hot = scale * rounds[r].hot,
                                               .cold = scale * rounds[r].hot / 1000,
                                               .enough_seconds = s->least_seconds,
                                               .stop = s->request->stop,
                                               .stop_context = s->request->stop_context};
        size_t from = rounds[r].from < s->n ? rounds[r].from : 0;
        TRY_GOTO(plan_schedule_copy(&schedule, &s->pool[from].schedule));
        TRY_GOTO(anneal(s->sequence, &request, &schedule));
        TRY_GOTO(search_offer(s, &schedule));
    }
done:
    plan_schedule_free(&schedule);
    return error;
}
