/* A plan step by step, one line each: what runs, how, and which bytes it makes.
 *
 * step part  op      name   kernel       implementation  marks       live  scratch  outputs
 *    0 micro conv2d  conv1  conv2d:dnn   jit:avx512_core      9,437,184        -  y@0+65536
 *
 * Outputs are name@offset+bytes in the arena; a persistent one has no offset. "live" are the bytes
 * in use while the step runs. Marks: "recompute" for every execution of an op after its first,
 * "slow" for a fallback that computes many times slower than the library does well,
 * "in-place" where an output takes over an input's bytes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/reference.h"
#include "base/digits.h"
#include "ir/op.h"
#include "train/session.h"

enum { MARKS_BYTES = 32 };

struct columns {
    int op, name, kernel, implementation;
};

struct explained {
    const struct neap_plan *plan;
    const struct compiled *c;
    int64_t *live_bytes; /* by step */
    bool *executed;      /* by op */
    struct columns width;
    FILE *file;
};

struct line {
    const struct node *node;
    const struct plan_op *op;
    const char *kernel, *implementation;
    uint32_t first_life, end_life; /* the lives that start here */
};

static const char *implementation_of(const struct compiled *c, node_id n) {
    const struct kernel *kernel = c->kernels[n];
    return kernel->implementation ? kernel->implementation(c->states[n]) : "-";
}

static struct line line_at(const struct explained *e, uint32_t step, uint32_t first_life) {
    const struct plan_lives *lives = &e->plan->plan.lives;
    uint32_t op = e->plan->plan.schedule.ops[step];
    node_id n = e->c->node_of_op[op];
    struct line line = {.node = graph_node(e->c->g, n),
                        .op = &e->c->problem.ops[op],
                        .kernel = e->c->kernels[n]->name,
                        .implementation = implementation_of(e->c, n),
                        .first_life = first_life,
                        .end_life = first_life};
    while (line.end_life < lives->n && lives->at[line.end_life].first_step == step)
        line.end_life++;
    return line;
}

static bool starts_with(const char *text, const char *start) {
    return !strncmp(text, start, strlen(start));
}

/* By oneDNN's names: its plain loops, and convolutions by way of a matrix multiply. A linear layer
 * is a matrix multiply: there "gemm" is the fast way. */
static bool is_slow(const struct explained *e, const struct line *line) {
    node_id n = (node_id)(line->node - e->c->g->nodes);
    bool slow =
        e->c->kernels[n] == &kernel_reference || starts_with(line->implementation, "ref") ||
        (strstr(line->implementation, "gemm") && starts_with(line->node->op->name, "conv2d"));
    return slow && e->c->device->backend->runs;
}

/* Of the op that the step runs, in whichever implementation. */
static bool *executed_at(const struct explained *e, uint32_t step) {
    return &e->executed[plan_primary(&e->c->problem, e->plan->plan.schedule.ops[step])];
}

static void marks_of(const struct explained *e, uint32_t step, const struct line *line,
                     char marks[MARKS_BYTES]) {
    bool recompute = *executed_at(e, step), in_place = false;
    for (uint32_t l = line->first_life; l < line->end_life; l++)
        in_place = in_place || e->plan->plan.lives.at[l].in_place_of != PLAN_NONE;
    snprintf(marks, MARKS_BYTES, "%s%s%s", recompute ? "recompute " : "",
             is_slow(e, line) ? "slow " : "", in_place ? "in-place " : "");
}

static void print_outputs(const struct explained *e, const struct line *line) {
    const struct plan_lives *lives = &e->plan->plan.lives;
    const char *separator = "  ";
    for (uint32_t i = 0; i < line->op->outputs.n; i++) {
        uint32_t id = e->c->problem.ids[line->op->outputs.first + i];
        value_id v = e->c->value_of_plan[id];
        if (v == ID_NONE) /* scratch has a column */
            continue;
        fprintf(e->file, "%s%s", separator, graph_value(e->c->g, v)->name);
        separator = ", ";
        for (uint32_t l = line->first_life; l < line->end_life; l++)
            if (lives->at[l].value == id)
                fprintf(e->file, "@%" PRId64, lives->at[l].offset);
        fprintf(e->file, "+%" PRId64, e->c->problem.values[id].bytes);
    }
}

