/* Strategies: what is asked for, or chosen where nothing is, and the plan that it gives. */
#include <stdlib.h>
#include <string.h>

#include "fmt/plan_json.h"
#include "train/pieces.h"
#include "train/session.h"

/* ---- choosing ------------------------------------------------------------------------------- */

static bool is_file(const char *recompute) {
    size_t n = recompute ? strlen(recompute) : 0;
    return n > 5 && !strcmp(recompute + n - 5, ".json");
}

bool session_from_file(const struct neap_options *o) {
    return o->plan || is_file(o->recompute);
}

neap_error *session_choose_strategy(struct neap_plan *s) {
    struct neap_options *o = &s->options;
    bool least = o->memory.kind == NEAP_SIZE_MIN, searched = least || o->max_overhead >= 0;
    bool open =
        o->batch == NEAP_BATCH_MAX || o->max_batch || o->micro_batch == NEAP_MICRO_BATCH_AUTO;
    int given = (o->recompute != NULL) + (o->recompute_layers != NULL) + (o->plan != NULL);
    if (given > 1)
        return error_make(NEAP_ERROR_USAGE, "--recompute, --recompute-layers and --plan each say "
                                            "what to recompute: give one");
    if (session_from_file(o) && open)
        return error_make(NEAP_ERROR_USAGE, "the plan of a file is for one batch and one slicing: "
                                            "they cannot be chosen beside it");
    if (given && least && (!o->recompute || strcmp(o->recompute, "auto")))
        return error_make(NEAP_ERROR_USAGE,
                          "the smallest memory is found by '--recompute auto': it cannot be told "
                          "what to recompute");
    if (!given)
        o->recompute = pieces_marked(s->model) && !searched && !s->evaluation ? "segments" : "auto";
    return NULL;
}

/* ---- from a file ---------------------------------------------------------------------------- */

struct plan_json session_describe(const struct neap_plan *s, const struct compiled *c) {
    int64_t batch = s->options.batch, micro = graph_batch(c->g);
    return (struct plan_json){.model = s->model->name,
                              .batch = batch,
                              .micro_batch = micro,
                              .micro_batches = (batch + micro - 1) / micro,
                              .alignment_bytes = ALIGNMENT_BYTES,
                              .g = c->g,
                              .problem = &c->problem,
                              .node_of_op = c->node_of_op,
                              .value_of_plan = c->value_of_plan};
}

/* What a checker refuses in a plan that others made is their fault. */
static neap_error *blame_file(const char *path, neap_error *refused) {
    if (neap_error_code(refused) != NEAP_ERROR_INTERNAL)
        return refused;
    neap_error *error = error_make(NEAP_ERROR_DATA, "%s: %s", path, neap_error_message(refused));
    neap_error_free(refused);
    return error;
}

/* As it is: where every value lies, too. */
static neap_error *load_plan(const struct neap_plan *s, const struct compiled *c, const char *path,
                             int64_t budget_bytes, struct plan_result *out) {
    const struct plan_json here = session_describe(s, c);
    struct plan_json_plan plan;
    TRY(plan_json_read(path, &here, &plan));
    *out = (struct plan_result){.schedule = plan.schedule,
                                .lives = plan.lives,
                                .arena_bytes = plan.arena_bytes,
                                .fits = plan.arena_bytes <= budget_bytes,
                                .strategy = "file"};
    neap_error *error = plan_replay(&c->problem, &out->schedule, &out->measure, NULL);
    const struct plan_claim claim = {.peak_bytes = out->measure.peak_bytes,
                                     .arena_bytes = out->arena_bytes,
                                     .alignment_bytes = ALIGNMENT_BYTES,
                                     .seconds = out->measure.seconds};
    if (!error)
        error = plan_check(&c->problem, &out->schedule, &out->lives, &claim);
    if (error)
        plan_result_free(out);
    return blame_file(path, error);
}

/* ---- solving -------------------------------------------------------------------------------- */

static neap_error *find_pieces(const struct neap_plan *s, const struct compiled *c,
                               const struct neap_options *o, uint32_t **out) {
    *out = NULL;
    if (o->recompute_layers)
        return pieces_of_layers(s->model, c, o->recompute_layers, out);
    if (!strcmp(o->recompute, "segments"))
        return pieces_of_segments(s->model, c, out);
    return NULL;
}

neap_error *session_solve(struct neap_plan *s, const struct compiled *c,
                          const struct neap_options *o, int64_t budget_bytes, uint64_t moves,
                          struct plan_result *out) {
    uint32_t *piece = NULL;
    struct plan_schedule given = {0};
    if (o->plan)
        return load_plan(s, c, o->plan, budget_bytes, out);
    bool file = is_file(o->recompute);
    if (file) {
        const struct plan_json here = session_describe(s, c);
        TRY(plan_json_read_schedule(o->recompute, &here, &given));
    }
    TRY(find_pieces(s, c, o, &piece));
    struct plan_request request = session_request_for(s, budget_bytes);
    request.strategy = o->recompute_layers ? "layers" : file ? "file" : o->recompute;
    request.piece = piece;
    request.given = file ? &given : NULL;
    request.moves = moves;
    neap_error *error = plan_solve(&c->problem, &request, out);
    free(piece);
    plan_schedule_free(&given);
    return file ? blame_file(o->recompute, error) : error;
}
