/* Problems in words: see problem.h. */
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "ops/batch_norm.h"
#include "ops/ops.h"
#include "ops/reduce.h"
#include "pass/pass.h"

/* ---- parsing
 * ------------------------------------------------------------------------------------- */

/* "2x3x4" or "scalar"; where it ends to *end. */
static bool parse_shape(const char *text, struct shape *out, const char **end) {
    *out = (struct shape){0};
    if (!strncmp(text, "scalar", 6)) {
        *end = text + 6;
        return true;
    }
    for (char *next; out->rank < MAX_RANK; text = next + 1) {
        out->dim[out->rank++] = strtoll(text, &next, 10);
        *end = next;
        if (next == text)
            return false;
        if (*next != 'x')
            return true;
    }
    return false;
}

static neap_error *parse_tensor(const char *word, struct problem_tensor *out) {
    const char *at = word;
    *out = (struct problem_tensor){.dtype = DTYPE_F32};
    if (!strcmp(word, "-")) {
        out->absent = true;
        return NULL;
    }
    if (!strncmp(at, "u:", 2)) {
        out->update = true;
        at += 2;
    }
    if (!parse_shape(at, &out->shape, &at))
        return error_make(NEAP_ERROR_USAGE, "'%s' is no tensor", word);
    if (*at == '+' || *at == '!') {
        *(*at == '+' ? &out->positive : &out->special) = true;
    } else if (*at == '<') {
        out->dtype = DTYPE_I32;
        out->below = atoll(at + 1);
    } else if (*at == ':') {
        return dtype_of_name(at + 1, &out->dtype);
    } else if (*at) {
        return error_make(NEAP_ERROR_USAGE, "'%s' is no tensor", word);
    }
    return NULL;
}

static neap_error *parse_option(const char *word, struct problem *p) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"exact", &p->exact},
                 {"fast", &p->fast},
                 {"same", &p->same},
                 {"no-gradient", &p->no_gradient},
                 {"refused", &p->refused}};
    const char *end;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(word, flags[i].name)) {
            *flags[i].flag = true;
            return NULL;
        }
    if (!strncmp(word, "outputs=", 8)) {
        p->n_outputs = (uint32_t)atoi(word + 8);
        return NULL;
    }
    if (!strncmp(word, "y=", 2) && parse_shape(word + 2, &p->shape, &end) && !*end) {
        p->has_shape = true;
        return NULL;
    }
    return error_make(NEAP_ERROR_USAGE, "there is no option '%s'", word);
}

static neap_error *parse_part(char *part, int which, struct problem *p) {
    char *save, *word = strtok_r(part, " \n", &save);
    if (which == 0) {
        p->op = word ? op_find(&all_ops, word) : NULL;
        if (!p->op)
            return error_make(NEAP_ERROR_USAGE, "there is no op '%s'", word ? word : "");
        p->n_outputs = p->op->min_outputs;
        op_attrs_default(p->op, p->attrs);
        return op_attrs_parse(p->op, save, p->attrs);
    }
    for (; word; word = strtok_r(NULL, " \n", &save)) {
        if (which == 1 && p->n_tensors < PROBLEM_MAX_TENSORS)
            TRY(parse_tensor(word, &p->tensors[p->n_tensors++]));
        else
            TRY(parse_option(word, p));
    }
    return NULL;
}

neap_error *problem_parse(const char *line, struct problem *out) {
    char copy[sizeof out->text];
    memset(out, 0, sizeof *out);
    snprintf(out->text, sizeof out->text, "%.*s", (int)strcspn(line, "\n"), line);
    snprintf(copy, sizeof copy, "%s", out->text);
    char *rest = copy;
    for (int which = 0; rest && which < 3; which++) {
        char *part = strsep(&rest, "|");
        size_t length = strlen(part);
        while (length && part[length - 1] == ' ')
            part[--length] = 0;
        TRY(parse_part(part, which, out));
    }
    return NULL;
}

/* ---- graphs
 * -------------------------------------------------------------------------------------- */

