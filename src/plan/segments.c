/* segments: checkpointing as Chen et al. (2016) and torch's checkpoint_sequential do it, on any
 * graph that has single-tensor cuts before the border; what has no phases is divided where keeping
 * everything needs the most memory (see plan_border).
 *
 * A cut behind op c is a place in the forward's base order which only one tensor crosses (small
 * ones and inputs, which are kept anyway, not counted). Segments lie between chosen cuts; what is
 * made inside a segment but the last is dropped, the tensors at the cuts are kept. Which cuts: the
 * smallest largest segment, by binary search on its bytes. */
#include <stdlib.h>

#include "plan/plan.h"

struct cuts {
    uint32_t *after; /* op before each cut, ascending */
    int64_t n;
    bool *droppable;
    int64_t small_bytes; /* values up to this are always kept: dropping them frees nothing */
    int64_t *made_bytes; /* by op: droppable bytes that the ops before it make */
    uint32_t border;
};

static void free_cuts(struct cuts *cuts) {
    free(cuts->after);
    free(cuts->droppable);
    free(cuts->made_bytes);
}

static int64_t small_bytes(const struct plan_problem *p, const bool *droppable) {
    int64_t largest = 0;
    for (uint32_t v = 0; v < p->n_values; v++)
        if (droppable[v] && p->values[v].bytes > largest)
            largest = p->values[v].bytes;
    return largest / 1024;
}

static bool counts(const struct plan_problem *p, const struct cuts *cuts, uint32_t v) {
    return !p->values[v].persistent && !p->values[v].input &&
           p->values[v].bytes > cuts->small_bytes;
}

/* last[v]: the last forward op that reads v (its producer where none does). */
static neap_error *last_reads(const struct plan_problem *p, uint32_t border, uint32_t **last) {
    TRY(memory_alloc(p->n_values, sizeof **last, last));
    for (uint32_t o = 0; o < border; o++) {
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++)
            (*last)[p->ids[p->ops[o].outputs.first + i]] = o;
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            (*last)[p->ids[p->ops[o].inputs.first + i]] = o;
    }
    return NULL;
}

/* The one that counts of those that cross the cut behind op o. */
static uint32_t crossing_tensor(const struct plan_problem *p, const struct cuts *cuts,
                                const uint32_t *last, uint32_t o) {
    uint32_t v = 0;
    while (!(counts(p, cuts, v) && p->values[v].producer <= o && last[v] > o))
        v++;
    return v;
}

static neap_error *sum_made(const struct plan_problem *p, struct cuts *cuts) {
    TRY(memory_alloc(cuts->border + 1, sizeof *cuts->made_bytes, &cuts->made_bytes));
    for (uint32_t o = 0; o < cuts->border; o++) {
        cuts->made_bytes[o + 1] = cuts->made_bytes[o];
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].outputs.first + i];
            cuts->made_bytes[o + 1] += cuts->droppable[v] ? p->values[v].bytes : 0;
        }
    }
    return NULL;
}

/* Bytes made by ops first..end-1 that a recompute of them would hold. */
static int64_t segment_bytes(const struct cuts *cuts, uint32_t first, uint32_t end) {
    return cuts->made_bytes[end] - cuts->made_bytes[first];
}

static neap_error *find_cuts(const struct plan_problem *p, struct cuts *cuts) {
    uint32_t *last = NULL;
    int64_t *crossing = NULL;
    neap_error *error = NULL;
    *cuts = (struct cuts){.border = plan_border(p)};
    cuts->droppable = plan_droppable(p);
    if (!cuts->droppable)
        return error_memory(p->n_values);
    cuts->small_bytes = small_bytes(p, cuts->droppable);
    TRY_GOTO(last_reads(p, cuts->border, &last));
    TRY_GOTO(sum_made(p, cuts));
    TRY_GOTO(memory_alloc(cuts->border + 1, sizeof *crossing, &crossing));
    TRY_GOTO(memory_alloc(cuts->border + 1, sizeof *cuts->after, &cuts->after));
    for (uint32_t v = 0; v < p->n_values; v++) {
        uint32_t producer = p->values[v].producer;
        if (producer >= cuts->border || !counts(p, cuts, v))
            continue;
        crossing[producer]++;
        crossing[last[v]]--;
    }
    int64_t live = 0;
    uint32_t previous = PLAN_NONE;
    for (uint32_t o = 0; o + 1 < cuts->border; o++) {
        live += crossing[o];
        if (live != 1)
            continue;
        uint32_t tensor = crossing_tensor(p, cuts, last, o);
        if (tensor != previous) /* else an op beside the tensor: the cut is the same one */
            cuts->n++;
        cuts->after[cuts->n - 1] = o;
        previous = tensor;
    }
done:
    free(last);
    free(crossing);
    return error;
}

/* The fewest segments with at most `most` bytes each, as late cuts as possible; the cuts taken go
 * to `taken` (by cut). INT64_MAX where one segment alone is larger. */
