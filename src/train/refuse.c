/* The error of a budget that cannot be met: how much is missing, where, and what would fit.
 * Computed by planning again, whole and in slices. */
#include <stdio.h>
#include <string.h>

#include "ir/op.h"
#include "train/session.h"

/* The least bytes that slices of `samples` need, in the budget's unit; -1 where the network cannot
 * be sliced so. */
static int64_t sliced_least(const struct neap_plan *s, int64_t samples) {
    struct neap_plan sliced = *s;
    struct compiled *c = NULL;
    struct plan_result least = {0};
    struct neap_options o = s->options;
    int64_t bytes = -1;
    o.recompute = "auto";
    o.recompute_layers = NULL;
    sliced.update.gradients = GRADIENTS_ACCUMULATED;
    neap_error *error = session_compile_at(&sliced, samples, !s->evaluation, NULL, &c);
    if (!error)
        error = session_solve(c, &o, 0, &least);
    if (!error)
        bytes = least.arena_bytes + (s->report.budget_is_arena ? 0 : session_outside_arena(s, c));
    plan_result_free(&least);
    compiled_free(c);
    neap_error_free(error);
    return bytes;
}

static bool mixes_samples(const neap_graph *g) {
    bool mixes = false;
    for (node_id n = 0; n < g->n_nodes; n++)
        mixes = mixes || graph_node(g, n)->op->flags & OP_MIXES_SAMPLES;
    return mixes;
}

/* "--micro-batch 8  batch norm over 8 samples": the largest of b/2, b/4, … that fits, if one does.
 */
static void suggest_slicing(const struct neap_plan *s, char *text, size_t size) {
    const struct neap_plan_report *r = &s->report;
    text[0] = 0;
    for (int64_t micro = r->micro_batch / 2; micro >= 1; micro /= 2) {
        int64_t least = sliced_least(s, micro);
        if (least < 0 || least > r->budget_bytes)
            continue;
        int n = snprintf(text, size, "\n              --micro-batch %-2lld", (long long)micro);
        if (mixes_samples(s->model))
            snprintf(text + n, size - (size_t)n, " batch norm over %lld samples", (long long)micro);
        else
            snprintf(text + n, size - (size_t)n, " sums in another order");
        return;
    }
}

neap_error *session_refuse(struct neap_plan *s) {
    const struct neap_plan_report *r = &s->report;
    const char *flag = r->budget_is_arena ? "--arena" : "-m";
    long long mib = (long long)((r->smallest_budget_bytes + (1 << 20) - 1) >> 20);
    char budget[24], least[24], single_bytes[24], single_text[64] = "", slicing[96];
    bool fixed = s->options.recompute_layers || strcmp(s->options.recompute, "auto") != 0;
    bool whole = r->micro_batch == r->batch;
    int64_t single = whole && r->batch > 1 ? sliced_least(s, 1) : -1;
    if (single >= 0)
        snprintf(single_text, sizeof single_text, " (whole batch) or %s (micro-batch 1)",
                 report_bytes(single, single_bytes));
    suggest_slicing(s, slicing, sizeof slicing);
    return error_make(NEAP_ERROR_BUDGET,
                      "%s at batch %lld does not fit in %s\n"
                      "  least possible is %s%s\n"
                      "  at the worst moment: %s\n"
                      "  would fit:  %s %lldM%*s exact, %+.0f %% time%s%s",
                      r->model, (long long)r->batch, report_bytes(r->budget_bytes, budget),
                      report_bytes(r->smallest_budget_bytes, least), single_text, r->worst_moment,
                      flag, mib, (int)(15 - strlen(flag)) - 4, "", 100 * r->smallest_overhead,
                      fixed ? ", with --recompute auto" : "", slicing);
}