static enum value_kind kind_of(const struct problem *p, uint32_t i) {
    if (p->tensors[i].absent)
        return VALUE_INPUT;
    if (p->tensors[i].update || (p->op == &op_batch_norm && i >= 3))
        return VALUE_BUFFER;
    return p->tensors[i].dtype == DTYPE_F32 && !p->no_gradient ? VALUE_PARAMETER : VALUE_INPUT;
}

static neap_error *build(const struct problem *p, enum dtype real, neap_graph *g) {
    value_id in[PROBLEM_MAX_TENSORS], up[PROBLEM_MAX_TENSORS];
    uint32_t n_in = 0, n_up = 0;
    for (uint32_t i = 0; i < p->n_tensors; i++) {
        const struct problem_tensor *t = &p->tensors[i];
        char name[16];
        snprintf(name, sizeof name, "t%u", i);
        struct value_spec spec = {.name = name,
                                  .kind = kind_of(p, i),
                                  .dtype = t->dtype == DTYPE_F32 ? real : t->dtype,
                                  .shape = t->shape,
                                  .of = ID_NONE};
        value_id id;
        TRY(graph_add_value(g, &spec, &id)); /* absent ones too, so that ids are places */
        *(t->update ? &up[n_up++] : &in[n_in++]) = t->absent ? ID_NONE : id;
    }
    if (p->same)
        in[n_in++] = in[0];
    node_id node;
    return graph_add_node(g,
                          &(struct node_spec){.op = p->op,
                                              .name = "y",
                                              .attrs = p->attrs,
                                              .inputs = in,
                                              .n_inputs = n_in,
                                              .updates = up,
                                              .n_updates = n_up,
                                              .n_outputs = p->n_outputs,
                                              .output_kind = VALUE_ACTIVATION},
                          &node);
}

neap_error *problem_graph(const struct problem *p, enum dtype real, neap_graph **out) {
    neap_graph *g, *expanded = NULL;
    TRY(graph_create("problem", &g));
    neap_error *error = build(p, real, g);
    if (!error)
        error = pass_expand(g, true, &expanded);
    if (error || expanded)
        graph_free(g);
    *out = error ? NULL : expanded ? expanded : g;
    return error;
}

neap_error *problem_add_loss(neap_graph *g, value_id *loss) {
    value_id operands[2] = {graph_node(g, g->n_nodes - 1)->outputs[0]};
    const struct value *y = graph_value(g, operands[0]);
    node_id node;
    TRY(graph_add_value(
        g,
        &(struct value_spec){
            .name = "c", .kind = VALUE_INPUT, .dtype = y->dtype, .shape = y->shape, .of = ID_NONE},
        &operands[1]));
    struct node_spec mul = {.op = &op_mul,
                            .name = "weighted",
                            .inputs = operands,
                            .n_inputs = 2,
                            .n_outputs = 1,
                            .output_kind = VALUE_ACTIVATION};
    TRY(graph_add_node(g, &mul, &node));
    struct node_spec sum = {.op = &op_reduce_sum,
                            .name = "loss",
                            .inputs = graph_node(g, node)->outputs,
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .output_kind = VALUE_LOSS};
    TRY(graph_add_node(g, &sum, &node));
    *loss = graph_node(g, node)->outputs[0];
    return NULL;
}

/* ---- numbers
 * ------------------------------------------------------------------------------------- */

void problem_fill(const struct problem_tensor *spec, bool integers, uint64_t stream,
                  const struct tensor *t) {
    for (int64_t i = 0; i < shape_elements(t->shape); i++) {
        struct philox_block block = philox_at(1, stream, (uint64_t)i);
        double number = 2 * philox_double(block.word[0], block.word[1]) - 1;
        if (spec->dtype == DTYPE_I32)
            number = block.word[2] % spec->below;
        else if (spec->dtype == DTYPE_BIT || spec->dtype == DTYPE_U8)
            number = block.word[2] & 1;
        else if (integers)
            number = spec->positive ? 1 + block.word[2] % 3 : (double)(block.word[2] % 7) - 3;
        else if (spec->positive)
            number = 1 + number / 2;
        if (spec->special && block.word[3] % 8 == 0)
            number = (const double[]){NAN, INFINITY, -INFINITY}[block.word[3] / 8 % 3];
        tensor_set(t, i, number);
    }
}
