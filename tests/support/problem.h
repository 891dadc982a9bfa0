/* Problems in words, one a line:
 *
 *   conv2d stride=2 padding=1 | 2x4x7x5 6x4x3x3 6 | exact y=2x6x4x3
 *   op and its attributes     | inputs, updates   | options
 *
 * A tensor is its dimensions or `scalar`, `-` where an optional one is absent. Before it `u:` says
 * that the node updates it; behind it `+` asks for positive values, `!` for NaN and infinities
 * among them, `<10` for labels below 10, `:bit` and `:f64` for that dtype. Options:
 *
 *   exact        kernels must agree to the last bit, on small integers
 *   fast         a kernel other than the reference must take it
 *   same         input 1 is input 0
 *   no-gradient  its gradient is not defined, or checked by another line
 *   refused      shape inference must refuse it
 *   outputs=2    optional outputs too
 *   y=2x3        what shape inference must say of the first output
 *
 * batch_norm stands for what the compiler expands it to in training. */
#ifndef NEAP_TESTS_SUPPORT_PROBLEM_H
#define NEAP_TESTS_SUPPORT_PROBLEM_H

#include "ir/op.h"

enum { PROBLEM_MAX_TENSORS = 12 };

struct problem_tensor {
    struct shape shape;
    enum dtype dtype; /* F32: a number, of the dtype that the graph is built with */
    int64_t below;    /* labels */
    bool positive, special, update, absent;
};

struct problem {
    char text[512];
    const struct op_def *op;
    _Alignas(16) char attrs[512];
    struct problem_tensor tensors[PROBLEM_MAX_TENSORS]; /* inputs and updates in their order */
    uint32_t n_tensors, n_outputs;
    bool exact, fast, same, no_gradient, refused, has_shape;
    struct shape shape;
};

MUST_USE neap_error *problem_parse(const char *line, struct problem *out);

/* The op alone, its numbers in `real`: value i is tensor i. What can have a gradient is a
 * parameter. */
MUST_USE neap_error *problem_graph(const struct problem *p, enum dtype real, neap_graph **out);
/* Appends loss = Σ y c, with an input "c" for the constants. */
MUST_USE neap_error *problem_add_loss(neap_graph *g, value_id *loss);

/* Numbers in [−1, 1), or small integers; labels and bits. Distinct streams for distinct `stream`s.
 */
void problem_fill(const struct problem_tensor *spec, bool integers, uint64_t stream,
                  const struct tensor *t);

#endif
