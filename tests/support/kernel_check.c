/* Kernels against the reference: see kernel_check.h. */
#include "support/kernel_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "support/storage.h"

enum { MAX_TENSORS = 16 };

/* The one table of tolerances, relative to the largest element of the tensor, or to 1. In 16 bits
 * both sides round nearly the same number once: they differ by a unit in the last place at most. */
static const double tolerance[N_DTYPES] = {
    [DTYPE_F32] = 1e-5, [DTYPE_F64] = 1e-12, [DTYPE_BF16] = 0x1p-7, [DTYPE_F16] = 0x1p-10};

/* A graph of the node alone, whose layouts may be set; where its tensors lie. */
struct site {
    struct kernel_site site;
    neap_graph *g;
    struct node *node;
    struct kernel_layouts want;
    struct layout in[MAX_TENSORS], out[MAX_TENSORS];
};
enum role { IN, OUT, UP, N_ROLES };
struct buffers {
    void *data[N_ROLES][MAX_TENSORS];
};

static const value_id *ids_of(const struct node *node, enum role role, uint32_t *n) {
    const uint32_t counts[] = {node->n_inputs, node->n_outputs, node->n_updates};
    const value_id *const ids[] = {node->inputs, node->outputs, node->updates};
    *n = counts[role];
    return ids[role];
}

/* ---- one node with layouts
 * ----------------------------------------------------------------------- */

static neap_error *copy_values(const neap_graph *from, struct site *s, const value_id *ids,
                               uint32_t n, enum value_kind kind, value_id *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = ID_NONE;
        for (uint32_t j = 0; j < i; j++)
            if (ids[i] == ids[j])
                out[i] = out[j];
        if (ids[i] == ID_NONE || out[i] != ID_NONE)
            continue;
        const struct value *value = graph_value(from, ids[i]);
        struct value_spec spec = {.name = value->name,
                                  .kind = kind,
                                  .dtype = value->dtype,
                                  .shape = value->shape,
                                  .of = ID_NONE};
        TRY(graph_add_value(s->g, &spec, &out[i]));
    }
    return NULL;
}

/* A gradient is laid out like what it is the gradient of: such a value for each output. */
static neap_error *add_forward_value(struct site *s, uint32_t i, struct layout layout) {
    const struct value *output = node_output(s->g, s->node, i);
    if (s->node->phase != PHASE_BACKWARD || output->shape.rank != 4)
        return NULL;
    value_id of;
    TRY(graph_add_value(s->g,
                        &(struct value_spec){.name = "forward",
                                             .kind = VALUE_ACTIVATION,
                                             .dtype = output->dtype,
                                             .shape = output->shape,
                                             .layout = layout,
                                             .of = ID_NONE},
                        &of));
    node_output(s->g, s->node, i)->of = of;
    return NULL;
}

static neap_error *site_create(struct device *device, const neap_graph *g, const struct node *node,
                               struct layout layout, bool mixed, struct site *s) {
    value_id in[MAX_TENSORS], up[MAX_TENSORS];
    node_id id;
    *s = (struct site){0};
    TRY(graph_create("site", &s->g));
    TRY(copy_values(g, s, node->inputs, node->n_inputs, VALUE_ACTIVATION, in));
    TRY(copy_values(g, s, node->updates, node->n_updates, VALUE_PARAMETER, up));
    bool first = true;
    for (value_id v = 0; v < s->g->n_values; v++)
        if (graph_value(s->g, v)->shape.rank == 4) {
            graph_value(s->g, v)->layout = first || !mixed ? layout : (struct layout){0};
            first = false;
        }
    TRY(graph_add_node(s->g,
                       &(struct node_spec){.op = node->op,
                                           .name = node->name,
                                           .phase = node->phase,
                                           .attrs = node->attrs,
                                           .inputs = in,
                                           .n_inputs = node->n_inputs,
                                           .updates = up,
                                           .n_updates = node->n_updates,
                                           .n_outputs = node->n_outputs,
                                           .output_kind = VALUE_ACTIVATION},
                       &id));
    s->node = graph_node(s->g, id);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        TRY(add_forward_value(s, i, layout));
    s->want = (struct kernel_layouts){s->in, s->out};
    s->site = (struct kernel_site){.device = device, .g = s->g, .node = s->node};
    return NULL;
}

