/* in_place: outputs in the places of inputs, a matching of the most bytes.
 *
 * What a replay finds by walking an op's overwrites is one such matching, so never more. Sets of
 * outputs that find places together form a matroid: taking outputs by bytes downward, each if it
 * still finds a place when others may move (an augmenting path), gives the most. A few pairs each.
 */
#include "plan/in_place.h"

#include <stdlib.h>

neap_error *in_place_open(const struct plan_problem *problem, struct in_place *s) {
    neap_error *error = NULL;
    *s = (struct in_place){.problem = problem};
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *s->stays, &s->stays));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *s->tried, &s->tried));
    TRY_GOTO(memory_alloc(problem->n_values, sizeof *s->holder, &s->holder));
done:
    if (error)
        in_place_close(s);
    return error;
}

void in_place_close(struct in_place *s) {
    free(s->stays);
    free(s->tried);
    free(s->holder);
    *s = (struct in_place){0};
}

static struct plan_overwrite pair_at(const struct in_place *s, const struct plan_op *op,
                                     uint32_t i) {
    return s->problem->overwrites[op->first_overwrite + i];
}

static int64_t bytes_of(const struct in_place *s, uint32_t value) {
    const struct plan_value *v = &s->problem->values[value];
    return v->persistent ? 0 : v->bytes;
}

static bool find_place(struct in_place *s, const struct plan_op *op, uint32_t output) {
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        struct plan_overwrite pair = pair_at(s, op, i);
        if (pair.output != output || s->stays[pair.input] || s->tried[pair.input] ||
            bytes_of(s, output) > bytes_of(s, pair.input))
            continue;
        s->tried[pair.input] = true;
        if (s->holder[pair.input] == PLAN_NONE || find_place(s, op, s->holder[pair.input])) {
            s->holder[pair.input] = output;
            return true;
        }
    }
    return false;
}

/* The output behind `last` by bytes downward, then by number; PLAN_NONE: there is no more. */
static uint32_t next_output(const struct in_place *s, const struct plan_op *op, uint32_t last) {
    uint32_t next = PLAN_NONE;
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        uint32_t output = pair_at(s, op, i).output;
        int64_t bytes = bytes_of(s, output);
        bool behind = last == PLAN_NONE || bytes < bytes_of(s, last) ||
                      (bytes == bytes_of(s, last) && output > last);
        bool ahead = next == PLAN_NONE || bytes > bytes_of(s, next) ||
                     (bytes == bytes_of(s, next) && output < next);
        if (behind && ahead)
            next = output;
    }
    return next;
}

int64_t in_place_bytes(struct in_place *s, const struct plan_op *op) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < op->n_overwrites; i++)
        s->holder[pair_at(s, op, i).input] = PLAN_NONE;
    for (uint32_t o = PLAN_NONE; (o = next_output(s, op, o)) != PLAN_NONE;) {
        for (uint32_t i = 0; i < op->n_overwrites; i++)
            s->tried[pair_at(s, op, i).input] = false;
        if (bytes_of(s, o) > 0 && find_place(s, op, o))
            bytes += bytes_of(s, o);
    }
    return bytes;
}
