/* Reading plan.json: see plan_json.h. The document is held in memory while it is compared. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fmt/plan_json.h"
#include "ir/op.h"

static const int64_t most_bytes = (int64_t)1 << 30;

struct reader {
    const char *path;
    const struct plan_json *here;
    json_t *root;
    uint32_t *op_of; /* by op of the file: the problem's */
    bool ops_alone;  /* values may differ: another batch, other scratch */
};

/* ---- the document --------------------------------------------------------------------------- */

#define MALFORMED(r, text, ...)                                                                    \
    error_make(NEAP_ERROR_DATA, "%s: not a plan: " text, (r)->path, __VA_ARGS__)
#define DIFFERENT(r, text, ...)                                                                    \
    error_make(NEAP_ERROR_USAGE,                                                                   \
               "%s is a plan of another step: " text                                               \
               "; a plan fits the model, batch and options that it was made with",                 \
               (r)->path, __VA_ARGS__)

static neap_error *load(struct reader *r) {
    struct file_bytes text;
    json_error_t where;
    TRY(file_read(r->path, most_bytes, NEAP_ERROR_DATA, &text));
    r->root = json_loadb(text.data, (size_t)text.size_bytes, JSON_REJECT_DUPLICATES, &where);
    free(text.data);
    if (!r->root)
        return error_make(NEAP_ERROR_DATA, "%s:%d:%d: %s", r->path, where.line, where.column,
                          where.text);
    const char *format = json_string_value(json_object_get(r->root, "format"));
    if (!format || strcmp(format, "neap-plan/1"))
        return MALFORMED(r, "its format is %s%s%s, not 'neap-plan/1'", format ? "'" : "",
                         format ? format : "missing", format ? "'" : "");
    return NULL;
}

static neap_error *get_array(const struct reader *r, const json_t *object, const char *key,
                             const json_t **out) {
    *out = json_object_get(object, key);
    return json_is_array(*out) ? NULL : MALFORMED(r, "there is no list '%s'", key);
}

