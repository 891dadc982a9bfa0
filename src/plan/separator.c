/* separator: what crosses a moment of a schedule, as a network whose cuts are decisions.
 *
 *   source ─∞→ value read behind ─price·bytes→ its op ─seconds→ sink
 *                                              its op ─∞→ values it reads …
 *
 * The source side of a cut is what will be wanted behind the moment: a value that is read there, an
 * op that runs again, what that op reads. Cutting a value from its op keeps the value; cutting an
 * op from the sink runs it again. So the minimum cut is the decision with the least price × bytes
 * kept + seconds of ops made again, closed under what these need (the closure problem of Picard
 * 1976, in the form of torch's min-cut partitioner). An op's outputs are made again together.
 *
 * Not counted: bytes at other moments. A value that is kept though it died before the moment, or
 * made again for several readers, takes memory elsewhere: replay tells.
 * O(ops × degree) to set up; see flow.c for the cut. */
#include "plan/separator.h"

#include <math.h>
#include <stdlib.h>

enum { SOURCE = 0, SINK = 1, FIRST_NODE = 2 };

/* What a walk over the schedule tells about ops and values, seen from the moment. */
struct survey {
    const struct plan_problem *problem;
    uint32_t *next_read;    /* by value: step behind the moment; PLAN_NONE: none, or made first */
    uint32_t *next_made;    /* by value: step behind the moment */
    uint32_t *updated_by;   /* by value: 1 + the last op in base order that has updated it */
    uint32_t *next_updated; /* by value: step behind the moment */
    uint32_t update_part;   /* the step at which it begins */
    bool *ran;              /* by op, before the moment */
    bool *there;            /* by value: made before the moment */
    bool *pinned;           /* by value: read or made in the step itself */
    bool *wanted;           /* by value: read by an op that may run again */
    bool *may_run;          /* by op: again, where it may be wanted */
    uint32_t *earliest;     /* by op: the first step before which it may be wanted */
    uint32_t *latest;       /* by op: the last one; 0: it is not wanted */
    uint32_t *value_at, *op_at; /* places in the separator */
};

static void free_survey(struct survey *v) {
    free(v->next_read);
    free(v->next_made);
    free(v->updated_by);
    free(v->next_updated);
    free(v->ran);
    free(v->there);
    free(v->pinned);
    free(v->wanted);
    free(v->may_run);
    free(v->earliest);
    free(v->latest);
    free(v->value_at);
    free(v->op_at);
}

static neap_error *all_none(size_t n, uint32_t **out) {
    TRY(memory_alloc(n, sizeof **out, out));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = PLAN_NONE;
    return NULL;
}

static neap_error *alloc_survey(struct survey *v) {
    const size_t n_values = v->problem->n_values, n_ops = v->problem->n_ops;
    v->update_part = PLAN_NONE;
    TRY(all_none(n_values, &v->next_read));
    TRY(all_none(n_values, &v->next_made));
    TRY(memory_alloc(n_values, sizeof *v->updated_by, &v->updated_by));
    TRY(all_none(n_values, &v->next_updated));
    TRY(memory_alloc(n_ops, sizeof *v->ran, &v->ran));
    TRY(memory_alloc(n_values, sizeof *v->there, &v->there));
    TRY(memory_alloc(n_values, sizeof *v->pinned, &v->pinned));
    TRY(memory_alloc(n_values, sizeof *v->wanted, &v->wanted));
    TRY(memory_alloc(n_ops, sizeof *v->may_run, &v->may_run));
    TRY(all_none(n_ops, &v->earliest));
    TRY(memory_alloc(n_ops, sizeof *v->latest, &v->latest));
    TRY(all_none(n_values, &v->value_at));
    return all_none(n_ops, &v->op_at);
}

static void walk_before(struct survey *v, const struct plan_schedule *schedule, uint32_t step) {
    const struct plan_problem *p = v->problem;
    for (uint32_t i = 0; i < p->n_values; i++)
        v->there[i] = p->values[i].input;
    for (uint32_t s = 0; s <= step; s++) {
        const struct plan_op *op = &p->ops[schedule->ops[s]];
        v->ran[schedule->ops[s]] = s < step;
        if (op->update_part && v->update_part == PLAN_NONE)
            v->update_part = 0;
        for (uint32_t i = 0; i < op->outputs.n; i++) {
            v->there[p->ids[op->outputs.first + i]] = true;
            v->pinned[p->ids[op->outputs.first + i]] = s == step;
        }
        for (uint32_t i = 0; i < op->inputs.n && s == step; i++)
            v->pinned[p->ids[op->inputs.first + i]] = true;
        for (uint32_t i = 0; i < op->updates.n; i++) {
            uint32_t *by = &v->updated_by[p->ids[op->updates.first + i]];
            *by = schedule->ops[s] + 1 > *by ? schedule->ops[s] + 1 : *by;
        }
    }
}

