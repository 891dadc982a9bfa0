/* Every op against its definition: test_ops FILE... checks each problem of the files (the lines are
 * explained in support/problem.h):
 *
 *   shapes     what inference says of the outputs
 *   gradient   the gradient rule against central differences, both in double
 *   kernels    each kernel of the CPU that takes the op, forward and backward, in the activation
 *              layouts, against the reference: values, the same bits twice and in place, padding
 *   precision  the same kernels where the op computes in 16 bits, both of them, and the casts
 *
 * One line per problem, then "N passed, N failed"; exit code 1 if any failed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/autodiff.h"
#include "pass/pass.h"
#include "support/kernel_check.h"
#include "support/problem.h"

enum { MAX_VALUES = 64, MAX_DIFFERENCES = 300 };
static const double step = 1e-6, gradient_tolerance = 1e-6;

struct result {
    double gradient_error;
    struct kernel_report kernels;
};

static value_id find_value(const neap_graph *g, const char *name) {
    for (value_id v = 0; v < g->n_values; v++)
        if (!strcmp(graph_value(g, v)->name, name))
            return v;
    return ID_NONE;
}

/* Inputs, updates and the loss's constants. */
static void fill(const struct problem *p, bool integers, struct interpreter *it) {
    for (uint32_t i = 0; i <= p->n_tensors; i++) {
        static const struct problem_tensor constants = {.dtype = DTYPE_F32};
        char name[16];
        snprintf(name, sizeof name, i < p->n_tensors ? "t%u" : "c", i);
        value_id v = find_value(it->g, name);
        if (v != ID_NONE)
            problem_fill(i < p->n_tensors ? &p->tensors[i] : &constants, integers, i,
                         &it->tensors[v]);
    }
}

/* ---- shapes
 * -------------------------------------------------------------------------------------- */

static neap_error *check_shape(const struct problem *p, bool *go_on) {
    neap_graph *g = NULL;
    neap_error *error = problem_graph(p, DTYPE_F32, &g);
    *go_on = !error;
    if (p->refused) {
        bool refused = neap_error_code(error) == NEAP_ERROR_MODEL;
        neap_error_free(error);
        graph_free(g);
        return refused ? NULL : error_make(NEAP_ERROR_INTERNAL, "it is not refused");
    }
    if (!error && p->has_shape && graph_node(g, g->n_nodes - 1)->n_outputs) {
        char want[64], got[64];
        struct shape shape = graph_value(g, graph_node(g, g->n_nodes - 1)->outputs[0])->shape;
        if (!shape_equal(shape, p->shape))
            error = error_make(NEAP_ERROR_INTERNAL, "the shape should be %s, not %s",
                               shape_text(p->shape, want), shape_text(shape, got));
    }
    graph_free(g);
    return error;
}

/* ---- gradient
 * ------------------------------------------------------------------------------------ */

static double loss_with(struct interpreter *it, node_id n_forward, value_id loss,
                        const struct tensor *x, int64_t i, double value) {
    tensor_set(x, i, value);
    interpreter_run(it, 0, n_forward);
    return tensor_get(&it->tensors[loss], 0);
}

static neap_error *compare_gradient(struct interpreter *it, node_id n_forward, value_id loss,
                                    value_id value, value_id gradient, struct result *result) {
    const struct tensor *x = &it->tensors[value], *dx = &it->tensors[gradient];
    int64_t stride = shape_elements(x->shape) / MAX_DIFFERENCES | 1; /* odd: meets every corner */
    for (int64_t i = 0; i < shape_elements(x->shape); i += stride) {
        double at = tensor_get(x, i), analytic = tensor_get(dx, i);
        double h = step * fmax(1, fabs(at));
        double above = loss_with(it, n_forward, loss, x, i, at + h);
        double below = loss_with(it, n_forward, loss, x, i, at - h);
        double numeric = (above - below) / (2 * h);
        double error = fabs(numeric - analytic) / fmax(1, fabs(numeric));
        tensor_set(x, i, at);
        result->gradient_error = fmax(result->gradient_error, error);
        if (!(error <= gradient_tolerance))
            return error_make(NEAP_ERROR_INTERNAL,
                              "the gradient of %s[%lld] is %.9g, differences say %.9g",
                              graph_value(it->g, value)->name, (long long)i, analytic, numeric);
    }
    return NULL;
}

static bool has_gradient(const neap_graph *g) {
    bool all = false;
    for (node_id n = 0; n < g->n_nodes; n++)
        all = all || graph_node(g, n)->op->gradient;
    return all;
}

