/* Planning problems for tests: written as text, or made op by op.
 *
 *   input x 64
 *   persistent w
 *   forward 2 conv : x w -> y 64        phase, seconds, name : inputs -> outputs with their bytes
 *   forward 1 relu : y -> z 64 over y z    z may take the place of y
 *   forward 0 count : -> updates w effect
 *   update 1 sgd : dw -> updates w last    runs once per window
 *   instead relu 1 lean : y -> z over y z   an alternative; they stand behind all ops
 *
 * An output that was declared persistent has no bytes. Ops and values are named by what is written;
 * schedules are names of ops. */
#ifndef NEAP_TESTS_UNIT_PLAN_BUILDER_H
#define NEAP_TESTS_UNIT_PLAN_BUILDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/problem.h"

enum { max_ops = 256, max_values = 512, max_ids = 4096, max_pairs = 512, max_per_op = 24 };

struct op_spec {
    double seconds;
    enum plan_phase phase;
    bool effect, update_part;
    uint32_t inputs[max_per_op], outputs[max_per_op], updates[max_per_op];
    uint32_t n_inputs, n_outputs, n_updates;
    struct plan_overwrite overwrites[max_per_op];
    uint32_t n_overwrites;
};

struct builder {
    struct plan_problem problem; /* points into the arrays below */
    struct plan_op ops[max_ops];
    struct plan_value values[max_values];
    uint32_t ids[max_ids];
    struct plan_overwrite overwrites[max_pairs];
    char op_names[max_ops][16], value_names[max_values][16];
};

static inline void builder_start(struct builder *b) {
    b->problem = (struct plan_problem){
        .ops = b->ops, .values = b->values, .ids = b->ids, .overwrites = b->overwrites};
}

static inline uint32_t builder_value(struct builder *b, struct plan_value value) {
    assert_true(b->problem.n_values < max_values);
    b->values[b->problem.n_values] = value;
    b->value_names[b->problem.n_values][0] = 0;
    return b->problem.n_values++;
}

static inline uint32_t builder_input(struct builder *b, int64_t bytes) {
    return builder_value(b,
                         (struct plan_value){.bytes = bytes, .input = true, .producer = PLAN_NONE});
}

static inline uint32_t builder_persistent(struct builder *b) {
    return builder_value(
        b, (struct plan_value){.bytes = 64, .persistent = true, .producer = PLAN_NONE});
}

/* A value that the next op to be added produces: put it among its outputs. */
static inline uint32_t builder_output(struct builder *b, int64_t bytes) {
    return builder_value(b, (struct plan_value){.bytes = bytes, .producer = b->problem.n_ops});
}

static inline struct plan_span builder_span(struct builder *b, const uint32_t *ids, uint32_t n) {
    struct plan_span span = {b->problem.n_ids, n};
    assert_true(b->problem.n_ids + n <= max_ids);
    for (uint32_t i = 0; i < n; i++)
        b->ids[b->problem.n_ids++] = ids[i];
    return span;
}

static inline void builder_place(struct builder *b, uint32_t index, const struct op_spec *spec) {
    assert_true(index < max_ops);
    assert_true(b->problem.n_overwrites + spec->n_overwrites <= max_pairs);
    b->ops[index] = (struct plan_op){.seconds = spec->seconds,
                                     .phase = spec->phase,
                                     .effect = spec->effect,
                                     .update_part = spec->update_part,
                                     .inputs = builder_span(b, spec->inputs, spec->n_inputs),
                                     .outputs = builder_span(b, spec->outputs, spec->n_outputs),
                                     .updates = builder_span(b, spec->updates, spec->n_updates),
                                     .first_overwrite = b->problem.n_overwrites,
                                     .n_overwrites = spec->n_overwrites};
    for (uint32_t i = 0; i < spec->n_overwrites; i++)
        b->overwrites[b->problem.n_overwrites++] = spec->overwrites[i];
}

static inline uint32_t builder_op(struct builder *b, const struct op_spec *spec) {
    assert_int_equal(b->problem.n_alternatives, 0); /* they stand behind all ops */
    builder_place(b, b->problem.n_ops, spec);
    return b->problem.n_ops++;
}

/* Another way to do a primary's work: of `spec` the phase and the flags do not count. */
static inline uint32_t builder_alternative(struct builder *b, uint32_t primary,
                                           const struct op_spec *spec) {
    const struct plan_op *op = &b->ops[primary];
    struct op_spec alternative = *spec;
    uint32_t index = b->problem.n_ops + b->problem.n_alternatives++;
    alternative.phase = op->phase;
    alternative.effect = op->effect;
    alternative.update_part = op->update_part;
    builder_place(b, index, &alternative);
    b->ops[index].alternative_of = primary;
    for (uint32_t i = 0; i < spec->n_outputs; i++)
        b->values[spec->outputs[i]].producer =
            b->values[spec->outputs[i]].persistent ? b->values[spec->outputs[i]].producer : primary;
    return index;
}

/* ---- text --------------------------------------------------------------------------------- */

static inline uint32_t value_named(const struct builder *b, const char *name) {
    for (uint32_t v = 0; v < b->problem.n_values; v++)
        if (strcmp(b->value_names[v], name) == 0)
            return v;
    return PLAN_NONE;
}

