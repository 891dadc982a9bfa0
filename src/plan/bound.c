/* bound: what no schedule can beat, whatever its order and however often it recomputes.
 *
 * When op w first runs, its inputs, outputs and scratch are live. Every value that w's ancestors
 * made and that a descendant of w will read is in memory too, or will be made again. So the bytes
 * beyond the budget must come from values made again: at least the cheapest set of their producers
 * whose outputs cover them, a knapsack, of which the fractional solution is a bound. What cannot be
 * made again must be live: that bounds the peak. The largest over all w counts.
 *
 * In-place execution is granted wherever an op may do it. Ancestors and descendants are bit sets:
 * n² / 4 bytes for n ops, and O(n × edges) time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* Values that one more run of an op would bring back. */
struct item {
    double seconds;
    int64_t bytes;
};

struct bound {
    const struct plan_problem *problem;
    size_t words;                      /* of 64 ops in a row of the bit sets */
    uint64_t *ancestors, *descendants; /* by op, itself not included */
    int64_t *item_bytes;               /* by op: outputs that are wanted behind w */
    struct item *items;
};

static bool has(const struct bound *b, const uint64_t *set, uint32_t row, uint32_t op) {
    return set[row * b->words + op / 64] >> (op % 64) & 1;
}

/* from, and all that is in its row, goes into to's row. */
static void absorb(const struct bound *b, uint64_t *set, uint32_t to, uint32_t from) {
    for (size_t i = 0; i < b->words; i++)
        set[to * b->words + i] |= set[from * b->words + i];
    set[to * b->words + from / 64] |= (uint64_t)1 << (from % 64);
}

static uint32_t producer_of(const struct plan_problem *p, uint32_t input) {
    return p->values[p->ids[input]].producer;
}

/* The base order is a topological one. */
static void relate(struct bound *b) {
    const struct plan_problem *p = b->problem;
    for (uint32_t o = 0; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t producer = producer_of(p, p->ops[o].inputs.first + i);
            if (producer != PLAN_NONE)
                absorb(b, b->ancestors, o, producer);
        }
    for (uint32_t o = p->n_ops; o-- > 0;)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t producer = producer_of(p, p->ops[o].inputs.first + i);
            if (producer != PLAN_NONE)
                absorb(b, b->descendants, producer, o);
        }
}

static int64_t bytes_of(const struct plan_problem *p, struct plan_span span) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < span.n; i++) {
        const struct plan_value *value = &p->values[p->ids[span.first + i]];
        bytes += value->persistent ? 0 : value->bytes;
    }
    return bytes;
}

/* What is live while the op runs, less all that in-place execution could save. */
static int64_t working_bytes(const struct plan_problem *p, const struct plan_op *op) {
    int64_t outputs = bytes_of(p, op->outputs), saved = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++)
        saved += p->values[p->overwrites[op->first_overwrite + i].output].bytes;
    return bytes_of(p, op->inputs) + outputs - (saved < outputs ? saved : outputs);
}

static bool reads(const struct plan_problem *p, const struct plan_op *op, uint32_t value) {
    for (uint32_t i = 0; i < op->inputs.n; i++)
        if (p->ids[op->inputs.first + i] == value)
            return true;
    return false;
}

/* Marks, op by op, what descendants of w read of what was there before it; *fixed_bytes: of that,
 * what cannot be made again. Each value is counted by the first reader that wants it. */
static void find_wanted(struct bound *b, uint32_t w, bool *counted, int64_t *fixed_bytes) {
    const struct plan_problem *p = b->problem;
    memset(b->item_bytes, 0, p->n_ops * sizeof *b->item_bytes);
    memset(counted, 0, p->n_values * sizeof *counted);
    *fixed_bytes = 0;
    for (uint32_t d = 0; d < p->n_ops; d++) {
        if (!has(b, b->descendants, w, d))
            continue;
        for (uint32_t i = 0; i < p->ops[d].inputs.n; i++) {
            uint32_t v = p->ids[p->ops[d].inputs.first + i];
            const struct plan_value *value = &p->values[v];
            bool before = value->input || (value->producer != PLAN_NONE &&
                                           has(b, b->ancestors, w, value->producer));
            if (counted[v] || value->persistent || !before || reads(p, &p->ops[w], v))
                continue;
            counted[v] = true;
            bool again = !value->input && !plan_op_once(&p->ops[value->producer]);
            *(again ? &b->item_bytes[value->producer] : fixed_bytes) += value->bytes;
        }
    }
}

static int by_price(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    double left = x->seconds * (double)y->bytes, right = y->seconds * (double)x->bytes;
    return (left > right) - (left < right);
}

/* The least seconds, in fractions of items, that cover `bytes`. */
static double cover(struct bound *b, int64_t bytes) {
    size_t n = 0;
    double seconds = 0;
    if (bytes <= 0)
        return 0;
    for (uint32_t o = 0; o < b->problem->n_ops; o++)
        if (b->item_bytes[o])
            b->items[n++] = (struct item){b->problem->ops[o].seconds, b->item_bytes[o]};
    qsort(b->items, n, sizeof *b->items, by_price);
    for (size_t i = 0; i < n; i++) {
        if (b->items[i].bytes >= bytes)
            return seconds + b->items[i].seconds * (double)bytes / (double)b->items[i].bytes;
        seconds += b->items[i].seconds;
        bytes -= b->items[i].bytes;
    }
    return INFINITY;
}

neap_error *plan_bound(const struct plan_problem *problem, int64_t budget_bytes,
                       struct plan_bound *out) {
    struct bound b = {.problem = problem, .words = (problem->n_ops + 63) / 64};
    bool *counted = NULL;
    neap_error *error = NULL;
    *out = (struct plan_bound){0};
    TRY_GOTO(memory_alloc(problem->n_ops * b.words, sizeof *b.ancestors, &b.ancestors));
    TRY_GOTO(memory_alloc(problem->n_ops * b.words, sizeof *b.descendants, &b.descendants));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *b.item_bytes, &b.item_bytes));
    TRY_GOTO(memory_alloc(problem->n_ops, sizeof *b.items, &b.items));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *counted, &counted));
    relate(&b);
    for (uint32_t w = 0; w < problem->n_ops; w++) {
        int64_t fixed, wanted = 0;
        find_wanted(&b, w, counted, &fixed);
        int64_t live = working_bytes(problem, &problem->ops[w]) + fixed;
        for (uint32_t o = 0; o < problem->n_ops; o++)
            wanted += b.item_bytes[o];
        out->floor_bytes = live > out->floor_bytes ? live : out->floor_bytes;
        out->extra_seconds = fmax(out->extra_seconds, cover(&b, live + wanted - budget_bytes));
    }
done:
    free(b.ancestors);
    free(b.descendants);
    free(b.item_bytes);
    free(b.items);
    free(counted);
    return error;
}
