/* Writing plan.json: see plan_json.h. Streamed line by line: a document in memory would be many
 * times the plan. Only strings are left to the JSON library. */
#include "fmt/plan_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/op.h"

struct writer {
    const struct plan_json *plan;
    FILE *file;
    uint32_t *life_of; /* by value: its current life, or PLAN_NONE */
    bool *executed;    /* by op, its alternatives included */
};

/* ---- pieces --------------------------------------------------------------------------------- */

static neap_error *put_string(struct writer *w, const char *key, const char *text) {
    json_t *string = json_string(text);
    if (!string)
        return error_make(NEAP_ERROR_RUNTIME, "the name '%s' cannot be written as JSON", text);
    fprintf(w->file, "\"%s\": ", key);
    json_dumpf(string, w->file, JSON_ENCODE_ANY); /* the file's errors are commit's */
    json_decref(string);
    return NULL;
}

static void put_integer(struct writer *w, const char *key, int64_t number) {
    fprintf(w->file, "\"%s\": %" PRId64, key, number);
}

static void put_bool(struct writer *w, const char *key, bool value) {
    fprintf(w->file, "\"%s\": %s", key, value ? "true" : "false");
}

static void put_ids(struct writer *w, const char *key, const uint32_t *ids, uint32_t n) {
    fprintf(w->file, "\"%s\": [", key);
    for (uint32_t i = 0; i < n; i++)
        fprintf(w->file, "%s%u", i ? ", " : "", ids[i]);
    putc(']', w->file);
}

static void put_id_or_null(struct writer *w, const char *key, uint32_t id) {
    if (id == PLAN_NONE)
        fprintf(w->file, "\"%s\": null", key);
    else
        put_integer(w, key, id);
}

static void comma(struct writer *w) {
    fputs(", ", w->file);
}

static void row_open(struct writer *w, size_t index) {
    fputs(index ? ",\n    {" : "\n    {", w->file);
}

static void row_close(struct writer *w) {
    putc('}', w->file);
}

/* ---- the four tables ---------------------------------------------------------------------------
 */

/* Scratch belongs to the op that makes it, and is named after it. */
static neap_error *put_value_name(struct writer *w, uint32_t id) {
    const struct plan_json *plan = w->plan;
    if (plan->value_of_plan[id] != ID_NONE)
        return put_string(w, "name", graph_value(plan->g, plan->value_of_plan[id])->name);
    uint32_t op = plan->problem->values[id].producer;
    char *name;
    TRY(memory_format(&name, "%s.scratch", graph_node(plan->g, plan->node_of_op[op])->name));
    neap_error *error = put_string(w, "name", name);
    free(name);
    return error;
}

static neap_error *put_value(struct writer *w, uint32_t id) {
    const struct plan_value *value = &w->plan->problem->values[id];
    value_id v = w->plan->value_of_plan[id];
    enum value_kind kind = v == ID_NONE ? VALUE_SCRATCH : graph_value(w->plan->g, v)->kind;
    row_open(w, id);
    put_integer(w, "id", id);
    comma(w);
    TRY(put_value_name(w, id));
    comma(w);
    put_integer(w, "bytes", value->bytes);
    comma(w);
    put_bool(w, "persistent", value->persistent);
    comma(w);
    put_id_or_null(w, "view_of", PLAN_NONE); /* ops read roots */
    comma(w);
    TRY(put_string(w, "kind", value_kind_name(kind)));
    row_close(w);
    return NULL;
}

static void put_span(struct writer *w, const char *key, struct plan_span span) {
    put_ids(w, key, w->plan->problem->ids + span.first, span.n);
    comma(w);
}

static void put_overwrites(struct writer *w, const struct plan_op *op) {
    fputs("\"may_overwrite\": [", w->file);
    for (uint32_t i = 0; i < op->n_overwrites; i++) {
        struct plan_overwrite pair = w->plan->problem->overwrites[op->first_overwrite + i];
        fprintf(w->file, "%s[%u, %u]", i ? ", " : "", pair.input, pair.output);
    }
    fputs("], ", w->file);
}

static neap_error *put_op(struct writer *w, uint32_t id) {
    static const char *const phases[] = {
        [PLAN_FORWARD] = "forward", [PLAN_BACKWARD] = "backward", [PLAN_UPDATE] = "update"};
    const struct plan_op *op = &w->plan->problem->ops[id];
    const struct node *node = graph_node(w->plan->g, w->plan->node_of_op[id]);
    row_open(w, id);
    put_integer(w, "id", id);
    comma(w);
    TRY(put_string(w, "name", node->name));
    comma(w);
    TRY(put_string(w, "kind", node->op->name));
    comma(w);
    TRY(put_string(w, "phase", phases[op->phase]));
    fprintf(w->file, ", \"seconds\": %.17g, ", op->seconds);
    put_span(w, "inputs", op->inputs);
    put_span(w, "outputs", op->outputs);
    put_span(w, "updates", op->updates);
    put_overwrites(w, op);
    put_bool(w, "effect", op->effect);
    if (id >= w->plan->problem->n_ops) {
        comma(w);
        put_integer(w, "alternative_of", op->alternative_of);
    }
    row_close(w);
    return NULL;
}

