/* moment: what is live when an op first runs, whatever the schedule.
 *
 * Its inputs, outputs and scratch; and every value that was made before it in every schedule and is
 * read after it in every schedule, unless it is made again in between. In place, an output takes
 * the place of an input only where that input's life ends. So an input that is wanted later must be
 * made again for that; what this saves is counted for each such input on its own, on top of all
 * inputs that nobody is known to want. That is at least what they save together: the value of a
 * matching is submodular in the set of inputs.
 *
 * O(ops × readers) for a moment. */
#include "plan/moment.h"

#include <stdlib.h>
#include <string.h>

static int64_t bytes_of(const struct moment *m, uint32_t value) {
    const struct plan_value *v = &m->precede.problem->values[value];
    return v->persistent ? 0 : v->bytes;
}

bool moment_repeatable(const struct moment *m, const struct plan_work *work) {
    return work->source != PLAN_NONE && !plan_op_once(&m->precede.problem->ops[work->source]);
}

/* ---- the op's own values -------------------------------------------------------------------- */

static void give_role(struct moment *m, struct plan_span span, enum moment_role role) {
    for (uint32_t i = span.first; i < span.first + span.n; i++) {
        uint32_t v = m->precede.problem->ids[i];
        if (m->role[v] == MOMENT_OTHER)
            m->used_bytes += bytes_of(m, v);
        m->role[v] = (uint8_t)role;
        m->spare_bytes[v] = 0;
    }
}

/* Is what w reads there read again after w? */
static bool wanted_later(const struct moment *m, const struct plan_work *work) {
    for (uint32_t i = 0; i < work->readers.n; i++)
        if (precede_after(&m->precede, m->w, m->precede.readers[work->readers.first + i]))
            return true;
    return false;
}

static bool is_wanted_later(const struct moment *m, uint32_t value) {
    const struct precede *r = &m->precede;
    for (uint32_t i = r->first_read[m->w]; i < r->first_read[m->w + 1]; i++)
        if (r->reads[i].value == value)
            return r->problem->values[value].persistent ||
                   wanted_later(m, &r->works[r->reads[i].work]);
    return false;
}

static void find_spare_bytes(struct moment *m, const struct plan_op *op) {
    const struct plan_overwrite *pairs = &m->precede.problem->overwrites[op->first_overwrite];
    bool *stays = m->in_place.stays;
    for (uint32_t i = 0; i < op->n_overwrites; i++)
        stays[pairs[i].input] = is_wanted_later(m, pairs[i].input);
    int64_t shared_bytes = in_place_bytes(&m->in_place, op);
    m->used_bytes -= shared_bytes;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        if (!stays[pairs[i].input])
            continue;
        stays[pairs[i].input] = false;
        m->spare_bytes[pairs[i].input] = in_place_bytes(&m->in_place, op) - shared_bytes;
        stays[pairs[i].input] = true;
    }
}

static void use_values(struct moment *m) {
    const struct plan_op *op = &m->precede.problem->ops[m->by];
    memset(m->role, MOMENT_OTHER, m->precede.problem->n_values * sizeof *m->role);
    m->used_bytes = 0;
    give_role(m, op->inputs, MOMENT_READ);
    give_role(m, op->updates, MOMENT_READ);
    give_role(m, op->outputs, MOMENT_MADE);
    find_spare_bytes(m, op);
}

/* ---- values from before that are wanted after ------------------------------------------------ */

/* The bytes that are live unless the work is done again; adds to loose_bytes what may be live. */
static int64_t count_work(struct moment *m, const struct plan_work *work) {
    const struct precede *r = &m->precede;
    bool other = m->role[work->value] == MOMENT_OTHER, loose = false, wanted = false;
    for (uint32_t i = 0; i < work->readers.n && !wanted; i++) {
        uint32_t reader = r->readers[work->readers.first + i];
        wanted = precede_after(r, m->w, reader);
        loose = loose || wanted || (reader != m->w && !precede_before(r, m->w, reader));
    }
    if (loose && other)
        m->loose_bytes += bytes_of(m, work->value);
    if (!wanted || m->role[work->value] == MOMENT_MADE)
        return 0;
    return other ? bytes_of(m, work->value) : m->spare_bytes[work->value];
}

static void count_fixed(struct moment *m, const struct plan_work *work) {
    int64_t bytes = count_work(m, work);
    if (m->role[work->value] == MOMENT_OTHER)
        m->held_bytes += bytes;
}