static bool is_reference(const struct kernel *kernel) {
    return !kernel->op && !kernel->inner;
}

/* Asks the kernel and sets the layouts that it wants. *accepted is false where it refuses. */
static neap_error *site_settle(struct site *s, const struct kernel *kernel, struct layout target,
                               bool *accepted) {
    struct node *node = s->node;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node_has_input(node, i))
            s->in[i] = node_input(s->g, node, i)->layout;
    s->out[0] = node->op == &op_reorder ? target : (struct layout){0};
    *accepted = !kernel->negotiate(&s->site, &s->want);
    if (node->op == &op_cast && !is_reference(kernel)) /* it takes any pair */
        s->out[0] = target;
    for (uint32_t i = 0; *accepted && i < node->n_inputs; i++) {
        if (!node_has_input(node, i))
            continue;
        struct value *value = graph_value(s->g, node->inputs[i]);
        bool movable =
            value->dtype == DTYPE_F32 || value->dtype == DTYPE_F64 || dtype_is_half(value->dtype);
        if (!is_reference(kernel) && !movable && !layout_equal(s->in[i], value->layout))
            return error_make(NEAP_ERROR_INTERNAL, "wants input %u, a mask or index, reordered", i);
        value->layout = s->in[i];
    }
    for (uint32_t i = 0; *accepted && i < node->n_outputs; i++)
        node_output(s->g, node, i)->layout = s->out[i];
    return NULL;
}

/* ---- running
 * ------------------------------------------------------------------------------------- */

static void buffers_free(struct buffers *b) {
    for (int r = 0; r < N_ROLES; r++)
        for (int i = 0; i < MAX_TENSORS; i++)
            free(b->data[r][i]);
}

/* Inputs and updates hold their values, outputs garbage. */
static neap_error *buffers_create(const struct site *s, const struct tensor (*tensors)[MAX_TENSORS],
                                  struct buffers *b) {
    *b = (struct buffers){0};
    for (int r = 0; r < N_ROLES; r++) {
        uint32_t n;
        const value_id *ids = ids_of(s->node, (enum role)r, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (ids[i] == ID_NONE)
                continue;
            TRY(storage_alloc(graph_value(s->g, ids[i]), 0xA5, &b->data[r][i]));
            if (r != OUT)
                storage_pack(graph_value(s->g, ids[i]), &tensors[r][i], b->data[r][i]);
        }
    }
    return NULL;
}

/* A kernel ready to run, and what its results must be. */
struct check {
    const struct kernel *kernel;
    void *state, *scratch;
    const struct run_params *params;
    const struct tensor (*before)[MAX_TENSORS], (*expected)[MAX_TENSORS];
    bool exact;
};

/* One run from fresh buffers; `in_place` is an entry of the op's overwrites, or NULL. */
static neap_error *run_once(const struct site *s, const struct check *c,
                            const struct op_overwrite *in_place, struct buffers *b) {
    void *out[MAX_TENSORS];
    memcpy(out, b->data[OUT], sizeof out);
    if (in_place)
        out[in_place->output] = b->data[IN][in_place->input];
    const struct launch launch = {.in = b->data[IN],
                                  .out = out,
                                  .up = b->data[UP],
                                  .scratch = c->scratch,
                                  .params = c->params};
    TRY(c->kernel->run(c->state, &launch));
    if (in_place)
        memcpy(b->data[OUT][in_place->output], b->data[IN][in_place->input],
               (size_t)value_bytes(node_output(s->g, s->node, (uint32_t)in_place->output)));
    return NULL;
}

static bool same_bits(const struct site *s, const struct buffers *a, const struct buffers *b) {
    bool same = true;
    for (int r = OUT; r < N_ROLES; r++) {
        uint32_t n;
        const value_id *ids = ids_of(s->node, (enum role)r, &n);
        for (uint32_t i = 0; i < n; i++)
            same = same && !memcmp(a->data[r][i], b->data[r][i],
                                   (size_t)value_bytes(graph_value(s->g, ids[i])));
    }
    return same;
}

