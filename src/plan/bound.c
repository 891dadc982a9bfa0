/* bound: a floor under every schedule's peak: some op has its inputs, outputs and scratch live at
 * once, an input that it may overwrite counted with the output in its place. */
#include "plan/plan.h"

/* The most bytes that in-place execution of the op could save. */
static int64_t best_overwrite(const struct plan_problem *p, const struct plan_op *op) {
    int64_t saved = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        struct plan_overwrite pair = p->overwrites[op->first_overwrite + i];
        if (!p->values[pair.input].persistent && !p->values[pair.output].persistent)
            saved += p->values[pair.output].bytes;
    }
    return saved;
}

int64_t plan_floor(const struct plan_problem *p) {
    int64_t floor = 0;
    for (uint32_t o = 0; o < p->n_ops; o++) {
        const struct plan_op *op = &p->ops[o];
        int64_t bytes = 0;
        for (uint32_t i = 0; i < op->inputs.n; i++) {
            const struct plan_value *value = &p->values[p->ids[op->inputs.first + i]];
            bytes += value->persistent ? 0 : value->bytes;
        }
        int64_t outputs = 0;
        for (uint32_t i = 0; i < op->outputs.n; i++) {
            const struct plan_value *value = &p->values[p->ids[op->outputs.first + i]];
            outputs += value->persistent ? 0 : value->bytes;
        }
        int64_t saved = best_overwrite(p, op);
        bytes += outputs - (saved < outputs ? saved : outputs);
        if (bytes > floor)
            floor = bytes;
    }
    return floor;
}
