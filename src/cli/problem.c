/* `neap plan` of files that are no models: bare planning problems, and problems of placement. */
#include "cli/cli.h"

#include <string.h>

/* ---- bare problems -------------------------------------------------------------------------- */

static void problem_json(const struct settings *settings, const struct neap_problem_report *report,
                         const neap_curve *curve) {
    struct emit out = {.file = stdout};
    emit_open(&out, NULL, '{');
    emit_string(&out, "problem", settings->run.model);
    emit_integer(&out, "ops", report->ops);
    emit_integer(&out, "peak_store_all_bytes", report->peak_store_all_bytes);
    emit_integer(&out, "budget_bytes", report->budget_bytes);
    emit_bool(&out, "fits", report->fits);
    emit_integer(&out, "peak_bytes", report->peak_bytes);
    emit_integer(&out, "arena_bytes", report->arena_bytes);
    emit_real(&out, "cost_store_all", report->cost_store_all);
    emit_real(&out, "cost", report->cost);
    emit_real(&out, "overhead", report->overhead);
    emit_real(&out, "overhead_lower_bound", report->overhead_lower_bound);
    emit_real(&out, "gap", report->gap);
    emit_bool(&out, "proven", report->proven);
    emit_integer(&out, "recomputed_ops", report->recomputed_ops);
    emit_real(&out, "solver_seconds", report->solver_seconds);
    emit_string(&out, "stopped", report->stopped ? "time" : NULL);
    emit_string(&out, "strategy", report->strategy);
    emit_integer(&out, "smallest_budget_bytes", report->smallest_budget_bytes);
    emit_bool(&out, "smallest_proven", report->smallest_proven);
    emit_integer(&out, "peak_lower_bound_bytes", report->peak_lower_bound_bytes);
    if (curve)
        curve_json(&out, neap_curve_get_report(curve));
    emit_close(&out, '}');
}

/* Problems from elsewhere may count in units far from a mebibyte. */
static struct text size_text(int64_t bytes) {
    struct text text = count_text(bytes);
    if (bytes >= 1 << 20)
        return bytes_text(bytes);
    snprintf(text.s + strlen(text.s), sizeof text.s - strlen(text.s), " bytes");
    return text;
}

/* Overheads of good plans differ in the third digit. */
static struct text fine_percent_text(double fraction) {
    struct text text;
    snprintf(text.s, sizeof text.s, "%+.3f %%", fraction * 100);
    return text;
}

static struct text cost_text(double cost) {
    struct text text;
    snprintf(text.s, sizeof text.s, "%.6g", cost);
    return text;
}

static void row(const char *title, const char *store_all, const char *plan) {
    printf("%-18s %16s %16s\n", title, store_all, plan);
}

static void exact(const char *title, int64_t bytes, const char *more) {
    printf("%-18s %s%s\n", title, exact_bytes_text(bytes).s, more);
}

static void problem_table(const struct settings *settings,
                          const struct neap_problem_report *report) {
    printf("%s: %s ops, order %s\n\n", settings->run.model, count_text(report->ops).s,
           settings->run.plan_order == NEAP_ORDER_FIXED ? "fixed" : "free");
    row("", "store all", "plan");
    row("peak", size_text(report->peak_store_all_bytes).s, size_text(report->peak_bytes).s);
    row("  arena", "", size_text(report->arena_bytes).s);
    row("cost", cost_text(report->cost_store_all).s, cost_text(report->cost).s);
    row("overhead", "", fine_percent_text(report->overhead).s);
    row("  lower bound", "", fine_percent_text(report->overhead_lower_bound).s);
    row("  gap", "", report->proven ? "none, proven" : fine_percent_text(report->gap).s);
    row("recomputed ops", "", count_text(report->recomputed_ops).s);
    row("strategy", "", report->strategy);
    if (report->stopped)
        row("stopped", "", "time");
    putchar('\n');
    exact("budget", report->budget_bytes, " of peak");
    exact("smallest budget", report->smallest_budget_bytes,
          report->smallest_proven ? " of peak, proven" : " of peak");
    exact("  lower bound", report->peak_lower_bound_bytes, "");
}

