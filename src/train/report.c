/* A session's report: totals, overheads and the worst moment, in numbers and words. */
#include <stdio.h>
#include <string.h>

#include "ir/op.h"
#include "ops/ops.h"
#include "train/session.h"

const char *report_bytes(int64_t bytes, char buffer[24]) {
    if (bytes >= (int64_t)1 << 30)
        snprintf(buffer, 24, "%.2f GiB", (double)bytes / (1 << 30));
    else
        snprintf(buffer, 24, "%.1f MiB", (double)bytes / (1 << 20));
    return buffer;
}

static struct neap_totals totals_of(const struct neap_plan *s, const struct compiled *c,
                                    const struct plan_result *plan, int64_t n_micro) {
    double micro_seconds, update_seconds;
    compiled_seconds(c, &plan->schedule, &micro_seconds, &update_seconds);
    const struct persistent_bytes *p = &c->persistent;
    return (struct neap_totals){
        .peak_bytes = p->weights + p->gradients + p->optimizer + p->buffers + s->host_bytes +
                      plan->arena_bytes,
        .arena_bytes = plan->arena_bytes,
        .live_peak_bytes = plan->measure.peak_bytes,
        .weights_bytes = p->weights,
        .gradients_bytes = p->gradients,
        .optimizer_bytes = p->optimizer,
        .buffers_bytes = p->buffers,
        .host_bytes = s->host_bytes,
        .step_seconds = micro_seconds * (double)n_micro + update_seconds,
    };
}

double report_once_seconds(const struct compiled *c, int64_t n_micro) {
    const struct plan_problem *p = &c->problem;
    double seconds = 0;
    for (uint32_t o = 0; o < p->n_ops; o++)
        seconds += p->ops[o].seconds * (p->ops[o].update_part ? 1 : (double)n_micro);
    return seconds;
}

static int64_t count_parameters(const neap_graph *g) {
    int64_t n = 0;
    for (value_id v = 0; v < g->n_values; v++)
        if (graph_value(g, v)->kind == VALUE_PARAMETER)
            n += shape_elements(graph_value(g, v)->shape);
    return n;
}

/* Live bytes at the peak by kind: "conv2d_backward_data of layer1.0.conv1: activation 12.0 MiB, …".
 */
static neap_error *describe_peak(struct neap_plan *s, const char **out) {
    const struct compiled *c = s->step;
    uint32_t step = s->plan.measure.peak_step;
    int64_t bytes[N_VALUE_KINDS] = {0};
    for (size_t l = 0; l < s->plan.lives.n; l++) {
        const struct plan_life *life = &s->plan.lives.at[l];
        bool in_place = life->in_place_of != PLAN_NONE && life->first_step == step;
        if (life->first_step > step || life->last_step < step || in_place)
            continue;
        value_id v = c->value_of_plan[life->value];
        bytes[v == ID_NONE ? VALUE_SCRATCH : graph_value(c->g, v)->kind] += life->bytes;
    }
    const struct node *node = graph_node(c->g, c->node_of_op[s->plan.schedule.ops[step]]);
    char text[512], size[24];
    int length = snprintf(text, sizeof text, "%.200s", node->name);
    const char *separator = ": ";
    for (int k = 0; k < N_VALUE_KINDS; k++) {
        if (bytes[k] < 1 << 16) /* would read 0.0 MiB */
            continue;
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%s %s", separator,
                           value_kind_name((enum value_kind)k), report_bytes(bytes[k], size));
        separator = ", ";
    }
    const struct persistent_bytes *p = &c->persistent;
    snprintf(text + length, sizeof text - (size_t)length, "%sweights and state %s", separator,
             report_bytes(p->weights + p->gradients + p->optimizer + p->buffers, size));
    return pool_string(&s->pool, text, out);
}

static neap_error *copy_names(struct neap_plan *s) {
    struct neap_plan_report *r = &s->report;
    TRY(pool_string(&s->pool, s->model->name, &r->model));
    TRY(pool_string(&s->pool, s->options.precision, &r->precision));
    TRY(pool_string(&s->pool, s->device->backend->name, &r->device));
    TRY(pool_string(&s->pool, s->options.optimizer, &r->optimizer));
    return pool_string(&s->pool, s->plan.strategy, &r->strategy);
}

/* Where the gradients live, what that takes or saves, and what asked for it. */
static neap_error *describe_update(struct neap_plan *s) {
    struct neap_plan_report *r = &s->report;
    const struct neap_options *o = &s->options;
    int64_t bytes = s->step->persistent.gradients;
    char text[24];
    if (s->evaluation)
        return NULL;
    if (s->update.gradients == GRADIENTS_FUSED) {
        r->fused_bytes = s->step->persistent.weights;
        return pool_format(&s->pool, &r->update,
                           "in the backward: %s of gradients need not be kept",
                           report_bytes(r->fused_bytes, text));
    }
    if (s->update.gradients == GRADIENTS_ACCUMULATED)
        return pool_format(&s->pool, &r->update, "at the window's end: %s accumulate in fp32",
                           report_bytes(bytes, text));
    return pool_format(&s->pool, &r->update, "behind the backward: %s of gradients are kept, %s",
                       report_bytes(bytes, text),
                       o->clip_grad > 0        ? "as --clip-grad takes the norm of all of them"
                       : session_is_guarded(s) ? "as they are looked at before any is used"
                       : s->update.op          ? "as --fuse-update is off"
                                               : "as nothing updates");
}

neap_error *session_report(struct neap_plan *s) {
    struct neap_plan_report *r = &s->report;
    int64_t micro = graph_batch(s->step->g);
    TRY(copy_names(s));
    r->batch = s->options.batch;
    r->micro_batch = micro;
    r->micro_batches = (s->options.batch + micro - 1) / micro;
    r->grad_accum_steps = s->accumulation.most_steps;
    r->parameters = count_parameters(s->model);
    r->store_all = totals_of(s, s->whole, &s->store_all, 1);
    r->plan = totals_of(s, s->step, &s->plan, r->micro_batches);
    int64_t bound = r->budget_is_arena ? r->plan.arena_bytes : r->plan.peak_bytes;
    r->fits = s->plan.fits && bound <= r->budget_bytes;
    r->stopped = s->plan.stopped;
    r->recomputed_ops = s->plan.measure.recomputed;
    double once = report_once_seconds(s->step, r->micro_batches);
    r->recompute_seconds = r->recomputed_ops ? r->plan.step_seconds - once : 0;
    r->overhead = r->plan.step_seconds / r->store_all.step_seconds - 1;
    r->overhead_lower_bound =
        (once + s->bound_seconds * (double)r->micro_batches) / r->store_all.step_seconds - 1;
    r->gap = r->overhead - r->overhead_lower_bound;
    TRY(describe_update(s));
    return describe_peak(s, &r->worst_moment);
}
