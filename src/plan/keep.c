/* keep: from a set of values to drop to a schedule.
 *
 *   forward a b c | backward c' b' a', dropping b's output   →   a b c | c' b b' a'
 *
 * Dropped values die with their last read before the border; behind it they are made again, with
 * whatever dropped values that needs, just before their first use, and then kept to their last.
 * Chains and any other graph alike. O(ops × degree). */
#include <stdlib.h>

#include "plan/plan.h"

uint32_t plan_border(const struct plan_problem *problem) {
    uint32_t o = 0;
    while (o < problem->n_ops && problem->ops[o].phase == PLAN_FORWARD)
        o++;
    return o;
}

bool *plan_droppable(const struct plan_problem *p) {
    uint32_t border = plan_border(p);
    bool *droppable = calloc(p->n_values + 1, sizeof *droppable);
    if (!droppable)
        return NULL;
    for (uint32_t o = border; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].inputs.first + i], producer = p->values[v].producer;
            droppable[v] =
                !p->values[v].persistent && producer < border && !plan_op_once(&p->ops[producer]);
        }
    return droppable;
}

struct build {
    const struct plan_problem *problem;
    struct plan_schedule *schedule;
    bool *live;
};

static neap_error *run(struct build *b, uint32_t o);

/* Makes what op o reads live, recomputing where it was dropped. */
static neap_error *make_inputs(struct build *b, uint32_t o) {
    const struct plan_problem *p = b->problem;
    for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
        uint32_t v = p->ids[p->ops[o].inputs.first + i];
        if (!p->values[v].persistent && !p->values[v].input && !b->live[v])
            TRY(run(b, p->values[v].producer));
    }
    return NULL;
}

static neap_error *run(struct build *b, uint32_t o) {
    const struct plan_problem *p = b->problem;
    TRY(make_inputs(b, o));
    for (uint32_t i = 0; i < p->ops[o].outputs.n; i++)
        b->live[p->ids[p->ops[o].outputs.first + i]] = true;
    return plan_schedule_push(b->schedule, o);
}

/* What is remembered past the border: not what was dropped, and nothing that an op may make again
 * and nobody behind the border reads by itself. NULL: out of memory. */
static bool *drop_to_kept(const struct plan_problem *p, uint32_t border, const bool *drop) {
    bool *kept = calloc(p->n_values + 1, sizeof *kept);
    if (!kept)
        return NULL;
    for (uint32_t o = border; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++)
            kept[p->ids[p->ops[o].inputs.first + i]] = true;
    for (uint32_t o = 0; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].outputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].outputs.first + i];
            kept[v] = (kept[v] || plan_op_once(&p->ops[o])) && !drop[v];
        }
    return kept;
}

neap_error *plan_schedule_dropping(const struct plan_problem *problem, const bool *drop,
                                   struct plan_schedule *schedule) {
    struct build b = {.problem = problem, .schedule = schedule};
    uint32_t border = plan_border(problem);
    neap_error *error = NULL;
    schedule->n = 0;
    TRY(memory_alloc(problem->n_values, sizeof *b.live, &b.live));
    bool *kept = drop_to_kept(problem, border, drop);
    if (!kept)
        error = error_memory(problem->n_values);
    for (uint32_t o = 0; o < problem->n_ops && !error; o++) {
        for (uint32_t v = 0; o == border && v < problem->n_values; v++)
            b.live[v] = b.live[v] && kept[v];
        error = run(&b, o);
    }
    free(kept);
    free(b.live);
    return error;
}
