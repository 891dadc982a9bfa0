/* The frontier of memory and time, and the files about it and about plans. */
#include "cli/cli.h"

#include <string.h>

static void point_json(struct emit *out, const struct neap_curve_point *point) {
    emit_open(out, NULL, '{');
    emit_integer(out, "peak_bytes", point->peak_bytes);
    emit_integer(out, "arena_bytes", point->arena_bytes);
    emit_integer(out, "live_peak_bytes", point->live_peak_bytes);
    emit_real(out, "overhead", point->overhead);
    emit_real(out, "overhead_lower_bound", point->overhead_lower_bound);
    emit_integer(out, "recomputed_ops", point->recomputed_ops);
    emit_string(out, "strategy", point->strategy);
    emit_close(out, '}');
}

void curve_json(struct emit *out, const struct neap_curve_report *report) {
    emit_open(out, "curve", '[');
    for (size_t i = 0; i < report->n_points; i++)
        point_json(out, &report->points[i]);
    emit_close(out, ']');
    emit_open(out, "curve_strategies", '[');
    for (size_t i = 0; i < report->n_strategies; i++)
        point_json(out, &report->strategies[i]);
    emit_close(out, ']');
    emit_real(out, "curve_seconds", report->solver_seconds);
}

/* "12.3 MiB", or whole bytes where that would say little. */
static struct text size_text(int64_t bytes) {
    return bytes < 1 << 20 ? count_text(bytes) : bytes_text(bytes);
}

static void print_point(FILE *file, const struct neap_curve_report *report,
                        const struct neap_curve_point *point) {
    int64_t bytes = report->of_live_peak ? point->live_peak_bytes : point->arena_bytes;
    double percent = 100 * (double)bytes / (double)report->store_all_bytes;
    fprintf(file, "%14s %14s %8.1f %% %+10.3f %% %+10.3f %% %8s  %s\n",
            size_text(point->peak_bytes).s, size_text(point->arena_bytes).s, percent,
            100 * point->overhead, 100 * point->overhead_lower_bound,
            count_text(point->recomputed_ops).s, point->strategy);
}

void curve_table(FILE *file, const struct neap_curve_report *report) {
    const char *what = report->of_live_peak ? "live peak" : "peak";
    fprintf(file, "%14s %14s %10s %12s %12s %8s  %s\n", what, "arena", "store-all", "overhead",
            "lower bound", "reruns", "strategy");
    for (size_t i = 0; i < report->n_points; i++)
        print_point(file, report, &report->points[i]);
    fprintf(file, "\n%s of store-all is %s; no plan needs less than %s\n",
            report->of_live_peak ? "the live peak" : "the arena",
            size_text(report->store_all_bytes).s, size_text(report->floor_bytes).s);
}

int emit_files(const struct settings *settings, const neap_plan *plan, const neap_curve *curve) {
    for (int i = 0; i < NEAP_N_EMITS; i++) {
        const char *path = settings->emits[i];
        enum neap_emit what = (enum neap_emit)i;
        bool of_curve = curve && (what == NEAP_EMIT_SVG || what == NEAP_EMIT_CSV);
        if (!path || (!of_curve && !plan))
            continue;
        int code = fail_with(of_curve ? neap_curve_emit(curve, what, path)
                                      : neap_plan_emit(plan, what, path));
        if (code)
            return code;
        if (!settings->quiet)
            note("wrote %s", path);
    }
    return NEAP_OK;
}
