/* Programs beside the session's own step: other sizes, evaluation; and linking them all. */
#include "train/session.h"

neap_error *session_compile(struct neap_plan *s, int64_t batch, bool training,
                            struct session_program *out) {
    *out = (struct session_program){0};
    TRY(session_compile_at(s, batch, training, s->step->g, &out->compiled));
    struct neap_options o = s->options;
    if (!training) /* without a backward there is nothing to compute again */
        session_replan(&o, "none");
    else if (session_from_file(&o)) /* its plan is for the other size */
        session_replan(&o, "auto");
    neap_error *error = session_solve(s, out->compiled, &o, s->plan.arena_bytes, 0, &out->plan);
    if (!error && !out->plan.fits) { /* a larger arena, as far as the budget goes */
        plan_result_free(&out->plan);
        error = session_solve(s, out->compiled, &o, s->arena_budget_bytes, 0, &out->plan);
    }
    if (!error && !out->plan.fits)
        error = error_make(NEAP_ERROR_BUDGET,
                           "%s %lld samples at once needs an arena of %lld bytes, the budget "
                           "leaves %lld: another micro-batch or a larger budget would fit",
                           training ? "training" : "evaluating", (long long)batch,
                           (long long)out->plan.arena_bytes, (long long)s->arena_budget_bytes);
    if (error)
        session_program_free(out);
    return error;
}

void session_program_free(struct session_program *program) {
    plan_result_free(&program->plan);
    compiled_free(program->compiled);
    *program = (struct session_program){0};
}

neap_error *session_link(const struct compiled *c, const struct plan_result *plan,
                         const struct arena *arena, const struct store *store,
                         struct program **out) {
    const struct program_source source = {.g = c->g,
                                          .kernels = c->kernels,
                                          .states = c->states,
                                          .problem = &c->problem,
                                          .node_of_op = c->node_of_op,
                                          .plan_of_value = c->plan_of_value,
                                          .scratch_of_node = c->scratch_of_node,
                                          .schedule = &plan->schedule,
                                          .lives = &plan->lives};
    return program_create(&source, arena, store, out);
}
