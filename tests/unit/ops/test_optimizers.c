/* Fifty updates of sgd and adam in double against PyTorch: tests/oracle/optimizers.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/interpret.h"
#include "support/oracle.h"
#include "support/problem.h"

enum { N = 7, MAX_STATES = 2 };

/* How the gradient arrives: as an input, or in an accumulator that the update clears; and what the
 * update multiplies it by. */
struct delivery {
    bool accumulated;
    double scale;
};

static void succeed(neap_error *error) {
    if (error)
        fail_msg("%s", neap_error_message(error));
}

/* "adamw lr=0.01 weight_decay=0.1" → "adam decoupled=1 weight_decay=0.1 | 7 u:7 u:7 u:7"; lr. */
static double write_problem(const char *words, struct delivery delivery, char out[256]) {
    double lr = 0;
    int n_states = 0, length = 0;
    char copy[512], *save;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (!strncmp(word, "lr=", 3)) {
            lr = atof(word + 3);
            continue;
        }
        if (!strncmp(word, "adam", 4))
            n_states = 2;
        if (!strncmp(word, "momentum=", 9))
            n_states = 1;
        length += snprintf(out + length, 256 - (size_t)length, "%s ",
                           strcmp(word, "adamw") ? word : "adam decoupled=1");
    }
    length +=
        snprintf(out + length, 256 - (size_t)length, "| %s u:7", delivery.accumulated ? "" : "7");
    for (int i = 0; i < n_states + delivery.accumulated; i++)
        length += snprintf(out + length, 256 - (size_t)length, " u:7");
    return lr;
}

/* Runs `updates` updates; the parameter to w. */
static void optimize(const char *words, struct delivery delivery, int updates, double w[N]) {
    char text[256];
    struct problem p;
    neap_graph *g;
    struct interpreter it;
    double lr = write_problem(words, delivery, text);
    succeed(problem_parse(text, &p));
    succeed(problem_graph(&p, DTYPE_F64, &g));
    succeed(interpreter_create(g, &it));
    const struct node *node = graph_node(g, 0);
    const struct tensor *weight = &it.tensors[node->updates[0]];
    const struct tensor *gradient =
        &it.tensors[delivery.accumulated ? node->updates[node->n_updates - 1] : node->inputs[0]];
    for (int i = 0; i < N; i++)
        tensor_set(weight, i, sin(i));
    it.params.lr = lr;
    it.params.gradient_scale = delivery.scale;
    for (int t = 0; t < updates; t++) {
        it.params.update = (uint64_t)t;
        for (int i = 0; i < N; i++)
            tensor_set(gradient, i, (sin(t + i) + 0.1 * tensor_get(weight, i)) / delivery.scale);
        interpreter_run(&it, 0, g->n_nodes);
        for (int i = 0; delivery.accumulated && i < N; i++)
            assert_true(tensor_get(gradient, i) == 0);
    }
    for (int i = 0; i < N; i++)
        w[i] = tensor_get(weight, i);
    interpreter_destroy(&it);
    graph_free(g);
}

/* Every line of the optimizer: "words | updates | seven numbers". */
static void agrees(const char *optimizer, struct delivery delivery) {
    char line[512];
    int n_lines = 0;
    FILE *file = oracle_open("optimizers.txt");
    if (!file)
        fail_msg("cannot open tests/oracle/optimizers.txt below SOURCE_DIR");
    while (fgets(line, sizeof line, file)) {
        char *bar = strstr(line, " | "), *at;
        size_t length = strlen(optimizer);
        double w[N];
        if (!bar || strncmp(line, optimizer, length) || line[length] != ' ')
            continue;
        *bar = 0;
        optimize(line, delivery, (int)strtol(bar + 3, &at, 10), w);
        at = strchr(at, '|') + 1;
        for (int i = 0; i < N; i++) {
            double want = strtod(at, &at);
            if (!(fabs(w[i] - want) <= 1e-12))
                fail_msg("%s: w[%d] is %.15g, PyTorch says %.15g", line, i, w[i], want);
        }
        n_lines++;
    }
    fclose(file);
    assert_true(n_lines > 0);
}

static void sgd_agrees(void **state) {
    (void)state;
    agrees("sgd", (struct delivery){.scale = 1});
}

static void adam_agrees(void **state) {
    (void)state;
    agrees("adam", (struct delivery){.scale = 1});
}

static void adamw_agrees(void **state) {
    (void)state;
    agrees("adamw", (struct delivery){.scale = 1});
}

static void an_accumulated_gradient_is_scaled_once_and_cleared(void **state) {
    (void)state;
    agrees("sgd", (struct delivery){.accumulated = true, .scale = 0.25});
    agrees("adam", (struct delivery){.accumulated = true, .scale = 0.25});
    agrees("adamw", (struct delivery){.accumulated = true, .scale = 0.25});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_agrees),
        cmocka_unit_test(adam_agrees),
        cmocka_unit_test(adamw_agrees),
        cmocka_unit_test(an_accumulated_gradient_is_scaled_once_and_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
