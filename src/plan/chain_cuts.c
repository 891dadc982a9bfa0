/* Cuts: where the forward is divided into blocks.
 *
 * Every op is a block of its own at first. Where that gives too many, the cut goes whose two blocks
 * make the fewest bytes for what must be kept at it, until there are few enough: cuts at narrow
 * places remain, evenly spread. O(ops²) comparisons at most, and less where there are few ops. */
#include <stdlib.h>

#include "plan/chain.h"

struct place {               /* between a forward op and the one before it */
    int64_t kept_bytes;      /* made before it, needed behind */
    int64_t lingering_bytes; /* made behind it, read by the backward of what is before */
    int64_t made_bytes;      /* by the forward ops before it */
    bool gains, loses;       /* the op behind it makes, or is the last to need, a kept value */
};

/* The levels of the backward ops that read each value: the deepest and the lowest. */
static void find_readers(const struct chain *chain, uint32_t *deepest, uint32_t *lowest) {
    const struct plan_problem *p = chain->problem;
    for (uint32_t v = 0; v < p->n_values; v++) {
        deepest[v] = chain->last_read[v];
        lowest[v] = PLAN_NONE;
    }
    for (uint32_t o = chain->border; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].inputs.first + i], level = chain->level[o];
            if (p->values[v].producer == PLAN_NONE)
                continue;
            deepest[v] = deepest[v] > level ? deepest[v] : level;
            lowest[v] = level;
        }
}

/* Fills places 0 … border. */
static void measure_places(const struct chain *chain, const uint32_t *deepest,
                           const uint32_t *lowest, struct place *places) {
    const struct plan_problem *p = chain->problem;
    for (uint32_t v = 0; v < p->n_values; v++) {
        uint32_t o = p->values[v].producer;
        int64_t bytes = p->values[v].persistent ? 0 : p->values[v].bytes;
        if (o >= chain->border)
            continue;
        places[o + 1].made_bytes += bytes;
        if (plan_op_once(&p->ops[o]) || !bytes)
            continue;
        if (deepest[v] > o) {
            places[o + 1].kept_bytes += bytes;
            places[deepest[v] + 1].kept_bytes -= bytes;
            places[o].gains = places[deepest[v]].loses = true;
        }
        if (lowest[v] < o) {
            places[lowest[v] + 1].lingering_bytes += bytes;
            places[o + 1].lingering_bytes -= bytes;
        }
    }
    for (uint32_t o = 1; o <= chain->border; o++) {
        places[o].kept_bytes += places[o - 1].kept_bytes;
        places[o].lingering_bytes += places[o - 1].lingering_bytes;
        places[o].made_bytes += places[o - 1].made_bytes;
    }
}

static int64_t largest_made(const struct chain *chain) {
    const struct plan_problem *p = chain->problem;
    int64_t largest = 0;
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].producer < chain->border && !p->values[v].persistent &&
            p->values[v].bytes > largest)
            largest = p->values[v].bytes;
    return largest;
}

/* Removes the least useful cuts until there are most_blocks - 1. cuts: ascending, n of them between
 * a first at op 0 and one more at the border. */
static uint32_t thin(const struct place *places, uint32_t most_blocks, uint32_t *cuts, uint32_t n) {
    while (n + 1 > most_blocks) {
        uint32_t worst = 0;
        double worst_score = 0;
        for (uint32_t i = 1; i <= n; i++) {
            double made = (double)(places[cuts[i + 1]].made_bytes - places[cuts[i - 1]].made_bytes);
            double score = made / ((double)places[cuts[i]].kept_bytes + 1);
            if (worst == 0 || score < worst_score) {
                worst = i;
                worst_score = score;
            }
        }
        for (uint32_t i = worst; i <= n; i++)
            cuts[i] = cuts[i + 1];
        n--;
    }
    return n;
}

/* place: behind the op that stands behind place[-1]. */
static bool may_cut(const struct place *place, bool every_place, int64_t small_bytes) {
    if (every_place)
        return place->gains || place->loses;
    return place->gains && place[-1].loses && place->lingering_bytes <= small_bytes;
}

static neap_error *choose(const struct chain *chain, const struct place *places,
                          uint32_t most_blocks, bool every_place, bool *cut, uint32_t *n_blocks) {
    uint32_t *cuts, n = 0;
    int64_t small_bytes = largest_made(chain) / 100;
    TRY(memory_alloc(chain->border + 1, sizeof *cuts, &cuts));
    for (uint32_t o = 1; o < chain->border; o++)
        if (may_cut(&places[o], every_place, small_bytes))
            cuts[++n] = o;
    cuts[n + 1] = chain->border;
    n = thin(places, most_blocks, cuts, n);
    for (uint32_t o = 0; o < chain->problem->n_ops; o++)
        cut[o] = false;
    for (uint32_t i = 1; i <= n; i++)
        cut[cuts[i]] = true;
    *n_blocks = n + 1;
    free(cuts);
    return NULL;
}

neap_error *chain_find_cuts(const struct chain *chain, uint32_t most_blocks, bool every_place,
                            bool *cut, uint32_t *n_blocks) {
    uint32_t *deepest = NULL, *lowest = NULL;
    struct place *places = NULL;
    neap_error *error;
    TRY_GOTO(memory_alloc(chain->problem->n_values, sizeof *deepest, &deepest));
    TRY_GOTO(memory_alloc(chain->problem->n_values, sizeof *lowest, &lowest));
    TRY_GOTO(memory_alloc(chain->border + 1, sizeof *places, &places));
    find_readers(chain, deepest, lowest);
    measure_places(chain, deepest, lowest, places);
    TRY_GOTO(choose(chain, places, most_blocks, every_place, cut, n_blocks));
done:
    free(deepest);
    free(lowest);
    free(places);
    return error;
}
