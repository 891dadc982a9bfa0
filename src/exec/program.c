/* Making and running programs: see program.h. */
#include "exec/program.h"

#include <stdlib.h>

#include "ir/op.h"

struct making {
    const struct program_source *source;
    const struct arena *arena;
    const struct store *store;
    struct program *program;
    uint32_t *life_of; /* by the problem's value: its life at the present step */
    size_t next_life;
};

static neap_error *pointer_of_plan(const struct making *m, uint32_t id, void **out) {
    const struct plan_life *life = &m->source->lives->at[m->life_of[id]];
    *out = m->arena->base + life->offset;
    return NULL;
}

static neap_error *pointer_of(const struct making *m, value_id v, void **out) {
    *out = NULL;
    if (v == ID_NONE)
        return NULL;
    const struct value *root = graph_value(m->source->g, graph_root(m->source->g, v));
    if (!root->persistent)
        return pointer_of_plan(m, m->source->plan_of_value[v], out);
    const struct store_entry *entry = store_find(m->store, root->name);
    if (!entry || entry->bytes != value_bytes(root) || !layout_equal(entry->layout, root->layout))
        return error_make(NEAP_ERROR_INTERNAL, "'%s' is not in the store as the program wants it",
                          root->name);
    *out = store_data(m->store, entry);
    return NULL;
}

static neap_error *pointers_of(const struct making *m, const value_id *values, uint32_t n,
                               void *const **out) {
    void **pointers;
    TRY(pool_alloc(&m->program->pool, n, sizeof *pointers, &pointers));
    for (uint32_t i = 0; i < n; i++)
        TRY(pointer_of(m, values[i], &pointers[i]));
    *out = pointers;
    return NULL;
}

/* Lives are ordered by their first step: those that begin with this step are its outputs. */
static neap_error *make_step(struct making *m, size_t s) {
    const struct program_source *src = m->source;
    node_id n = src->node_of_op[src->schedule->ops[s]];
    const struct node *node = graph_node(src->g, n);
    struct program_step *step = &m->program->steps[s];
    *step =
        (struct program_step){.run = src->kernels[n]->run,
                              .state = src->states[n],
                              .node = n,
                              .update_part = src->problem->ops[src->schedule->ops[s]].update_part,
                              .launch = {.params = &m->program->params}};
    TRY(pointers_of(m, node->inputs, node->n_inputs, &step->launch.in));
    while (m->next_life < src->lives->n && src->lives->at[m->next_life].first_step == s) {
        m->life_of[src->lives->at[m->next_life].value] = (uint32_t)m->next_life;
        m->next_life++;
    }
    TRY(pointers_of(m, node->outputs, node->n_outputs, &step->launch.out));
    TRY(pointers_of(m, node->updates, node->n_updates, &step->launch.up));
    if (src->scratch_of_node[n] != PLAN_NONE)
        TRY(pointer_of_plan(m, src->scratch_of_node[n], &step->launch.scratch));
    m->program->n_micro += !step->update_part;
    return NULL;
}

/* Input lives come first: there is one for each input, in the order of values. */
static neap_error *place_inputs(struct making *m) {
    const struct program_source *src = m->source;
    TRY(pool_alloc(&m->program->pool, src->g->n_values, sizeof *m->program->inputs,
                   &m->program->inputs));
    for (uint32_t v = 0; v < src->problem->n_values; v++)
        if (src->problem->values[v].input)
            m->life_of[v] = (uint32_t)m->next_life++;
    for (value_id v = 0; v < src->g->n_values; v++)
        if (graph_value(src->g, v)->kind == VALUE_INPUT)
            TRY(pointer_of(m, v, &m->program->inputs[v]));
    return NULL;
}

neap_error *program_create(const struct program_source *source, const struct arena *arena,
                           const struct store *store, struct program **out) {
    struct making m = {source, arena, store, NULL, NULL, 0};
    neap_error *error = NULL;
    TRY(memory_alloc(1, sizeof *m.program, &m.program));
    m.program->g = source->g;
    m.program->n_steps = source->schedule->n;
    TRY_GOTO(pool_alloc(&m.program->pool, source->schedule->n, sizeof *m.program->steps,
                        &m.program->steps));
    TRY_GOTO(memory_alloc(source->problem->n_values, sizeof *m.life_of, &m.life_of));
    TRY_GOTO(place_inputs(&m));
    for (size_t s = 0; s < source->schedule->n; s++)
        TRY_GOTO(make_step(&m, s));
done:
    free(m.life_of);
    if (error)
        program_free(m.program);
    else
        *out = m.program;
    return error;
}

void program_free(struct program *program) {
    if (!program)
        return;
    pool_free(&program->pool);
    free(program);
}

static neap_error *run_steps(struct program *p, const struct program_probe *probe, size_t first,
                             size_t end) {
    for (size_t s = first; s < end; s++) {
        if (probe && probe->before)
            TRY(probe->before(probe->user, s));
        TRY(p->steps[s].run(p->steps[s].state, &p->steps[s].launch));
        if (probe && probe->after)
            TRY(probe->after(probe->user, s));
    }
    return NULL;
}

neap_error *program_run_micro(struct program *program, const struct program_probe *probe) {
    return run_steps(program, probe, 0, program->n_micro);
}

neap_error *program_run_update(struct program *program, const struct program_probe *probe) {
    return run_steps(program, probe, program->n_micro, program->n_steps);
}