static neap_error *check_gradient(const struct problem *p, struct result *result) {
    neap_graph *g;
    struct interpreter it = {0};
    value_id loss, gradients[MAX_VALUES];
    TRY(problem_graph(p, DTYPE_F64, &g));
    neap_error *error = NULL;
    if (p->no_gradient || !has_gradient(g))
        goto done;
    TRY_GOTO(problem_add_loss(g, &loss));
    node_id n_forward = g->n_nodes;
    uint32_t n_values = g->n_values;
    TRY_GOTO(autodiff_run(g, loss, false, gradients));
    TRY_GOTO(interpreter_create(g, &it));
    fill(p, false, &it);
    interpreter_run(&it, 0, g->n_nodes);
    for (value_id v = 0; v < n_values; v++)
        if (graph_value(g, v)->kind == VALUE_PARAMETER)
            TRY_GOTO(compare_gradient(&it, n_forward, loss, v, gradients[v], result));
done:
    interpreter_destroy(&it);
    graph_free(g);
    return error;
}

/* ---- kernels
 * ------------------------------------------------------------------------------------- */

/* The op alone, as the compiler would have it in this precision; NULL in *out where that changes
 * nothing. */
static neap_error *graph_in(const struct problem *p, enum dtype precision, neap_graph **out) {
    neap_graph *g;
    TRY(problem_graph(p, DTYPE_F32, &g));
    if (precision == DTYPE_F32) {
        *out = g;
        return NULL;
    }
    neap_error *error = pass_precision(g, precision, out);
    if (!error && (*out)->n_nodes == g->n_nodes) {
        graph_free(*out);
        *out = NULL;
    }
    graph_free(g);
    return error;
}

/* Forward alone, as evaluation runs it, or with loss and backward. */
static neap_error *check_kernels(const struct problem *p, enum dtype precision,
                                 struct device *device, bool backward, bool integers,
                                 struct result *result) {
    neap_graph *g;
    struct interpreter it = {0};
    value_id loss, gradients[MAX_VALUES];
    int n_fast = 0;
    TRY(graph_in(p, precision, &g));
    if (!g)
        return NULL;
    node_id own = g->n_nodes - 1;
    neap_error *error = NULL;
    if (backward && (p->no_gradient || !has_gradient(g)))
        goto done;
    if (backward) {
        TRY_GOTO(problem_add_loss(g, &loss));
        TRY_GOTO(autodiff_run(g, loss, false, gradients));
    }
    TRY_GOTO(interpreter_create(g, &it));
    fill(p, integers, &it);
    for (node_id n = 0; n < g->n_nodes; n++) {
        int before = result->kernels.n_fast;
        TRY_GOTO(kernel_check(device, &it, n, integers, &result->kernels));
        n_fast += n == own ? result->kernels.n_fast - before : 0;
    }
    if (p->fast && !n_fast)
        error = error_make(NEAP_ERROR_INTERNAL, "no kernel but the reference takes it");
done:
    interpreter_destroy(&it);
    graph_free(g);
    return error;
}

/* ---- problems
 * ------------------------------------------------------------------------------------ */

static neap_error *check_problem(const struct problem *p, struct device *device,
                                 struct result *result) {
    bool go_on;
    TRY(check_shape(p, &go_on));
    if (!go_on)
        return NULL;
    TRY(check_gradient(p, result));
    static const enum dtype precisions[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    for (int i = 0; i < 6; i++) {
        enum dtype precision = precisions[i / 2];
        neap_error *error = check_kernels(p, precision, device, i % 2, false, result);
        if (!error && p->exact)
            error = check_kernels(p, precision, device, i % 2, true, result);
        if (error)
            return error_prefix(error, "%s", dtype_name(precision));
    }
    return NULL;
}

static bool report(const char *line, neap_error *error, const struct result *result) {
    bool passed = !error;
    printf("%s  %.*s", passed ? "passed" : "FAILED", (int)strcspn(line, "\n"), line);
    if (result->gradient_error > 0)
        printf("  [gradient %.1e]", result->gradient_error);
    if (result->kernels.n_runs)
        printf("  [%d of %d runs not by reference, %.1e]", result->kernels.n_fast,
               result->kernels.n_runs, result->kernels.error);
    if (error)
        printf("\n        %s", neap_error_message(error));
    printf("\n");
    fflush(stdout);
    neap_error_free(error);
    return passed;
}

static int check_file(const char *path, struct device *device, int *n_failed) {
    char line[512];
    int n_passed = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("FAILED  cannot open '%s'\n", path);
        ++*n_failed;
        return 0;
    }
    while (fgets(line, sizeof line, file)) {
        struct problem p;
        struct result result = {0};
        if (line[0] == '#' || line[0] == '\n')
            continue;
        neap_error *error = problem_parse(line, &p);
        if (!error)
            error = check_problem(&p, device, &result);
        bool passed = report(line, error, &result);
        n_passed += passed;
        *n_failed += !passed;
    }
    fclose(file);
    return n_passed;
}

int main(int argc, char **argv) {
    struct device *device;
    int n_passed = 0, n_failed = 0;
    neap_error *error = device_open("cpu", 2, &device);
    if (error) {
        printf("cannot open the device: %s\n", neap_error_message(error));
        neap_error_free(error);
        return 1;
    }
    for (int i = 1; i < argc; i++)
        n_passed += check_file(argv[i], device, &n_failed);
    device_close(device);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed || !n_passed;
}