static neap_error *put_buffer(struct writer *w, uint32_t id) {
    const struct plan_life *life = &w->plan->lives->at[id];
    row_open(w, id);
    put_integer(w, "id", id);
    comma(w);
    put_integer(w, "value", life->value);
    comma(w);
    put_integer(w, "first_step", life->first_step);
    comma(w);
    put_integer(w, "last_step", life->last_step);
    comma(w);
    put_integer(w, "offset", life->offset);
    comma(w);
    put_integer(w, "bytes", life->bytes);
    comma(w);
    put_id_or_null(w, "in_place_of", life->in_place_of);
    row_close(w);
    return NULL;
}

/* The current lives of what a span names; persistent values have none. */
static void put_buffers_of(struct writer *w, const char *key, struct plan_span span) {
    const char *separator = "";
    fprintf(w->file, "\"%s\": [", key);
    for (uint32_t i = 0; i < span.n; i++) {
        uint32_t life = w->life_of[w->plan->problem->ids[span.first + i]];
        if (life == PLAN_NONE)
            continue;
        fprintf(w->file, "%s%u", separator, life);
        separator = ", ";
    }
    putc(']', w->file);
}

static void put_step(struct writer *w, uint32_t step, uint32_t *next_life) {
    const struct plan_lives *lives = w->plan->lives;
    uint32_t id = w->plan->schedule->ops[step];
    const struct plan_op *op = &w->plan->problem->ops[id];
    bool *executed = &w->executed[plan_primary(w->plan->problem, id)];
    row_open(w, step);
    put_integer(w, "op", id);
    fprintf(w->file, ", \"part\": \"%s\", ", op->update_part ? "update" : "micro");
    put_bool(w, "recompute", *executed);
    comma(w);
    *executed = true;
    put_buffers_of(w, "reads", op->inputs);
    comma(w);
    for (; *next_life < lives->n && lives->at[*next_life].first_step == step; ++*next_life)
        w->life_of[lives->at[*next_life].value] = *next_life;
    put_buffers_of(w, "writes", op->outputs);
    comma(w);
    put_buffers_of(w, "updates", op->updates);
    row_close(w);
}

static neap_error *put_steps(struct writer *w) {
    const struct plan_problem *problem = w->plan->problem;
    const struct plan_lives *lives = w->plan->lives;
    uint32_t next_life = 0;
    TRY(memory_alloc(problem->n_values, sizeof *w->life_of, &w->life_of));
    TRY(memory_alloc(problem->n_ops, sizeof *w->executed, &w->executed));
    for (uint32_t v = 0; v < problem->n_values; v++)
        w->life_of[v] = PLAN_NONE;
    for (uint32_t l = 0; l < lives->n; l++)
        if (problem->values[lives->at[l].value].input)
            w->life_of[lives->at[l].value] = l;
    for (uint32_t step = 0; step < w->plan->schedule->n; step++)
        put_step(w, step, &next_life);
    return NULL;
}

/* ---- the document
 * -------------------------------------------------------------------------------- */

static neap_error *put_head(struct writer *w) {
    const struct plan_json *plan = w->plan;
    const struct {
        const char *key;
        int64_t number;
    } numbers[] = {
        {"batch", plan->batch},
        {"micro_batch", plan->micro_batch},
        {"micro_batches", plan->micro_batches},
        {"alignment_bytes", plan->alignment_bytes},
        {"arena_bytes", plan->arena_bytes},
        {"live_peak_bytes", plan->live_peak_bytes},
    };
    fputs("{\n  \"format\": \"neap-plan/1\",\n  ", w->file);
    TRY(put_string(w, "model", plan->model));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        fputs(",\n  ", w->file);
        put_integer(w, numbers[i].key, numbers[i].number);
    }
    return NULL;
}

static neap_error *put_rows(struct writer *w, const char *key, size_t n,
                            neap_error *(*put)(struct writer *w, uint32_t id)) {
    fprintf(w->file, ",\n  \"%s\": [", key);
    for (uint32_t id = 0; id < n; id++)
        TRY(put(w, id));
    fputs("\n  ]", w->file);
    return NULL;
}

static neap_error *put_document(struct writer *w) {
    TRY(put_head(w));
    TRY(put_rows(w, "values", w->plan->problem->n_values, put_value));
    TRY(put_rows(w, "ops", w->plan->problem->n_ops + w->plan->problem->n_alternatives, put_op));
    TRY(put_rows(w, "buffers", w->plan->lives->n, put_buffer));
    fputs(",\n  \"steps\": [", w->file);
    TRY(put_steps(w));
    fputs("\n  ]\n}\n", w->file);
    return NULL;
}

neap_error *plan_json_save(const struct plan_json *plan, const char *path) {
    struct file_writer *out;
    TRY(file_writer_open(path, &out));
    struct writer w = {.plan = plan, .file = file_writer_stream(out)};
    neap_error *error = put_document(&w);
    free(w.life_of);
    free(w.executed);
    if (!error)
        return file_writer_commit(out);
    file_writer_abort(out);
    return error;
}