/* One more execution of op o would bring back all that is wanted of it, if it may run again. */
static void count_repeatable(struct moment *m, uint32_t o, size_t *n_partial) {
    const struct precede *r = &m->precede;
    int64_t bytes = 0, spare_bytes = 0;
    for (uint32_t i = r->first_work[o]; i < r->first_work[o + 1]; i++) {
        int64_t more = count_work(m, &r->works[i]);
        bytes += more;
        spare_bytes += m->role[r->works[i].value] == MOMENT_OTHER ? 0 : more;
    }
    if (!bytes)
        return;
    if (precede_sealed(r, m->w, o)) {
        m->held_bytes += bytes - spare_bytes;
        return;
    }
    m->held_bytes -= spare_bytes;
    m->items_bytes += bytes;
    struct plan_item item = {m->cost[o], bytes, o};
    if (bytes == m->full_bytes[o])
        m->items[m->n_items++] = item;
    else
        m->partial[(*n_partial)++] = item;
}

/* Both by price already; from behind, so that no item is overwritten before it has moved. */
static void merge_partial(struct moment *m, size_t n_partial) {
    size_t from = m->n_items, to = m->n_items + n_partial;
    m->n_items = to;
    while (n_partial) {
        bool last = !from || knapsack_by_price(&m->items[from - 1], &m->partial[n_partial - 1]) < 0;
        m->items[--to] = last ? m->partial[--n_partial] : m->items[--from];
    }
}

void moment_set(struct moment *m, uint32_t w, uint32_t by) {
    const struct precede *r = &m->precede;
    const struct plan_problem *p = r->problem;
    size_t n_partial = 0;
    m->w = w;
    m->by = by;
    use_values(m);
    m->held_bytes = m->loose_bytes = m->used_bytes;
    m->items_bytes = 0;
    m->n_items = 0;
    for (uint32_t i = 0; i < m->n_repeatable; i++)
        if (precede_before(r, w, m->repeatable[i]))
            count_repeatable(m, m->repeatable[i], &n_partial);
    for (uint32_t o = 0; o < p->n_ops; o++)
        if (plan_op_once(&p->ops[o]) && precede_before(r, w, o))
            for (uint32_t i = r->first_work[o]; i < r->first_work[o + 1]; i++)
                count_fixed(m, &r->works[i]);
    for (uint32_t i = r->first_work[p->n_ops]; i < r->n_works; i++)
        count_fixed(m, &r->works[i]);
    qsort(m->partial, n_partial, sizeof *m->partial, knapsack_by_price);
    merge_partial(m, n_partial);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void sort_repeatable(struct moment *m) {
    const struct precede *r = &m->precede;
    for (uint32_t o = 0; o < r->problem->n_ops; o++) {
        for (uint32_t i = r->first_work[o]; i < r->first_work[o + 1]; i++)
            m->full_bytes[o] += bytes_of(m, r->works[i].value);
        if (m->full_bytes[o] && !plan_op_once(&r->problem->ops[o]))
            m->items[m->n_repeatable++] = (struct plan_item){m->cost[o], m->full_bytes[o], o};
    }
    qsort(m->items, m->n_repeatable, sizeof *m->items, knapsack_by_price);
    for (uint32_t i = 0; i < m->n_repeatable; i++)
        m->repeatable[i] = m->items[i].op;
}

neap_error *moment_open(const struct plan_problem *problem, bool fixed_order, const int64_t *cost,
                        struct moment *m) {
    neap_error *error = NULL;
    *m = (struct moment){.cost = cost};
    TRY_GOTO(precede_open(problem, fixed_order, &m->precede));
    TRY_GOTO(in_place_open(problem, &m->in_place));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *m->repeatable, &m->repeatable));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *m->full_bytes, &m->full_bytes));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *m->items, &m->items));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *m->partial, &m->partial));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *m->role, &m->role));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *m->spare_bytes, &m->spare_bytes));
    sort_repeatable(m);
done:
    if (error)
        moment_close(m);
    return error;
}

void moment_close(struct moment *m) {
    precede_close(&m->precede);
    in_place_close(&m->in_place);
    free(m->repeatable);
    free(m->full_bytes);
    free(m->items);
    free(m->partial);
    free(m->role);
    free(m->spare_bytes);
    *m = (struct moment){0};
}