/* From 0 to `most`. */
static neap_error *get_integer(const struct reader *r, const json_t *object, const char *key,
                               int64_t most, int64_t *out) {
    const json_t *value = json_object_get(object, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out <= most
               ? NULL
               : MALFORMED(r, "'%s' is not a whole number from 0 to %lld", key, (long long)most);
}

static neap_error *get_id(const struct reader *r, const json_t *object, const char *key,
                          uint32_t below, uint32_t *out) {
    int64_t id;
    TRY(get_integer(r, object, key, (int64_t)below - 1, &id));
    *out = (uint32_t)id;
    return NULL;
}

static neap_error *get_text(const struct reader *r, const json_t *object, const char *key,
                            const char **out) {
    *out = json_string_value(json_object_get(object, key));
    return *out ? NULL : MALFORMED(r, "'%s' is not a text", key);
}

/* ---- is it this step? ----------------------------------------------------------------------- */

static neap_error *check_batch(const struct reader *r) {
    int64_t batch, micro;
    TRY(get_integer(r, r->root, "batch", INT64_MAX, &batch));
    TRY(get_integer(r, r->root, "micro_batch", INT64_MAX, &micro));
    if (batch == r->here->batch && micro == r->here->micro_batch)
        return NULL;
    return error_make(NEAP_ERROR_USAGE,
                      "%s is a plan for batch %lld in slices of %lld, here they are %lld and %lld "
                      "(-b %lld --micro-batch %lld would fit it)",
                      r->path, (long long)batch, (long long)micro, (long long)r->here->batch,
                      (long long)r->here->micro_batch, (long long)batch, (long long)micro);
}

static neap_error *check_count(const struct reader *r, const char *what, const json_t *rows,
                               size_t here) {
    size_t there = json_array_size(rows);
    return there == here ? NULL
                         : DIFFERENT(r, "it has %zu %s, this one has %zu", there, what, here);
}

/* Scratch has no name of its own. */
static const char *value_name(const struct plan_json *here, uint32_t v) {
    value_id id = here->value_of_plan[v];
    return id == ID_NONE ? NULL : graph_value(here->g, id)->name;
}

static neap_error *check_value(const struct reader *r, const json_t *row, uint32_t v) {
    const struct plan_value *value = &r->here->problem->values[v];
    const char *name, *here = value_name(r->here, v);
    int64_t bytes;
    TRY(get_text(r, row, "name", &name));
    if (here && strcmp(name, here))
        return DIFFERENT(r, "value %u is '%s' there and '%s' here", v, name, here);
    TRY(get_integer(r, row, "bytes", INT64_MAX, &bytes));
    if (bytes != value->bytes)
        return DIFFERENT(r, "value '%s' has %lld bytes there and %lld here", name, (long long)bytes,
                         (long long)value->bytes);
    if (json_is_true(json_object_get(row, "persistent")) != value->persistent)
        return DIFFERENT(r, "value '%s' is persistent %s alone", name,
                         value->persistent ? "here" : "there");
    return NULL;
}

static neap_error *check_values(const struct reader *r) {
    const json_t *rows;
    uint32_t n = r->here->problem->n_values;
    TRY(get_array(r, r->root, "values", &rows));
    for (uint32_t v = 0; v < n && v < json_array_size(rows); v++)
        TRY(check_value(r, json_array_get(rows, v), v));
    return check_count(r, "values", rows, n);
}

static neap_error *same_ids(const struct reader *r, const json_t *row, const char *key,
                            struct plan_span span, bool *same) {
    const json_t *ids;
    TRY(get_array(r, row, key, &ids));
    *same = *same && json_array_size(ids) == span.n;
    for (uint32_t i = 0; *same && i < span.n; i++)
        *same = json_integer_value(json_array_get(ids, i)) ==
                (json_int_t)r->here->problem->ids[span.first + i];
    return NULL;
}

static neap_error *same_values(const struct reader *r, const json_t *row, uint32_t o, bool *same) {
    const struct plan_op *op = &r->here->problem->ops[o];
    *same = true;
    TRY(same_ids(r, row, "inputs", op->inputs, same));
    TRY(same_ids(r, row, "outputs", op->outputs, same));
    return same_ids(r, row, "updates", op->updates, same);
}

/* Which of an op and its alternatives comes first depends on measured seconds. */
static neap_error *find_among_alternatives(struct reader *r, const json_t *row, uint32_t o) {
    const struct plan_problem *p = r->here->problem;
    uint32_t primary = plan_primary(p, o);
    bool same;
    TRY(same_values(r, row, o, &same));
    if (same)
        return NULL;
    for (uint32_t other = 0; other < p->n_ops + p->n_alternatives; other++) {
        if (plan_primary(p, other) != primary)
            continue;
        TRY(same_values(r, row, other, &same));
        if (!same)
            continue;
        r->op_of[o] = other;
        return NULL;
    }
    return DIFFERENT(r, "op '%s' reads or makes other values there",
                     graph_node(r->here->g, r->here->node_of_op[o])->name);
}

static neap_error *check_op(struct reader *r, const json_t *row, uint32_t o) {
    const struct node *node = graph_node(r->here->g, r->here->node_of_op[o]);
    const char *name, *kind;
    TRY(get_text(r, row, "name", &name));
    TRY(get_text(r, row, "kind", &kind));
    if (strcmp(name, node->name) || strcmp(kind, node->op->name))
        return DIFFERENT(r, "op %u is '%s' (%s) there and '%s' (%s) here", o, name, kind,
                         node->name, node->op->name);
    r->op_of[o] = o;
    return r->ops_alone ? NULL : find_among_alternatives(r, row, o);
}

static neap_error *check_ops(struct reader *r) {
    const json_t *rows;
    uint32_t n = r->here->problem->n_ops + r->here->problem->n_alternatives;
    TRY(memory_alloc(n, sizeof *r->op_of, &r->op_of));
    TRY(get_array(r, r->root, "ops", &rows));
    for (uint32_t o = 0; o < n && o < json_array_size(rows); o++)
        TRY(check_op(r, json_array_get(rows, o), o));
    return check_count(r, "ops", rows, n);
}

/* ---- the plan ------------------------------------------------------------------------------- */

static neap_error *read_steps(const struct reader *r, struct plan_schedule *out) {
    const json_t *rows;
    uint32_t n = r->here->problem->n_ops + r->here->problem->n_alternatives;
    TRY(get_array(r, r->root, "steps", &rows));
    for (size_t s = 0; s < json_array_size(rows); s++) {
        uint32_t op;
        TRY(get_id(r, json_array_get(rows, s), "op", n, &op));
        TRY(plan_schedule_push(out, r->op_of[op]));
    }
    return NULL;
}

static neap_error *read_buffer(const struct reader *r, const json_t *row, uint32_t n_buffers,
                               struct plan_life *life) {
    TRY(get_id(r, row, "value", r->here->problem->n_values, &life->value));
    TRY(get_id(r, row, "first_step", UINT32_MAX, &life->first_step));
    TRY(get_id(r, row, "last_step", UINT32_MAX, &life->last_step));
    TRY(get_integer(r, row, "offset", INT64_MAX, &life->offset));
    TRY(get_integer(r, row, "bytes", INT64_MAX, &life->bytes));
    life->in_place_of = PLAN_NONE;
    if (json_is_null(json_object_get(row, "in_place_of")))
        return NULL;
    return get_id(r, row, "in_place_of", n_buffers, &life->in_place_of);
}

static neap_error *read_buffers(const struct reader *r, struct plan_lives *out) {
    const json_t *rows;
    TRY(get_array(r, r->root, "buffers", &rows));
    size_t n = json_array_size(rows);
    TRY(memory_grow(&out->at, &out->capacity, n, sizeof *out->at));
    for (; out->n < n; out->n++)
        TRY(read_buffer(r, json_array_get(rows, out->n), (uint32_t)n, &out->at[out->n]));
    return NULL;
}

static void close_reader(struct reader *r) {
    json_decref(r->root);
    free(r->op_of);
}

neap_error *plan_json_read_schedule(const char *path, const struct plan_json *here,
                                    struct plan_schedule *out) {
    struct reader r = {.path = path, .here = here, .ops_alone = true};
    neap_error *error = NULL;
    *out = (struct plan_schedule){0};
    TRY_GOTO(load(&r));
    TRY_GOTO(check_ops(&r));
    TRY_GOTO(read_steps(&r, out));
done:
    close_reader(&r);
    if (error)
        plan_schedule_free(out);
    return error;
}

neap_error *plan_json_read(const char *path, const struct plan_json *here,
                           struct plan_json_plan *out) {
    struct reader r = {.path = path, .here = here};
    neap_error *error = NULL;
    *out = (struct plan_json_plan){0};
    TRY_GOTO(load(&r));
    TRY_GOTO(check_batch(&r));
    TRY_GOTO(check_values(&r));
    TRY_GOTO(check_ops(&r));
    TRY_GOTO(read_steps(&r, &out->schedule));
    TRY_GOTO(read_buffers(&r, &out->lives));
    TRY_GOTO(get_integer(&r, r.root, "arena_bytes", INT64_MAX, &out->arena_bytes));
done:
    close_reader(&r);
    if (error) {
        plan_schedule_free(&out->schedule);
        plan_lives_free(&out->lives);
    }
    return error;
}
