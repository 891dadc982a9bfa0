/* A plan's report, as JSON and as the table that people read. */
#include "cli/cli.h"

#include <string.h>

static void totals_json(struct emit *out, const struct neap_totals *totals) {
    emit_integer(out, "peak_bytes", totals->peak_bytes);
    emit_integer(out, "arena_bytes", totals->arena_bytes);
    emit_integer(out, "live_peak_bytes", totals->live_peak_bytes);
    emit_integer(out, "weights_bytes", totals->weights_bytes);
    emit_integer(out, "gradients_bytes", totals->gradients_bytes);
    emit_integer(out, "optimizer_bytes", totals->optimizer_bytes);
    emit_integer(out, "buffers_bytes", totals->buffers_bytes);
    emit_integer(out, "host_bytes", totals->host_bytes);
    emit_real(out, "step_seconds", totals->step_seconds);
}

static void max_batch_json(struct emit *out, const struct neap_max_batch *found) {
    emit_open(out, "max_batch", '{');
    emit_integer(out, "batch", found->batch);
    emit_integer(out, "micro_batch", found->micro_batch);
    emit_integer(out, "peak_bytes", found->peak_bytes);
    emit_integer(out, "arena_bytes", found->arena_bytes);
    emit_real(out, "overhead", found->overhead);
    emit_real(out, "seconds_per_sample", found->seconds_per_sample);
    emit_bool(out, "proven", found->proven);
    emit_close(out, '}');
}

static void slicing_json(struct emit *out, const struct neap_slicing *slicing) {
    char flag[48];
    snprintf(flag, sizeof flag, "--micro-batch %lld", (long long)slicing->micro_batch);
    emit_open(out, "slicing", '{');
    emit_integer(out, "micro_batch", slicing->micro_batch);
    emit_string(out, "flag", flag);
    emit_string(out, "reason", slicing->only_way ? "fits" : "faster");
    emit_bool(out, "mixes_samples", slicing->mixes_samples);
    emit_integer(out, "peak_bytes", slicing->peak_bytes);
    emit_integer(out, "arena_bytes", slicing->arena_bytes);
    emit_real(out, "overhead", slicing->overhead);
    emit_real(out, "seconds_per_sample", slicing->seconds_per_sample);
    emit_close(out, '}');
}

void summary_json(struct emit *out, const struct neap_plan_report *report) {
    emit_string(out, "model", report->model);
    emit_integer(out, "batch", report->batch);
    emit_integer(out, "micro_batch", report->micro_batch);
    emit_integer(out, "grad_accum_steps", report->grad_accum_steps);
    emit_string(out, "precision", report->precision);
    emit_string(out, "device", report->device);
    emit_string(out, "optimizer", report->optimizer);
    emit_integer(out, "parameters", report->parameters);
    emit_integer(out, "budget_bytes", report->budget_bytes);
    emit_string(out, "budget_unit", report->budget_is_arena ? "arena_bytes" : "peak_bytes");
    emit_bool(out, "fits", report->fits);
    emit_integer(out, "smallest_budget_bytes", report->smallest_budget_bytes);
    emit_bool(out, "smallest_proven", report->smallest_proven);
    emit_integer(out, "arena_lower_bound_bytes", report->arena_lower_bound_bytes);
    emit_open(out, "store_all", '{');
    totals_json(out, &report->store_all);
    emit_close(out, '}');
    emit_open(out, "plan", '{');
    totals_json(out, &report->plan);
    emit_real(out, "recompute_seconds", report->recompute_seconds);
    emit_real(out, "overhead", report->overhead);
    emit_integer(out, "recomputed_ops", report->recomputed_ops);
    emit_string(out, "update", report->update);
    emit_integer(out, "fused_bytes", report->fused_bytes);
    emit_integer(out, "micro_batches", report->micro_batches);
    emit_real(out, "overhead_lower_bound", report->overhead_lower_bound);
    emit_real(out, "gap", report->gap);
    emit_real(out, "solver_seconds", report->solver_seconds);
    emit_string(out, "strategy", report->strategy);
    emit_string(out, "stopped", report->stopped ? "time" : NULL);
    emit_string(out, "worst_moment", report->worst_moment);
    emit_close(out, '}');
    emit_string(out, "decision", report->decision);
    if (report->max_batch)
        max_batch_json(out, report->max_batch);
    if (report->slicing)
        slicing_json(out, report->slicing);
}