static void walk_behind(struct survey *v, const struct plan_schedule *schedule, uint32_t step) {
    const struct plan_problem *p = v->problem;
    for (uint32_t s = step + 1; s < schedule->n; s++) {
        const struct plan_op *op = &p->ops[schedule->ops[s]];
        if (op->update_part && v->update_part == PLAN_NONE)
            v->update_part = s;
        for (uint32_t i = 0; i < op->inputs.n; i++) {
            uint32_t value = p->ids[op->inputs.first + i];
            if (v->next_read[value] == PLAN_NONE && v->next_made[value] == PLAN_NONE)
                v->next_read[value] = s;
        }
        for (uint32_t i = 0; i < op->outputs.n; i++)
            if (v->next_made[p->ids[op->outputs.first + i]] == PLAN_NONE)
                v->next_made[p->ids[op->outputs.first + i]] = s;
        for (uint32_t i = 0; i < op->updates.n; i++)
            if (v->next_updated[p->ids[op->updates.first + i]] == PLAN_NONE)
                v->next_updated[p->ids[op->updates.first + i]] = s;
    }
}

static bool crosses(const struct survey *v, uint32_t value) {
    return v->there[value] && v->next_read[value] != PLAN_NONE && !v->pinned[value] &&
           !v->problem->values[value].persistent;
}

/* Op o, if any, may be wanted just before any step between these two. */
static void want(struct survey *v, uint32_t o, uint32_t earliest, uint32_t latest) {
    if (o == PLAN_NONE)
        return;
    v->earliest[o] = earliest < v->earliest[o] ? earliest : v->earliest[o];
    v->latest[o] = latest > v->latest[o] ? latest : v->latest[o];
}

/* May op o run again just before any step up to `latest`? */
static bool may_run_again(const struct survey *v, uint32_t o) {
    const struct plan_problem *p = v->problem;
    const struct plan_op *op = &p->ops[o];
    if (!v->ran[o] || plan_op_once(op) || (!op->update_part && v->latest[o] > v->update_part))
        return false;
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        uint32_t value = p->ids[op->inputs.first + i];
        if (v->updated_by[value] > o || v->latest[o] > v->next_updated[value])
            return false;
    }
    return true;
}

/* Is an input of op o there without costing memory at the moment? */
static bool is_free(const struct survey *v, uint32_t o, uint32_t value) {
    return v->problem->values[value].persistent || v->pinned[value] ||
           v->next_made[value] < v->earliest[o];
}

/* From what crosses the moment back to all that could be wanted for it. */
static void find_wanted(struct survey *v) {
    const struct plan_problem *p = v->problem;
    for (uint32_t i = 0; i < p->n_values; i++)
        if (crosses(v, i))
            want(v, p->values[i].producer, v->next_read[i], v->next_read[i]);
    for (uint32_t o = p->n_ops; o-- > 0;) {
        v->may_run[o] = v->latest[o] && may_run_again(v, o);
        for (uint32_t i = 0; i < p->ops[o].inputs.n && v->may_run[o]; i++) {
            uint32_t value = p->ids[p->ops[o].inputs.first + i];
            if (is_free(v, o, value))
                continue;
            v->wanted[value] = true;
            want(v, p->values[value].producer, v->earliest[o], v->latest[o]);
        }
    }
}

/* Gives ops and values their places; what crosses and cannot be made again is kept in any case. */
static neap_error *number(struct survey *v, struct separator *s) {
    const struct plan_problem *p = v->problem;
    TRY(memory_alloc(p->n_ops, sizeof *s->ops, &s->ops));
    TRY(memory_alloc(p->n_values, sizeof *s->values, &s->values));
    for (uint32_t o = p->n_ops; o-- > 0;)
        if (v->may_run[o]) {
            v->op_at[o] = s->n_ops;
            s->ops[s->n_ops++] = (struct separator_op){
                .op = o, .latest = v->latest[o], .seconds = p->ops[o].seconds};
            s->total_seconds += p->ops[o].seconds;
        }
    for (uint32_t i = 0; i < p->n_values; i++) {
        uint32_t producer = p->values[i].producer;
        uint32_t maker = producer == PLAN_NONE ? PLAN_NONE : v->op_at[producer];
        if (crosses(v, i) ? maker == PLAN_NONE : !v->wanted[i])
            continue;
        v->value_at[i] = s->n_values;
        s->values[s->n_values++] = (struct separator_value){
            .bytes = p->values[i].bytes, .maker = maker, .required = crosses(v, i)};
        s->total_bytes += p->values[i].bytes;
    }
    return NULL;
}

static neap_error *connect(const struct survey *v, struct separator *s) {
    const struct plan_problem *p = v->problem;
    uint32_t n_ids = 0;
    TRY(memory_alloc(p->n_ids, sizeof *s->ids, &s->ids));
    for (uint32_t i = 0; i < s->n_ops; i++) {
        uint32_t o = s->ops[i].op;
        s->ops[i].inputs.first = n_ids;
        for (uint32_t j = 0; j < p->ops[o].inputs.n; j++) {
            uint32_t value = p->ids[p->ops[o].inputs.first + j];
            if (v->value_at[value] != PLAN_NONE && !is_free(v, o, value))
                s->ids[n_ids++] = v->value_at[value];
        }
        s->ops[i].inputs.n = n_ids - s->ops[i].inputs.first;
        s->ops[i].outputs.first = n_ids;
        for (uint32_t j = 0; j < p->ops[o].outputs.n; j++)
            if (v->value_at[p->ids[p->ops[o].outputs.first + j]] != PLAN_NONE)
                s->ids[n_ids++] = v->value_at[p->ids[p->ops[o].outputs.first + j]];
        s->ops[i].outputs.n = n_ids - s->ops[i].outputs.first;
    }
    return NULL;
}