static int64_t scratch_bytes(const struct explained *e, const struct line *line) {
    node_id n = (node_id)(line->node - e->c->g->nodes);
    uint32_t scratch = e->c->scratch_of_node[n];
    return scratch == PLAN_NONE ? 0 : e->c->problem.values[scratch].bytes;
}

static void print_line(struct explained *e, uint32_t step, const struct line *line) {
    char marks[MARKS_BYTES];
    int64_t scratch_size = scratch_bytes(e, line);
    marks_of(e, step, line, marks);
    fprintf(e->file, "%5u %-6s %-*s  %-*s  %-*s  %-*s  %-24s %15s  %13s", step,
            line->op->update_part ? "update" : "micro", e->width.op, line->node->op->name,
            e->width.name, line->node->name, e->width.kernel, line->kernel, e->width.implementation,
            line->implementation, marks, digits_of(e->live_bytes[step]).text,
            scratch_size ? digits_of(scratch_size).text : "-");
    print_outputs(e, line);
    fputc('\n', e->file);
    *executed_at(e, step) = true;
}

static void widen(int *width, const char *text) {
    int length = (int)strlen(text);
    *width = length > *width ? length : *width;
}

static void measure_columns(struct explained *e) {
    e->width = (struct columns){2, 4, 6, 14};
    for (uint32_t step = 0; step < e->plan->plan.schedule.n; step++) {
        struct line line = line_at(e, step, 0);
        widen(&e->width.op, line.node->op->name);
        widen(&e->width.name, line.node->name);
        widen(&e->width.kernel, line.kernel);
        widen(&e->width.implementation, line.implementation);
    }
}

/* In place, the first step counts the bytes of the input alone. */
void session_live_bytes(const struct neap_plan *plan, int64_t *live_bytes) {
    const struct plan_lives *lives = &plan->plan.lives;
    size_t n_steps = plan->plan.schedule.n;
    for (size_t l = 0; l < lives->n; l++) {
        const struct plan_life *life = &lives->at[l];
        size_t first = life->first_step + (size_t)(life->in_place_of != PLAN_NONE);
        if (first > life->last_step)
            continue;
        live_bytes[first] += life->bytes;
        live_bytes[life->last_step + 1] -= life->bytes;
    }
    for (size_t step = 1; step < n_steps; step++)
        live_bytes[step] += live_bytes[step - 1];
}

static void print_steps(struct explained *e) {
    uint32_t life = 0;
    fprintf(e->file, " step part   %-*s  %-*s  %-*s  %-*s  %-24s %15s  %13s  %s\n", e->width.op,
            "op", e->width.name, "name", e->width.kernel, "kernel", e->width.implementation,
            "implementation", "marks", "live", "scratch", "outputs (name@offset+bytes)");
    for (uint32_t step = 0; step < e->plan->plan.schedule.n; step++) {
        struct line line = line_at(e, step, life);
        print_line(e, step, &line);
        life = line.end_life;
    }
}

neap_error *neap_plan_explain(const neap_plan *plan, FILE *file) {
    struct explained e = {.plan = plan, .c = plan->step, .file = file};
    neap_error *error =
        memory_alloc(plan->plan.schedule.n + 1, sizeof *e.live_bytes, &e.live_bytes);
    if (!error)
        error = memory_alloc(plan->step->problem.n_ops, sizeof *e.executed, &e.executed);
    if (!error) {
        measure_columns(&e);
        session_live_bytes(plan, e.live_bytes);
        print_steps(&e);
        if (ferror(file))
            error = error_make(NEAP_ERROR_RUNTIME, "cannot write the steps of '%s'",
                               plan->report.model);
    }
    free(e.live_bytes);
    free(e.executed);
    return error;
}
