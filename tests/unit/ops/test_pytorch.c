/* Single ops, forward and backward in double, against PyTorch: tests/oracle/ops.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/autodiff.h"
#include "support/interpret.h"
#include "support/oracle.h"
#include "support/problem.h"

enum { MAX_VALUES = 64, N_FIELDS = 5 };

static void succeed(neap_error *error) {
    if (error)
        fail_msg("%s", neap_error_message(error));
}

static value_id find_value(const neap_graph *g, const char *name) {
    for (value_id v = 0; v < g->n_values; v++)
        if (!strcmp(graph_value(g, v)->name, name))
            return v;
    fail_msg("there is no value '%s'", name);
    return ID_NONE;
}

/* A line of the file: "op words | result | shapes of the inputs | its shape | values". */
struct expectation {
    char op[32], words[160], values[32];
    const char *result, *shapes, *numbers;
    bool evaluation; /* of batch_norm */
    bool is_loss;    /* PyTorch divides by the batch */
};

/* What PyTorch's op can and ours cannot. */
static bool is_foreign(const char *op, const char *word) {
    return !strcmp(op, "max_pool2d") && !strncmp(word, "dilation=", 9);
}

/* Words that are attributes of ours go on; false for a line about what our op cannot. */
static bool read_words(char *text, struct expectation *out) {
    for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        size_t length = strlen(out->words);
        if (is_foreign(out->op, word))
            return false;
        if (!*out->op)
            snprintf(out->op, sizeof out->op, "%s", word);
        else if (!strncmp(word, "values=", 7))
            snprintf(out->values, sizeof out->values, "%s", word + 7);
        else if (!strcmp(word, "evaluation"))
            out->evaluation = true;
        else if (strcmp(word, "training"))
            snprintf(out->words + length, sizeof out->words - length, " %s", word);
    }
    return true;
}

static bool read_line(char *line, struct expectation *out) {
    char *fields[N_FIELDS];
    *out = (struct expectation){0};
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < N_FIELDS; i++) {
        fields[i] = line;
        char *end = strstr(line, " | ");
        if (end)
            *end = 0;
        line = end ? end + 3 : line + strlen(line);
    }
    out->result = fields[1];
    out->shapes = fields[2];
    out->numbers = fields[4];
    return read_words(fields[0], out);
}

/* The op of ours in the words of support/problem.h. */
static void write_problem(const struct expectation *e, char *out, size_t capacity) {
    char shapes[128], labels[32] = "";
    snprintf(shapes, sizeof shapes, "%s", e->shapes);
    for (char *at = shapes; *at; at++)
        *at = *at == ',' ? 'x' : *at;
    const char *op = e->evaluation ? "batch_norm_apply" : e->op;
    if (!strcmp(e->op, "cross_entropy")) {
        op = "softmax_cross_entropy";
        snprintf(labels, sizeof labels, " %d<10", atoi(shapes));
    }
    snprintf(out, capacity, "%s%s | %s%s | %s", op, e->words, shapes, labels,
             e->evaluation ? "no-gradient" : "");
}

/* ---- the oracle's numbers
 * ------------------------------------------------------------------------ */

/* Which input of PyTorch's tensor i is: apply takes the statistics before weight and bias. */
static int phase_of(const struct expectation *e, int i) {
    return e->evaluation ? (const int[]){0, 3, 4, 1, 2}[i] : i;
}

static double number_of(const struct expectation *e, int k, int64_t i) {
    double wave = sin(0.37 * (double)i + k);
    if (!strcmp(e->op, "batch_norm") && k == 4)
        return 1 + 0.5 * wave;
    if (!strcmp(e->values, "ties"))
        return floor(2 * wave);
    if (!strcmp(e->values, "negative"))
        return wave - 2;
    return *e->values ? atof(e->values) * wave : wave;
}

static void fill(const struct expectation *e, const struct problem *p, struct interpreter *it) {
    for (uint32_t t = 0; t < p->n_tensors; t++) {
        char name[16];
        snprintf(name, sizeof name, "t%u", t);
        const struct tensor *x = &it->tensors[find_value(it->g, name)];
        for (int64_t i = 0; i < shape_elements(x->shape); i++)
            tensor_set(x, i,
                       x->dtype == DTYPE_I32 ? (double)((7 * i + 3) % 10)
                                             : number_of(e, phase_of(e, (int)t), i));
    }
}

static void check_numbers(const struct expectation *e, const struct tensor *got, double scale) {
    const char *at = e->numbers;
    for (int64_t i = 0; i < shape_elements(got->shape); i++) {
        char *end;
        double want = strtod(at, &end);
        assert_true(end != at);
        at = end;
        if (!(fabs(tensor_get(got, i) * scale - want) <= 1e-12 * fmax(1, fabs(want))))
            fail_msg("%s%s: %s[%lld] is %.15g, PyTorch says %.15g", e->op, e->words, e->result,
                     (long long)i, tensor_get(got, i) * scale, want);
    }
}