/* A bare problem's plan is its schedule: figures and numbers are of the curve. */
static int check_emits(const struct settings *settings) {
    if (settings->emits[NEAP_EMIT_DOT] || settings->emits[NEAP_EMIT_TORCH])
        return fail(NEAP_ERROR_USAGE,
                    "'--emit dot' and '--emit torch' are for models, and '%s' is "
                    "a bare planning problem",
                    settings->run.model);
    bool figure = settings->emits[NEAP_EMIT_SVG] || settings->emits[NEAP_EMIT_CSV];
    if (figure && !settings->curve)
        return fail(NEAP_ERROR_USAGE, "'--emit' of a bare planning problem goes with '--curve'");
    return NEAP_OK;
}

static void print_problem(const struct settings *settings, const struct neap_problem_report *report,
                          const neap_curve *curve) {
    if (settings->json) {
        problem_json(settings, report, curve);
        return;
    }
    if (report->fits) /* else the error says it all */
        problem_table(settings, report);
    if (report->fits && curve)
        putchar('\n');
    if (curve)
        curve_table(stdout, neap_curve_get_report(curve));
}

int plan_problem(const struct settings *settings) {
    const struct neap_options *run = &settings->run;
    const struct neap_problem_options options = {.path = run->model,
                                                 .arena = run->arena,
                                                 .order = run->plan_order,
                                                 .seed = run->plan_seed,
                                                 .time_limit_seconds = run->time_limit_seconds,
                                                 .output = run->output};
    struct neap_problem_report report;
    neap_curve *curve = NULL;
    int code = check_emits(settings);
    if (code)
        return code;
    neap_error *error = neap_problem_plan(&options, &report);
    if (report.ops && settings->curve)
        code = fail_with(neap_problem_curve(&options, settings->curve, &curve));
    if (report.ops && !code)
        print_problem(settings, &report, curve);
    if (!code)
        code = emit_files(settings, NULL, curve);
    neap_curve_free(curve);
    if (error || code)
        return error ? fail_with(error) : code;
    if (run->arena.kind == NEAP_SIZE_UNSET && !settings->quiet)
        note("no budget given: the peak without recompute (--arena 100%%)");
    if (run->output && !settings->quiet)
        note("saved %s", run->output);
    return NEAP_OK;
}

/* ---- placement ------------------------------------------------------------------------------ */

static void placement_json(const struct settings *settings,
                           const struct neap_placement_report *report) {
    struct emit out = {.file = stdout};
    emit_open(&out, NULL, '{');
    emit_string(&out, "problem", settings->run.model);
    emit_integer(&out, "buffers", report->buffers);
    emit_integer(&out, "lower_bound_bytes", report->lower_bound_bytes);
    emit_integer(&out, "arena_bytes", report->arena_bytes);
    emit_bool(&out, "fits", report->fits);
    emit_bool(&out, "optimal", report->optimal);
    emit_real(&out, "solver_seconds", report->solver_seconds);
    emit_close(&out, '}');
}

static void placement_table(const struct settings *settings,
                            const struct neap_placement_report *report) {
    printf("%s: %s buffers\n\n", settings->run.model, count_text(report->buffers).s);
    exact("arena", report->arena_bytes, report->optimal ? ", proven the smallest" : "");
    exact("  lower bound", report->lower_bound_bytes, "");
    if (settings->run.arena.bytes)
        exact("budget", settings->run.arena.bytes, " of arena");
}

int plan_placement(const struct settings *settings) {
    const struct neap_options *run = &settings->run;
    if (run->arena.kind == NEAP_SIZE_PERCENT)
        return fail(NEAP_ERROR_USAGE,
                    "'--arena' of a placement problem is a size: there is nothing to take a "
                    "percentage of");
    const struct neap_placement_options options = {
        .path = run->model, .arena_bytes = run->arena.bytes, .output = run->output};
    struct neap_placement_report report;
    neap_error *error = neap_placement_plan(&options, &report);
    if (report.buffers && settings->json)
        placement_json(settings, &report);
    else if (report.buffers && report.fits) /* else the error says it all */
        placement_table(settings, &report);
    if (error)
        return fail_with(error);
    if (run->output && !settings->quiet)
        note("saved %s", run->output);
    return NEAP_OK;
}
