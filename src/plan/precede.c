/* precede: which op's first execution comes before which other's in every schedule.
 *
 * An op comes after those whose work it reads, in values of any kind; before the op that updates
 * what it reads, if what it reads cannot be made once more; the update's part comes after the rest.
 * What follows from these, transitively, is kept as two bit sets per op. Where first executions
 * keep the base order, all is known without. */
#include "plan/precede.h"

#include <stdlib.h>

/* The walk over the base order. */
struct walk {
    uint32_t *left_by;      /* by value: the op whose work it holds; PLAN_NONE */
    uint32_t *next_updater; /* by place in ids */
};

static bool accesses(const struct plan_problem *p, uint32_t o, uint32_t value) {
    const struct plan_op *op = &p->ops[o];
    for (uint32_t i = 0; i < op->inputs.n + op->updates.n; i++) {
        uint32_t place =
            i < op->inputs.n ? op->inputs.first + i : op->updates.first + i - op->inputs.n;
        if (p->ids[place] == value)
            return true;
    }
    return false;
}

static bool all_access(const struct precede *r, uint32_t o, uint32_t value) {
    for (; o != PLAN_NONE; o = r->next[o])
        if (!accesses(r->problem, o, value))
            return false;
    return true;
}

static void note_read(struct precede *r, const struct walk *walk, uint32_t o, uint32_t place) {
    uint32_t value = r->problem->ids[place];
    for (uint32_t i = r->first_read[o]; i < r->n_reads; i++)
        if (r->reads[i].value == value)
            return;
    if (!all_access(r, r->next[o], value))
        return;
    uint32_t source = walk->left_by[value], ended_by = walk->next_updater[place];
    if (source != PLAN_NONE && !plan_op_once(&r->problem->ops[source]))
        ended_by = PLAN_NONE; /* the source could make it once more for this reader */
    r->reads[r->n_reads++] = (struct plan_read){value, o, source, ended_by, PLAN_NONE};
}

static void leave(const struct plan_problem *p, struct plan_span span, uint32_t o,
                  uint32_t *left_by) {
    for (uint32_t i = span.first; i < span.first + span.n; i++)
        left_by[p->ids[i]] = o;
}

/* The next op behind each access that writes the value, if that is an update. */
static void find_updaters(const struct plan_problem *p, struct walk *walk) {
    for (uint32_t v = 0; v < p->n_values; v++)
        walk->left_by[v] = PLAN_NONE;
    for (uint32_t o = p->n_ops; o-- > 0;) {
        const struct plan_op *op = &p->ops[o];
        for (uint32_t i = op->inputs.first; i < op->inputs.first + op->inputs.n; i++)
            walk->next_updater[i] = walk->left_by[p->ids[i]];
        for (uint32_t i = op->updates.first; i < op->updates.first + op->updates.n; i++)
            walk->next_updater[i] = walk->left_by[p->ids[i]];
        leave(p, op->outputs, PLAN_NONE, walk->left_by);
        leave(p, op->updates, o, walk->left_by);
    }
}

static neap_error *find_reads(struct precede *r) {
    const struct plan_problem *p = r->problem;
    struct walk walk = {0};
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(p->n_values, sizeof *walk.left_by, &walk.left_by));
    TRY_GOTO(memory_alloc(p->n_ids, sizeof *walk.next_updater, &walk.next_updater));
    find_updaters(p, &walk);
    for (uint32_t v = 0; v < p->n_values; v++)
        walk.left_by[v] = PLAN_NONE;
    for (uint32_t o = 0; o < p->n_ops; o++) {
        const struct plan_op *op = &p->ops[o];
        r->first_read[o] = r->n_reads;
        for (uint32_t i = op->inputs.first; i < op->inputs.first + op->inputs.n; i++)
            note_read(r, &walk, o, i);
        for (uint32_t i = op->updates.first; i < op->updates.first + op->updates.n; i++)
            note_read(r, &walk, o, i);
        leave(p, op->updates, o, walk.left_by);
        leave(p, op->outputs, o, walk.left_by);
    }
    r->first_read[p->n_ops] = r->n_reads;
done:
    free(walk.left_by);
    free(walk.next_updater);
    return error;
}

static int by_work(const void *a, const void *b) {
    const struct plan_read *x = *(struct plan_read *const *)a, *y = *(struct plan_read *const *)b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->reader > y->reader) - (x->reader < y->reader);
}

/* Reads of the same work come together. */
static neap_error *find_works(struct precede *r) {
    const struct plan_problem *p = r->problem;
    struct plan_read **sorted;
    uint32_t n = 0;
    TRY(memory_alloc(r->n_reads, sizeof *sorted, &sorted));
    for (uint32_t i = 0; i < r->n_reads; i++) {
        if (!p->values[r->reads[i].value].persistent)
            sorted[n++] = &r->reads[i];
    }
    qsort(sorted, n, sizeof *sorted, by_work);
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_read *last = i ? sorted[i - 1] : NULL;
        if (!last || last->source != sorted[i]->source || last->value != sorted[i]->value) {
            uint32_t source = sorted[i]->source;
            r->works[r->n_works++] = (struct plan_work){sorted[i]->value, source, {i, 0}};
            r->first_work[(source == PLAN_NONE ? p->n_ops : source) + 1]++;
        }
        sorted[i]->work = r->n_works - 1;
        r->readers[i] = sorted[i]->reader;
        r->works[r->n_works - 1].readers.n++;
    }
    for (uint32_t o = 0; o <= p->n_ops; o++)
        r->first_work[o + 1] += r->first_work[o];
    free(sorted);
    return NULL;
}

