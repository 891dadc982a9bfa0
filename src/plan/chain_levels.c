/* Levels: which forward op each backward op belongs to.
 *
 *   forward a b c │ backward c'(reads c) b'(reads b, a) a'(reads a)   →   c' at c, b' at b, a' at a
 *
 * A backward op is best placed at an op where what it reads is in memory anyway: from the producer
 * of a value to its last reader in forward. Bytes times distance from there, summed over all reads,
 * is least subject to levels never rising along the backward: an isotonic regression, solved in
 * O(reads × log reads) by keeping the falling part of a convex function's slope in a heap. One read
 * of a far value, as of a skip connection, is outvoted by its neighbours. An op that updates a
 * weight is never at a deeper level than the first forward op that reads it.
 *
 * Where every op is forward (a bare problem), the border is found from how much lives across each
 * op. */
#include <stdlib.h>
#include <string.h>

#include "plan/chain.h"

/* The border of a problem without phases: behind the op that the most bytes live across. 0 where
 * they are not even half of what was made until then: a training step reads nearly all again. */
static neap_error *find_turn(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    uint32_t *last;
    int64_t *change, across = 0, made = 0, most = 0, made_then = 0;
    TRY(memory_alloc(p->n_values, sizeof *last, &last));
    neap_error *error = memory_alloc(p->n_ops + 1, sizeof *change, &change);
    for (uint32_t o = 0; o < p->n_ops && !error; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            last[p->ids[p->ops[o].inputs.first + i]] = o;
    for (uint32_t v = 0; v < p->n_values && !error; v++) {
        uint32_t producer = p->values[v].producer;
        if (producer == PLAN_NONE || last[v] <= producer)
            continue;
        change[producer + 1] += p->values[v].bytes;
        change[last[v]] -= p->values[v].bytes;
    }
    for (uint32_t o = 0; o < p->n_ops && !error; o++) {
        across += change[o];
        if (across > most) {
            most = across;
            made_then = made;
            chain->border = o + 1;
        }
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++)
            made += p->values[p->ids[p->ops[o].outputs.first + i]].bytes;
    }
    if (most < made_then / 2)
        chain->border = 0;
    free(change);
    free(last);
    return error;
}

static neap_error *find_border(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    while (chain->border < p->n_ops && p->ops[chain->border].phase == PLAN_FORWARD)
        chain->border++;
    if (chain->border < p->n_ops)
        return NULL;
    chain->border = 0;
    return find_turn(chain);
}

static void find_last_reads(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    for (uint32_t v = 0; v < p->n_values; v++)
        chain->last_read[v] = p->values[v].producer;
    for (uint32_t o = 0; o < chain->border; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            chain->last_read[p->ids[p->ops[o].inputs.first + i]] = o;
}

/* ---- isotonic regression, over positions that rise as levels fall --------------------------- */

struct bend {
    int64_t position;
    double slope; /* of the function, less before the position than behind it */
};

struct bends { /* a heap, the last position on top */
    struct bend *at;
    size_t n, capacity;
};

static neap_error *push(struct bends *bends, int64_t position, double slope) {
    TRY(memory_grow(&bends->at, &bends->capacity, bends->n + 1, sizeof *bends->at));
    size_t at = bends->n++;
    for (; at > 0 && bends->at[(at - 1) / 2].position < position; at = (at - 1) / 2)
        bends->at[at] = bends->at[(at - 1) / 2];
    bends->at[at] = (struct bend){position, slope};
    return NULL;
}

static void pop(struct bends *bends) {
    struct bend last = bends->at[--bends->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < bends->n; at = child) {
        if (child + 1 < bends->n && bends->at[child + 1].position > bends->at[child].position)
            child++;
        if (bends->at[child].position <= last.position)
            break;
        bends->at[at] = bends->at[child];
    }
    if (bends->n)
        bends->at[at] = last;
}

/* Cuts the rising part of the function off: what comes behind may be at any later position. */
static void flatten(struct bends *bends, double rising) {
    while (rising > 0 && bends->n) {
        if (bends->at[0].slope > rising) {
            bends->at[0].slope -= rising;
            return;
        }
        rising -= bends->at[0].slope;
        pop(bends);
    }
}

/* Adds what op o costs by its level. first_touch: by persistent value, the first forward op that
 * reads it; `barrier` outweighs all bytes. */
static neap_error *add_op(const struct chain *chain, uint32_t o, const uint32_t *first_touch,
                          double barrier, struct bends *bends) {
    const struct plan_problem *p = chain->problem;
    const struct plan_op *op = &p->ops[o];
    double rising = 0;
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        uint32_t v = p->ids[op->inputs.first + i], producer = p->values[v].producer;
        if (producer >= chain->border || plan_op_once(&p->ops[producer]))
            continue;
        TRY(push(bends, -(int64_t)chain->last_read[v], (double)p->values[v].bytes));
        TRY(push(bends, -(int64_t)producer, (double)p->values[v].bytes));
        rising += (double)p->values[v].bytes;
    }
    for (uint32_t i = 0; i < op->updates.n; i++) {
        uint32_t touch = first_touch[p->ids[op->updates.first + i]];
        if (touch != PLAN_NONE)
            TRY(push(bends, -(int64_t)touch, barrier));
    }
    if (op->update_part)
        TRY(push(bends, 0, barrier));
    flatten(bends, rising);
    return NULL;
}

static neap_error *fit_levels(struct chain *chain, const uint32_t *first_touch, double barrier) {
    const struct plan_problem *p = chain->problem;
    struct bends bends = {0};
    neap_error *error = NULL;
    for (uint32_t o = chain->border; o < p->n_ops && !error; o++) {
        error = add_op(chain, o, first_touch, barrier, &bends);
        chain->level[o] = bends.n ? (uint32_t)-bends.at[0].position : chain->border - 1;
    }
    for (uint32_t o = p->n_ops; o-- > chain->border + 1;)
        if (chain->level[o - 1] < chain->level[o])
            chain->level[o - 1] = chain->level[o];
    free(bends.at);
    return error;
}

neap_error *chain_find_levels(struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    uint32_t *first_touch;
    double barrier = 1;
    TRY(find_border(chain));
    if (chain->border == 0)
        return NULL;
    TRY(pool_alloc(&chain->pool, p->n_ops, sizeof *chain->level, &chain->level));
    TRY(pool_alloc(&chain->pool, p->n_values, sizeof *chain->last_read, &chain->last_read));
    find_last_reads(chain);
    TRY(memory_alloc(p->n_values, sizeof *first_touch, &first_touch));
    memset(first_touch, 0xff, p->n_values * sizeof *first_touch); /* PLAN_NONE */
    for (uint32_t o = p->n_ops; o-- > 0;)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].inputs.first + i];
            barrier += (double)p->values[v].bytes;
            if (o < chain->border && p->values[v].persistent)
                first_touch[v] = o;
        }
    neap_error *error = fit_levels(chain, first_touch, barrier);
    free(first_touch);
    return error;
}