/* ---- running
 * ------------------------------------------------------------------------------------- */

/* The value that the line is about, after forward and, where the op has one, backward. */
static value_id differentiate(const struct expectation *e, const struct problem *p, neap_graph *g,
                              struct interpreter *it) {
    value_id loss, gradients[MAX_VALUES], y = graph_node(g, g->n_nodes - 1)->outputs[0];
    char name[16];
    if (!p->no_gradient) {
        succeed(problem_add_loss(g, &loss));
        succeed(autodiff_run(g, loss, false, gradients));
    }
    succeed(interpreter_create(g, it));
    fill(e, p, it);
    if (!p->no_gradient) {
        const struct tensor *c = &it->tensors[find_value(g, "c")];
        double samples = (double)p->tensors[0].shape.dim[0];
        for (int64_t i = 0; i < shape_elements(c->shape); i++)
            tensor_set(c, i, e->is_loss ? 1 / samples : cos(0.37 * (double)i));
    }
    interpreter_run(it, 0, g->n_nodes);
    if (!strcmp(e->result, "y"))
        return y;
    if (e->result[0] == 'r')
        return find_value(g, strcmp(e->result, "running_mean") ? "t4" : "t3");
    snprintf(name, sizeof name, "t%s", e->result + 1);
    return gradients[find_value(g, name)];
}

static void check_line(struct expectation *e) {
    char words[512];
    struct problem p;
    neap_graph *g;
    struct interpreter it;
    write_problem(e, words, sizeof words);
    e->is_loss = !strcmp(e->op, "mse") || !strcmp(e->op, "cross_entropy");
    succeed(problem_parse(words, &p));
    succeed(problem_graph(&p, DTYPE_F64, &g));
    value_id result = differentiate(e, &p, g, &it);
    bool mean = e->is_loss && !strcmp(e->result, "y");
    check_numbers(e, &it.tensors[result], mean ? 1 / (double)p.tensors[0].shape.dim[0] : 1);
    interpreter_destroy(&it);
    graph_free(g);
}

/* Every line about the op. */
static void agrees(const char *op) {
    char *line = NULL;
    size_t capacity = 0;
    int n_lines = 0;
    FILE *file = oracle_open("ops.txt");
    if (!file)
        fail_msg("cannot open tests/oracle/ops.txt below SOURCE_DIR");
    while (getline(&line, &capacity, file) > 0) {
        struct expectation e;
        if (line[0] == '#' || !read_line(line, &e) || strcmp(e.op, op))
            continue;
        check_line(&e);
        n_lines++;
    }
    free(line);
    fclose(file);
    assert_true(n_lines > 0);
}

static void max_pool2d_with_ties_ceil_mode_and_negative_values_agrees(void **state) {
    (void)state;
    agrees("max_pool2d");
}

static void avg_pool2d_with_padding_counted_or_not_agrees(void **state) {
    (void)state;
    agrees("avg_pool2d");
}

static void adaptive_avg_pool2d_up_and_down_agrees(void **state) {
    (void)state;
    agrees("adaptive_avg_pool2d");
}

static void conv2d_strided_dilated_and_grouped_agrees(void **state) {
    (void)state;
    agrees("conv2d");
}

static void linear_agrees(void **state) {
    (void)state;
    agrees("linear");
}

static void batch_norm_in_training_and_evaluation_agrees(void **state) {
    (void)state;
    agrees("batch_norm");
}

static void softmax_of_moderate_and_huge_numbers_agrees(void **state) {
    (void)state;
    agrees("softmax");
    agrees("log_softmax");
}

static void cross_entropy_of_moderate_and_huge_logits_agrees(void **state) {
    (void)state;
    agrees("cross_entropy");
}

static void mse_agrees(void **state) {
    (void)state;
    agrees("mse");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_pool2d_with_ties_ceil_mode_and_negative_values_agrees),
        cmocka_unit_test(avg_pool2d_with_padding_counted_or_not_agrees),
        cmocka_unit_test(adaptive_avg_pool2d_up_and_down_agrees),
        cmocka_unit_test(conv2d_strided_dilated_and_grouped_agrees),
        cmocka_unit_test(linear_agrees),
        cmocka_unit_test(batch_norm_in_training_and_evaluation_agrees),
        cmocka_unit_test(softmax_of_moderate_and_huge_numbers_agrees),
        cmocka_unit_test(cross_entropy_of_moderate_and_huge_logits_agrees),
        cmocka_unit_test(mse_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