/* The largest difference, relative to the largest expected element or 1; NaN counts as infinite
 * unless it is expected. */
static double difference(const struct value *value, void *data, const struct tensor *expected) {
    struct tensor t = storage_tensor(value, data);
    double largest = 1, worst = 0;
    for (int64_t i = 0; i < shape_elements(value->shape); i++) {
        double want = tensor_get(expected, i), got = tensor_get(&t, storage_place(value, i));
        double d = fabs(want - got);
        if (want == got || (isnan(want) && isnan(got)))
            d = 0;
        worst = fmax(worst, isnan(d) ? INFINITY : d);
        largest = fmax(largest, isfinite(want) ? fabs(want) : 0);
    }
    return worst / largest;
}

static neap_error *compare(const struct site *s, const struct check *c, const struct buffers *b,
                           struct kernel_report *report) {
    for (int r = OUT; r < N_ROLES; r++) {
        uint32_t n;
        const value_id *ids = ids_of(s->node, (enum role)r, &n);
        for (uint32_t i = 0; i < n; i++) {
            const struct value *value = graph_value(s->g, ids[i]);
            double error = difference(value, b->data[r][i], &c->expected[r][i]);
            report->error = fmax(report->error, error);
            if (error > (c->exact ? 0 : tolerance[value->dtype]))
                return error_make(NEAP_ERROR_INTERNAL, "%s %u is off by %.3g",
                                  r == OUT ? "output" : "update", i, error);
            if (!storage_padding_is_zero(value, b->data[r][i]))
                return error_make(NEAP_ERROR_INTERNAL, "%s %u has padding that is not zero",
                                  r == OUT ? "output" : "update", i);
        }
    }
    return NULL;
}

static bool can_overwrite(const struct site *s, struct op_overwrite o) {
    if (!node_has_input(s->node, (uint32_t)o.input) || (uint32_t)o.output >= s->node->n_outputs)
        return false;
    for (uint32_t i = 0; i < s->node->n_inputs; i++) /* a value read twice would die twice */
        if (i != (uint32_t)o.input && s->node->inputs[i] == s->node->inputs[o.input])
            return false;
    const struct value *in = node_input(s->g, s->node, (uint32_t)o.input);
    const struct value *out = node_output(s->g, s->node, (uint32_t)o.output);
    return in->dtype == out->dtype && shape_equal(in->shape, out->shape) &&
           layout_equal(in->layout, out->layout);
}

/* Twice, and then in place of each input that may be overwritten. */
static neap_error *check_runs(const struct site *s, const struct check *c,
                              struct kernel_report *report) {
    struct buffers first, again = {0};
    neap_error *error = buffers_create(s, c->before, &first);
    if (!error)
        error = run_once(s, c, NULL, &first);
    if (!error)
        error = compare(s, c, &first, report);
    for (int i = -1; !error && i < (int)s->node->op->n_overwrites; i++) {
        const struct op_overwrite *in_place = i < 0 ? NULL : &s->node->op->overwrites[i];
        if (in_place && !can_overwrite(s, *in_place))
            continue;
        buffers_free(&again);
        error = buffers_create(s, c->before, &again);
        if (!error)
            error = run_once(s, c, in_place, &again);
        if (!error && !same_bits(s, &first, &again))
            error = error_make(NEAP_ERROR_INTERNAL, "gives other bits %s",
                               in_place ? "in place" : "the second time");
    }
    buffers_free(&first);
    buffers_free(&again);
    return error;
}

/* ---- all kernels and layouts
 * ----------------------------------------------------------------------- */

