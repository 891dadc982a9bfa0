/* keep: from a set of values to forget to a schedule.
 *
 *   forward a b c | backward c' b' a', dropping b's output   →   a b c | c' b b' a'
 *
 * Forgotten values die with their last read before a moment, the border for instance; behind it
 * they are made again, with what that needs and is not there, just before their next use, and then
 * kept to their last. Chains and any other graph alike; a schedule that already makes values again
 * can be changed in the same way at another moment. O(steps × degree). */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

neap_error *plan_base_order(const struct plan_problem *problem, struct plan_schedule *schedule) {
    schedule->n = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        TRY(plan_schedule_push(schedule, o));
    return NULL;
}

/* Where keeping everything first needs the most memory; PLAN_NONE: out of memory. */
static uint32_t peak_of_store_all(const struct plan_problem *problem) {
    struct plan_schedule schedule = {0};
    struct plan_measure measure;
    neap_error *error = plan_base_order(problem, &schedule);
    if (!error)
        error = plan_replay(problem, &schedule, &measure, NULL);
    uint32_t border = error ? PLAN_NONE : measure.peak_step;
    neap_error_free(error);
    plan_schedule_free(&schedule);
    return border;
}

uint32_t plan_border(const struct plan_problem *problem) {
    uint32_t o = 0;
    while (o < problem->n_ops && problem->ops[o].phase == PLAN_FORWARD)
        o++;
    return o < problem->n_ops ? o : peak_of_store_all(problem);
}

bool *plan_droppable(const struct plan_problem *p) {
    uint32_t border = plan_border(p);
    bool *droppable = calloc(p->n_values + 1, sizeof *droppable);
    if (border == PLAN_NONE)
        free(droppable);
    if (!droppable || border == PLAN_NONE)
        return NULL;
    for (uint32_t o = border; o < p->n_ops; o++)
        for (uint32_t i = 0; i < p->ops[o].inputs.n; i++) {
            uint32_t v = p->ids[p->ops[o].inputs.first + i], producer = p->values[v].producer;
            droppable[v] =
                !p->values[v].persistent && producer < border && !plan_op_once(&p->ops[producer]);
        }
    return droppable;
}

/* An op to run, and how many of its inputs are there for certain. */
struct frame {
    uint32_t op, inputs_done;
};

struct build {
    const struct plan_problem *problem;
    struct plan_schedule *schedule;
    bool *there;          /* by value */
    struct frame *frames; /* ops that wait for their inputs, each for one that the next makes */
    size_t capacity;
};

static bool is_there(const struct build *b, uint32_t v) {
    const struct plan_value *value = &b->problem->values[v];
    return value->persistent || value->input || b->there[v];
}

/* Runs op o, before it the makers of what it reads and is not there, and so on. */
static neap_error *run(struct build *b, uint32_t o) {
    const struct plan_problem *p = b->problem;
    size_t n = 1;
    TRY(memory_grow(&b->frames, &b->capacity, 1, sizeof *b->frames));
    b->frames[0] = (struct frame){o, 0};
    while (n) {
        struct frame *top = &b->frames[n - 1];
        const struct plan_op *op = &p->ops[top->op];
        while (top->inputs_done < op->inputs.n &&
               is_there(b, p->ids[op->inputs.first + top->inputs_done]))
            top->inputs_done++;
        if (top->inputs_done < op->inputs.n) {
            uint32_t v = p->ids[op->inputs.first + top->inputs_done];
            TRY(memory_grow(&b->frames, &b->capacity, n + 1, sizeof *b->frames));
            b->frames[n++] = (struct frame){p->values[v].producer, 0};
            continue;
        }
        for (uint32_t i = 0; i < op->outputs.n; i++)
            b->there[p->ids[op->outputs.first + i]] = true;
        TRY(plan_schedule_push(b->schedule, top->op));
        n--;
    }
    return NULL;
}

neap_error *plan_schedule_keeping(const struct plan_problem *problem,
                                  const struct plan_schedule *from, uint32_t before,
                                  const bool *kept, struct plan_schedule *schedule) {
    struct build b = {.problem = problem, .schedule = schedule};
    neap_error *error = NULL;
    schedule->n = 0;
    TRY(memory_alloc(problem->n_values, sizeof *b.there, &b.there));
    for (uint32_t s = 0; s < from->n && !error; s++) {
        for (uint32_t v = 0; s == before && v < problem->n_values; v++)
            b.there[v] = b.there[v] && kept[v];
        error = run(&b, from->ops[s]);
    }
    free(b.frames);
    free(b.there);
    return error;
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
    struct plan_schedule base = {0};
    uint32_t border = plan_border(problem);
    bool *kept = border == PLAN_NONE ? NULL : drop_to_kept(problem, border, drop);
    neap_error *error = kept ? plan_base_order(problem, &base) : error_memory(problem->n_values);
    if (!error)
        error = plan_schedule_keeping(problem, &base, border, kept, schedule);
    free(kept);
    plan_schedule_free(&base);
    return error;
}
