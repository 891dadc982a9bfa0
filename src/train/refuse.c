/* The error of a budget that cannot be met: how much is missing, where, and what would fit.
 * Computed by planning again, whole and in slices. */
#include <stdio.h>
#include <string.h>

#include "train/slicing.h"

/* The least bytes that single samples need, in the budget's unit; -1 where the network cannot be
 * sliced so. */
static int64_t single_least(struct neap_plan *s) {
    struct variant v;
    int64_t bytes = -1;
    neap_error *error = variant_open(s, s->options.batch, 1, &v);
    if (!error)
        error = variant_solve_least(&v);
    if (!error)
        bytes = v.least_arena_bytes +
                (s->report.budget_is_arena ? 0 : session_outside_arena(&v.s, v.s.step));
    variant_close(&v);
    neap_error_free(error);
    return bytes;
}

/* "--micro-batch 8  batch norm over 8 samples, +3 % time": the fastest slices that fit. */
static void suggest_slicing(struct neap_plan *s, char *text, size_t size) {
    const struct neap_slicing *slicing = s->report.slicing;
    char changes[SLICING_TEXT];
    text[0] = 0;
    if (slicing)
        snprintf(text, size, "\n              --micro-batch %-2lld %s, %+.0f %% time",
                 (long long)slicing->micro_batch, slicing_changes(s, slicing->micro_batch, changes),
                 100 * slicing->overhead);
}

/* "-b 37": the largest batch, where it was asked for. */
static void suggest_batch(struct neap_plan *s, char *text, size_t size) {
    const struct neap_max_batch *found = s->report.max_batch;
    text[0] = 0;
    if (found && found->batch)
        snprintf(text, size, "\n              -b %-13lld the largest batch",
                 (long long)found->batch);
}

neap_error *session_refuse(struct neap_plan *s) {
    const struct neap_plan_report *r = &s->report;
    const char *flag = r->budget_is_arena ? "--arena" : "-m";
    long long mib = (long long)((r->smallest_budget_bytes + (1 << 20) - 1) >> 20);
    char budget[24], least[24], single_bytes[24], single_text[64] = "", slicing[160], batch[64];
    bool fixed =
        s->options.plan || s->options.recompute_layers || strcmp(s->options.recompute, "auto") != 0;
    bool whole = r->micro_batch == r->batch;
    int64_t single = whole && r->batch > 1 ? single_least(s) : -1;
    if (single >= 0)
        snprintf(single_text, sizeof single_text, " (whole batch) or %s (micro-batch 1)",
                 report_bytes(single, single_bytes));
    if (!r->slicing)
        TRY(session_advise_slicing(s));
    suggest_slicing(s, slicing, sizeof slicing);
    suggest_batch(s, batch, sizeof batch);
    return error_make(NEAP_ERROR_BUDGET,
                      "%s at batch %lld does not fit in %s\n"
                      "  least possible is %s%s\n"
                      "  at the worst moment: %s\n"
                      "  would fit:  %s %lldM%*s exact, %+.0f %% time%s%s%s",
                      r->model, (long long)r->batch, report_bytes(r->budget_bytes, budget),
                      report_bytes(r->smallest_budget_bytes, least), single_text, r->worst_moment,
                      flag, mib, (int)(15 - strlen(flag)) - 4, "", 100 * r->smallest_overhead,
                      fixed ? ", with --recompute auto" : "", slicing, batch);
}