static int64_t pack(const struct cuts *cuts, int64_t most, bool *taken) {
    int64_t segments = 1;
    uint32_t first = 0;
    int64_t previous = -1;
    for (int64_t c = 0; c <= cuts->n; c++) {
        taken[c] = false;
        uint32_t end = c < cuts->n ? cuts->after[c] + 1 : cuts->border;
        if (segment_bytes(cuts, first, end) <= most) {
            previous = c;
            continue;
        }
        if (previous < 0 || (previous >= 0 && cuts->after[previous] + 1 == first))
            return INT64_MAX;
        taken[previous] = true;
        first = cuts->after[previous] + 1;
        segments++;
        if (segment_bytes(cuts, first, end) > most)
            return INT64_MAX;
        previous = c;
    }
    return segments;
}

/* Splits further, largest segment first, until there are n_segments. */
static void split_largest(const struct cuts *cuts, int64_t n_segments, int64_t segments,
                          bool *taken) {
    for (; segments < n_segments; segments++) {
        int64_t best = -1, best_bytes = -1;
        uint32_t first = 0;
        for (int64_t c = 0, open = -1; c <= cuts->n; c++) {
            if (c < cuts->n && !taken[c]) {
                open = open < 0 ? c : open;
                continue;
            }
            uint32_t end = c < cuts->n ? cuts->after[c] + 1 : cuts->border;
            int64_t bytes = segment_bytes(cuts, first, end);
            if (open >= 0 && bytes > best_bytes) {
                best = open + (c - open) / 2;
                best_bytes = bytes;
            }
            first = end;
            open = -1;
        }
        taken[best] = true;
    }
}

static neap_error *choose_cuts(const struct cuts *cuts, int64_t n_segments, bool *taken) {
    if (n_segments == 0) {
        for (int64_t c = 0; c < cuts->n; c++)
            taken[c] = true;
        return NULL;
    }
    if (n_segments > cuts->n + 1)
        return error_make(NEAP_ERROR_USAGE,
                          "%lld segments asked for, but the network can be cut into %lld at most",
                          (long long)n_segments, (long long)cuts->n + 1);
    int64_t low = 0, high = segment_bytes(cuts, 0, cuts->border);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (pack(cuts, middle, taken) <= n_segments)
            high = middle;
        else
            low = middle + 1;
    }
    split_largest(cuts, n_segments, pack(cuts, high, taken), taken);
    return NULL;
}

/* Everything before the last cut taken is dropped, but for what crosses a cut and what is small. */
static neap_error *mark_dropped(const struct plan_problem *p, const struct cuts *cuts,
                                const bool *taken, bool *drop) {
    uint32_t *last, first = 0;
    TRY(last_reads(p, cuts->border, &last));
    for (uint32_t v = 0; v < p->n_values; v++)
        drop[v] = false;
    for (int64_t c = 0; c < cuts->n; c++) {
        if (!taken[c])
            continue;
        uint32_t end = cuts->after[c] + 1;
        for (uint32_t o = first; o < end; o++)
            for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
                uint32_t v = p->ids[p->ops[o].outputs.first + i];
                drop[v] = cuts->droppable[v] && counts(p, cuts, v) && last[v] < end;
            }
        first = end;
    }
    free(last);
    return NULL;
}

neap_error *plan_drop_segments(const struct plan_problem *problem, int64_t n_segments, bool *drop) {
    struct cuts cuts;
    bool *taken = NULL;
    neap_error *error = find_cuts(problem, &cuts);
    if (!error)
        error = memory_alloc((size_t)cuts.n + 1, sizeof *taken, &taken);
    if (!error)
        error = choose_cuts(&cuts, n_segments, taken);
    if (!error)
        error = mark_dropped(problem, &cuts, taken, drop);
    free(taken);
    free_cuts(&cuts);
    return error;
}

neap_error *plan_count_cuts(const struct plan_problem *problem, int64_t *n_cuts) {
    struct cuts cuts;
    neap_error *error = find_cuts(problem, &cuts);
    *n_cuts = cuts.n;
    free_cuts(&cuts);
    return error;
}

/* ---- pieces: cut by somebody else ------------------------------------------------------------ */

/* Keeps what op o reads of other pieces than its own. */
static void keep_inputs(const struct plan_problem *p, const uint32_t *piece, uint32_t o,
                        bool *drop) {
    for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
        uint32_t v = p->ids[p->ops[o].inputs.first + i];
        drop[v] = drop[v] && piece[p->values[v].producer] == piece[o];
    }
}

neap_error *plan_drop_pieces(const struct plan_problem *p, const uint32_t *piece, bool *drop) {
    bool *droppable = plan_droppable(p), any = false;
    if (!droppable)
        return error_memory(p->n_values);
    int64_t small = small_bytes(p, droppable);
    for (uint32_t v = 0; v < p->n_values; v++)
        drop[v] =
            droppable[v] && piece[p->values[v].producer] != PLAN_NONE && p->values[v].bytes > small;
    free(droppable);
    for (uint32_t o = 0; o < plan_border(p); o++)
        keep_inputs(p, piece, o, drop);
    for (uint32_t v = 0; v < p->n_values; v++)
        any = any || drop[v];
    if (any)
        return NULL;
    return error_make(NEAP_ERROR_USAGE, "recomputing these layers would free nothing: what they "
                                        "make is read outside of them, or not by the backward");
}