static inline uint32_t op_named(const struct builder *b, const char *name) {
    for (uint32_t o = 0; o < b->problem.n_ops + b->problem.n_alternatives; o++)
        if (strcmp(b->op_names[o], name) == 0)
            return o;
    return PLAN_NONE;
}

static inline void name_value(struct builder *b, uint32_t value, const char *name) {
    snprintf(b->value_names[value], sizeof b->value_names[value], "%s", name);
}

static inline uint32_t next_value(const struct builder *b, char **rest) {
    uint32_t value = value_named(b, strtok_r(NULL, " ", rest));
    assert_int_not_equal(value, PLAN_NONE);
    return value;
}

/* `primary`: of an alternative, else PLAN_NONE. */
static inline void read_op(struct builder *b, enum plan_phase phase, uint32_t primary,
                           char **rest) {
    struct op_spec spec = {.phase = phase, .seconds = atof(strtok_r(NULL, " ", rest))};
    snprintf(b->op_names[b->problem.n_ops + b->problem.n_alternatives], sizeof b->op_names[0], "%s",
             strtok_r(NULL, " ", rest));
    char section = 0;
    for (char *word; (word = strtok_r(NULL, " ", rest));) {
        uint32_t value = value_named(b, word);
        if (strcmp(word, ":") == 0 || strcmp(word, "->") == 0 || strcmp(word, "updates") == 0) {
            section = word[0];
        } else if (strcmp(word, "effect") == 0) {
            spec.effect = true;
        } else if (strcmp(word, "last") == 0) {
            spec.update_part = true;
        } else if (strcmp(word, "over") == 0) {
            uint32_t from = next_value(b, rest), to = next_value(b, rest);
            spec.overwrites[spec.n_overwrites++] = (struct plan_overwrite){from, to};
        } else if (section == '-') {
            if (value == PLAN_NONE) {
                value = builder_output(b, atoll(strtok_r(NULL, " ", rest)));
                name_value(b, value, word);
            }
            spec.outputs[spec.n_outputs++] = value;
        } else {
            assert_int_not_equal(value, PLAN_NONE);
            if (section == ':')
                spec.inputs[spec.n_inputs++] = value;
            else
                spec.updates[spec.n_updates++] = value;
        }
    }
    if (primary == PLAN_NONE)
        builder_op(b, &spec);
    else
        builder_alternative(b, primary, &spec);
}

static inline void read_line(struct builder *b, char *line) {
    char *rest, *kind = strtok_r(line, " ", &rest);
    if (strcmp(kind, "input") == 0) {
        char *name = strtok_r(NULL, " ", &rest);
        name_value(b, builder_input(b, atoll(strtok_r(NULL, " ", &rest))), name);
    } else if (strcmp(kind, "persistent") == 0) {
        name_value(b, builder_persistent(b), strtok_r(NULL, " ", &rest));
    } else if (strcmp(kind, "forward") == 0) {
        read_op(b, PLAN_FORWARD, PLAN_NONE, &rest);
    } else if (strcmp(kind, "backward") == 0) {
        read_op(b, PLAN_BACKWARD, PLAN_NONE, &rest);
    } else if (strcmp(kind, "instead") == 0) {
        uint32_t primary = op_named(b, strtok_r(NULL, " ", &rest));
        assert_int_not_equal(primary, PLAN_NONE);
        read_op(b, PLAN_FORWARD, primary, &rest);
    } else {
        assert_string_equal(kind, "update");
        read_op(b, PLAN_UPDATE, PLAN_NONE, &rest);
    }
}

static inline void builder_read(struct builder *b, const char *text) {
    char copy[4096], *rest;
    builder_start(b);
    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(b, line);
}

/* ---- schedules ---------------------------------------------------------------------------- */

static inline void push_op(struct plan_schedule *schedule, uint32_t op) {
    assert_null(plan_schedule_push(schedule, op));
}

static inline void base_order(const struct builder *b, struct plan_schedule *schedule) {
    for (uint32_t o = 0; o < b->problem.n_ops; o++)
        push_op(schedule, o);
}

/* "a b a": names of ops; NULL: the base order. */
static inline void read_schedule(const struct builder *b, const char *text,
                                 struct plan_schedule *schedule) {
    char copy[1024], *rest;
    *schedule = (struct plan_schedule){0};
    if (!text) {
        base_order(b, schedule);
        return;
    }
    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_int_not_equal(op_named(b, word), PLAN_NONE);
        push_op(schedule, op_named(b, word));
    }
}

/* The n-th life (from 0) of the value of this name. */
static inline struct plan_life *life_named(const struct builder *b, const struct plan_lives *lives,
                                           const char *name, int n) {
    for (size_t i = 0; i < lives->n; i++)
        if (lives->at[i].value == value_named(b, name) && n-- == 0)
            return &lives->at[i];
    fail_msg("'%s' has fewer lives", name);
    return NULL;
}

static inline uint32_t life_index(const struct plan_lives *lives, const struct plan_life *life) {
    return (uint32_t)(life - lives->at);
}

#endif