static neap_error *make_flow(struct separator *s) {
    struct flow *f = &s->flow;
    const uint32_t first_value = FIRST_NODE + s->n_ops;
    size_t n_arcs = s->n_ops + 2 * (size_t)s->n_values;
    for (uint32_t i = 0; i < s->n_ops; i++)
        n_arcs += s->ops[i].inputs.n;
    TRY(memory_alloc(s->n_ops, sizeof *s->op_arcs, &s->op_arcs));
    TRY(memory_alloc(s->n_values, sizeof *s->uses, &s->uses));
    TRY(flow_open(f, (size_t)first_value + s->n_values, n_arcs));
    for (uint32_t i = 0; i < s->n_values; i++) {
        struct separator_value *value = &s->values[i];
        uint32_t to = value->maker == PLAN_NONE ? SINK : FIRST_NODE + value->maker;
        value->arc = flow_arc(f, first_value + i, to);
        if (value->required)
            f->capacity[flow_arc(f, SOURCE, first_value + i)] = FLOW_UNBOUNDED;
    }
    for (uint32_t i = 0; i < s->n_ops; i++) {
        s->op_arcs[i] = flow_arc(f, FIRST_NODE + i, SINK);
        for (uint32_t j = 0; j < s->ops[i].inputs.n; j++) {
            uint32_t input = s->ids[s->ops[i].inputs.first + j];
            f->capacity[flow_arc(f, FIRST_NODE + i, first_value + input)] = FLOW_UNBOUNDED;
        }
    }
    return NULL;
}

neap_error *separator_open(const struct plan_problem *problem, const struct plan_schedule *schedule,
                           uint32_t step, struct separator *s) {
    struct survey survey = {.problem = problem};
    neap_error *error = NULL;
    *s = (struct separator){.problem = problem, .step = step};
    TRY_GOTO(alloc_survey(&survey));
    walk_before(&survey, schedule, step);
    walk_behind(&survey, schedule, step);
    find_wanted(&survey);
    TRY_GOTO(number(&survey, s));
    TRY_GOTO(connect(&survey, s));
    TRY_GOTO(make_flow(s));
done:
    free_survey(&survey);
    if (error)
        separator_close(s);
    return error;
}

void separator_close(struct separator *s) {
    free(s->ops);
    free(s->values);
    free(s->ids);
    free(s->op_arcs);
    free(s->uses);
    flow_close(&s->flow);
    *s = (struct separator){0};
}

bool separator_wants(const struct separator *s, uint32_t op) {
    const struct plan_span values = s->ops[op].outputs;
    for (uint32_t i = 0; i < values.n; i++)
        if (s->uses[s->ids[values.first + i]])
            return true;
    return false;
}

void separator_count(struct separator *s, struct separator_cut *cut) {
    cut->bytes = 0;
    cut->seconds = 0;
    for (uint32_t i = 0; i < s->n_values; i++)
        s->uses[i] = s->values[i].required;
    for (uint32_t i = 0; i < s->n_ops; i++) {
        cut->again[i] = cut->again[i] && separator_wants(s, i);
        if (!cut->again[i])
            continue;
        cut->seconds += s->ops[i].seconds;
        for (uint32_t j = 0; j < s->ops[i].inputs.n; j++)
            s->uses[s->ids[s->ops[i].inputs.first + j]]++;
    }
    for (uint32_t i = 0; i < s->n_values; i++) {
        uint32_t maker = s->values[i].maker;
        if (s->uses[i] && (maker == PLAN_NONE || !cut->again[maker]))
            cut->bytes += s->values[i].bytes;
    }
}

/* Capacities are integers whose sum is at most 2^60: fine enough to tell any two decisions apart
 * that differ by 10^-15 of the whole. */
void separator_decide(struct separator *s, double price, struct separator_cut *cut) {
    const bool bytes_alone = isinf(price);
    double per_byte = bytes_alone ? 1 : price, per_second = bytes_alone ? 0 : 1;
    double total = per_byte * (double)s->total_bytes + per_second * s->total_seconds;
    double unit = total > 0 ? 0x1p60 / total : 0;
    for (uint32_t i = 0; i < s->n_values; i++)
        s->flow.capacity[s->values[i].arc] =
            (int64_t)(per_byte * (double)s->values[i].bytes * unit);
    for (uint32_t i = 0; i < s->n_ops; i++)
        s->flow.capacity[s->op_arcs[i]] = (int64_t)(per_second * s->ops[i].seconds * unit);
    flow_solve(&s->flow);
    for (uint32_t i = 0; i < s->n_ops; i++)
        cut->again[i] = s->flow.source_side[FIRST_NODE + i];
    separator_count(s, cut);
}