/* c's kernel on the node as it is laid out, if it takes it. */
static neap_error *check_site(struct site *s, struct layout target, struct check *c,
                              struct kernel_report *report) {
    bool accepted;
    size_t scratch_bytes = 0;
    TRY(site_settle(s, c->kernel, target, &accepted));
    if (!accepted)
        return NULL;
    TRY(c->kernel->create(&s->site, &c->state, &scratch_bytes));
    neap_error *error = NULL;
    if (posix_memalign(&c->scratch, 64, scratch_bytes ? scratch_bytes : 1))
        error = error_memory(scratch_bytes);
    if (!error) {
        memset(c->scratch, 0xA5, scratch_bytes);
        error = check_runs(s, c, report);
        free(c->scratch);
    }
    report->n_runs++;
    report->n_fast += !is_reference(c->kernel);
    c->kernel->destroy ? c->kernel->destroy(c->state) : free(c->state);
    return error;
}

static bool has_image(const neap_graph *g, const struct node *node) {
    bool any = false;
    for (int r = 0; r < N_ROLES; r++) {
        uint32_t n;
        const value_id *ids = ids_of(node, (enum role)r, &n);
        for (uint32_t i = 0; i < n; i++)
            any = any || (ids[i] != ID_NONE && graph_value(g, ids[i])->shape.rank == 4);
    }
    return any;
}

/* The four activation layouts where there is rank 4, all inputs in it and the first alone. */
static neap_error *check_kernel(struct device *device, const neap_graph *g, const struct node *node,
                                struct check *c, struct kernel_report *report) {
    const struct layout layouts[] = {
        {0}, layout_channels_last(), layout_blocked_channels(8), layout_blocked_channels(16)};
    enum { N = sizeof layouts / sizeof *layouts };
    neap_error *error = NULL;
    bool image = has_image(g, node) &&
                 !is_reference(c->kernel); /* the reference wants plain whatever it gets */
    int n_targets = image && (node->op == &op_reorder || node->op == &op_cast) ? N : 1;
    for (int i = 0; i < (image ? N * 2 * n_targets : 1) && !error; i++) {
        struct layout layout = layouts[i / 2 % N], target = layouts[i / 2 / N];
        struct site s;
        char text[40], other[40];
        error = site_create(device, g, node, layout, i % 2 == 1, &s);
        if (!error)
            error = check_site(&s, target, c, report);
        graph_free(s.g);
        error = error_prefix(error, "%s: %s in %s%s to %s", node->name, c->kernel->name,
                             layout_text(layout, 4, text), i % 2 ? " then plain" : "",
                             layout_text(target, 4, other));
    }
    return error;
}

/* The node's tensors now; updates copied, since the reference will change them. */
static neap_error *snapshot(const struct interpreter *it, const struct node *node, bool copy,
                            struct tensor (*out)[MAX_TENSORS]) {
    for (int r = 0; r < N_ROLES; r++) {
        uint32_t n;
        const value_id *ids = ids_of(node, (enum role)r, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (ids[i] == ID_NONE)
                continue;
            out[r][i] = it->tensors[ids[i]];
            if (r == UP && copy) {
                TRY(tensor_alloc(out[r][i].dtype, out[r][i].shape, &out[r][i]));
                memcpy(out[r][i].data, it->tensors[ids[i]].data, tensor_bytes(&out[r][i]));
            }
        }
    }
    return NULL;
}

neap_error *kernel_check(struct device *device, struct interpreter *it, node_id id, bool exact,
                         struct kernel_report *report) {
    const struct node *node = graph_node(it->g, id);
    struct tensor before[N_ROLES][MAX_TENSORS] = {0}, expected[N_ROLES][MAX_TENSORS] = {0};
    neap_error *error = snapshot(it, node, true, before);
    interpreter_run_node(it, id);
    if (!error)
        error = snapshot(it, node, false, expected);
    struct check c = {
        .params = &it->params, .before = before, .expected = expected, .exact = exact};
    for (const struct kernel *const *k = device->backend->kernels; *k && !error; k++)
        if (kernel_is_for(*k, node->op)) {
            c.kernel = *k;
            error = check_kernel(device, it->g, node, &c, report);
        }
    for (uint32_t i = 0; i < node->n_updates; i++)
        free(before[UP][i].data);
    return error;
}