/* `from`, and all that is in its row, goes into the row of `to`. */
static void absorb(const struct precede *r, uint64_t *set, uint32_t to, uint32_t from) {
    for (size_t i = 0; i < r->words; i++)
        set[to * r->words + i] |= set[from * r->words + i];
    set[to * r->words + from / 64] |= (uint64_t)1 << (from % 64);
}

static void absorb_other_part(const struct precede *r, uint64_t *set, uint32_t to) {
    const struct plan_problem *p = r->problem;
    for (uint32_t o = 0; o < p->n_ops; o++)
        if (p->ops[o].update_part != p->ops[to].update_part)
            set[to * r->words + o / 64] |= (uint64_t)1 << (o % 64);
}

/* The base order is a topological one. */
static void relate(struct precede *r) {
    const struct plan_problem *p = r->problem;
    for (uint32_t o = 0; o < p->n_ops; o++) {
        if (p->ops[o].update_part)
            absorb_other_part(r, r->before, o);
        for (uint32_t i = r->first_read[o]; i < r->first_read[o + 1]; i++)
            if (r->reads[i].source != PLAN_NONE)
                absorb(r, r->before, o, r->reads[i].source);
        for (uint32_t i = r->first_read[o]; i < r->first_read[o + 1]; i++)
            if (r->reads[i].ended_by != PLAN_NONE)
                absorb(r, r->before, r->reads[i].ended_by, o);
    }
    for (uint32_t o = p->n_ops; o-- > 0;) {
        if (!p->ops[o].update_part)
            absorb_other_part(r, r->after, o);
        for (uint32_t i = r->first_read[o]; i < r->first_read[o + 1]; i++)
            if (r->reads[i].ended_by != PLAN_NONE)
                absorb(r, r->after, o, r->reads[i].ended_by);
        for (uint32_t i = r->first_read[o]; i < r->first_read[o + 1]; i++)
            if (r->reads[i].source != PLAN_NONE)
                absorb(r, r->after, r->reads[i].source, o);
    }
}

bool precede_sealed(const struct precede *r, uint32_t w, uint32_t o) {
    const struct plan_problem *p = r->problem;
    if (p->ops[w].update_part && !p->ops[o].update_part)
        return true;
    for (uint32_t i = r->first_read[o]; i < r->first_read[o + 1]; i++) {
        uint32_t end = r->reads[i].ended_by;
        if (end != PLAN_NONE && (end == w || precede_before(r, w, end)))
            return true;
    }
    return false;
}

static neap_error *chain_implementations(struct precede *r) {
    const struct plan_problem *p = r->problem;
    uint32_t n = p->n_ops + p->n_alternatives;
    TRY(memory_alloc(n, sizeof *r->next, &r->next));
    for (uint32_t o = 0; o < n; o++)
        r->next[o] = PLAN_NONE;
    for (uint32_t a = n; a-- > p->n_ops;) {
        r->next[a] = r->next[plan_primary(p, a)];
        r->next[plan_primary(p, a)] = a;
    }
    return NULL;
}

neap_error *precede_open(const struct plan_problem *problem, bool fixed_order, struct precede *r) {
    size_t n_ops = problem->n_ops;
    neap_error *error = NULL;
    *r = (struct precede){
        .problem = problem, .fixed_order = fixed_order, .words = (n_ops + 63) / 64};
    TRY_GOTO(chain_implementations(r));
    TRY_GOTO(memory_alloc(problem->n_ids, sizeof *r->reads, &r->reads));
    TRY_GOTO(memory_alloc(n_ops + 1, sizeof *r->first_read, &r->first_read));
    TRY_GOTO(find_reads(r));
    TRY_GOTO(memory_alloc(r->n_reads, sizeof *r->works, &r->works));
    TRY_GOTO(memory_alloc(r->n_reads, sizeof *r->readers, &r->readers));
    TRY_GOTO(memory_alloc(n_ops + 2, sizeof *r->first_work, &r->first_work));
    TRY_GOTO(find_works(r));
    if (!fixed_order) {
        TRY_GOTO(memory_alloc(n_ops * r->words, sizeof *r->before, &r->before));
        TRY_GOTO(memory_alloc(n_ops * r->words, sizeof *r->after, &r->after));
        relate(r);
    }
done:
    if (error)
        precede_close(r);
    return error;
}

void precede_close(struct precede *r) {
    free(r->next);
    free(r->reads);
    free(r->first_read);
    free(r->works);
    free(r->first_work);
    free(r->readers);
    free(r->before);
    free(r->after);
    *r = (struct precede){0};
}