static const struct {
    const char *title;
    size_t offset;
} byte_rows[] = {
    {"peak", offsetof(struct neap_totals, peak_bytes)},
    {"  arena", offsetof(struct neap_totals, arena_bytes)},
    {"  weights", offsetof(struct neap_totals, weights_bytes)},
    {"  gradients", offsetof(struct neap_totals, gradients_bytes)},
    {"  optimizer", offsetof(struct neap_totals, optimizer_bytes)},
    {"  buffers", offsetof(struct neap_totals, buffers_bytes)},
    {"  host", offsetof(struct neap_totals, host_bytes)},
    {"live in arena", offsetof(struct neap_totals, live_peak_bytes)},
};

static void row(FILE *file, const char *title, const char *store_all, const char *plan) {
    fprintf(file, "%-18s %14s %14s\n", title, store_all, plan);
}

static void fact(FILE *file, const char *title, const char *text) {
    fprintf(file, "%-18s %s\n", title, text);
}

static void print_max_batch(FILE *file, const struct neap_max_batch *found) {
    if (!found->batch)
        fact(file, "largest batch", "not even one sample fits");
    else
        fprintf(file, "%-18s %lld%s, peak %s, %s a sample\n", "largest batch",
                (long long)found->batch, found->proven ? ", proven" : "",
                bytes_text(found->peak_bytes).s, seconds_text(found->seconds_per_sample).s);
}

static void print_budget(FILE *file, const struct neap_plan_report *report) {
    const char *unit = report->budget_is_arena ? "of arena" : "of peak";
    if (report->budget_bytes > 0)
        fprintf(file, "%-18s %s %s\n", "budget", exact_bytes_text(report->budget_bytes).s, unit);
    if (report->smallest_budget_bytes > 0)
        fprintf(file, "%-18s %s %s%s\n", "smallest budget",
                exact_bytes_text(report->smallest_budget_bytes).s, unit,
                report->smallest_proven ? ", proven" : "");
    if (report->worst_moment && *report->worst_moment)
        fact(file, "worst moment", report->worst_moment);
    if (report->update)
        fact(file, "update", report->update);
    if (report->max_batch)
        print_max_batch(file, report->max_batch);
    if (report->slicing)
        fact(file, "slicing is off", report->slicing->text);
}

void summary_table(FILE *file, const struct neap_plan_report *report) {
    fprintf(file, "%s, batch %lld, %s, %s on %s: %s parameters\n\n", report->model,
            (long long)report->batch, report->precision, report->optimizer, report->device,
            count_text(report->parameters).s);
    row(file, "", "store all", "plan");
    for (size_t i = 0; i < sizeof byte_rows / sizeof *byte_rows; i++) {
        const char *a = (const char *)&report->store_all + byte_rows[i].offset;
        const char *b = (const char *)&report->plan + byte_rows[i].offset;
        row(file, byte_rows[i].title, bytes_text(*(const int64_t *)a).s,
            bytes_text(*(const int64_t *)b).s);
    }
    row(file, "step", seconds_text(report->store_all.step_seconds).s,
        seconds_text(report->plan.step_seconds).s);
    row(file, "overhead", "", percent_text(report->overhead).s);
    row(file, "  lower bound", "", percent_text(report->overhead_lower_bound).s);
    row(file, "  gap", "", percent_text(report->gap).s);
    row(file, "recomputed ops", "", count_text(report->recomputed_ops).s);
    row(file, "micro-batches", "", count_text(report->micro_batches).s);
    row(file, "accumulation", "", count_text(report->grad_accum_steps).s);
    row(file, "arena lower bound", "", bytes_text(report->arena_lower_bound_bytes).s);
    row(file, "strategy", "", report->strategy);
    if (report->stopped)
        row(file, "stopped", "", "time");
    putc('\n', file);
    print_budget(file, report);
}
