/* `neap plan`: what a training step needs, before there is data or a first weight. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

/* The place of a stage in the compiler's order, or -1 with the error printed. */
static int stage_find(const char *name) {
    struct nearest nearest = nearest_start(name);
    for (size_t i = 0; neap_stage_at(i); i++) {
        if (!strcmp(neap_stage_at(i), name))
            return (int)i;
        nearest_offer(&nearest, neap_stage_at(i));
    }
    fail(NEAP_ERROR_USAGE, "the compiler has no stage '%s'%s: 'neap help plan' lists them", name,
         nearest_text(&nearest, "").s);
    return -1;
}

/* Runs the stages up to `name`, its graph going to `file`; NULL for nowhere. */
static int run_stages(const struct settings *settings, const char *name, FILE *file) {
    FILE *nowhere = file ? NULL : fopen("/dev/null", "w");
    if (!file && !nowhere)
        return fail(NEAP_ERROR_RUNTIME, "/dev/null: %s", strerror(errno));
    int code = fail_with(neap_stage_dump(&settings->run, name, file ? file : nowhere));
    if (nowhere)
        fclose(nowhere);
    return code;
}

/* --dump-after and --stop-after. */
static int dump_stages(const struct settings *settings) {
    int dump = settings->dump_after ? stage_find(settings->dump_after) : 0;
    int stop = settings->stop_after ? stage_find(settings->stop_after) : 0;
    if (dump < 0 || stop < 0)
        return NEAP_ERROR_USAGE;
    if (settings->dump_after && settings->stop_after && dump > stop)
        return fail(NEAP_ERROR_USAGE, "stage '%s' of --dump-after comes after '%s' of --stop-after",
                    settings->dump_after, settings->stop_after);
    int code = NEAP_OK;
    if (settings->dump_after)
        code = run_stages(settings, settings->dump_after, stdout);
    if (!code && settings->stop_after)
        code = run_stages(settings, settings->stop_after, NULL);
    return code;
}

static int print_plan(const struct settings *settings, const neap_plan *plan,
                      const neap_curve *curve) {
    const struct neap_plan_report *report = neap_plan_get_report(plan);
    if (settings->json) {
        struct emit out = {.file = stdout};
        emit_open(&out, NULL, '{');
        summary_json(&out, report);
        if (curve)
            curve_json(&out, neap_curve_get_report(curve));
        emit_close(&out, '}');
        return NEAP_OK;
    }
    if (report->fits) /* else the error says it all */
        summary_table(stdout, report);
    if (report->fits && curve)
        putc('\n', stdout);
    if (curve)
        curve_table(stdout, neap_curve_get_report(curve));
    if (!report->fits || !settings->explain)
        return NEAP_OK;
    putc('\n', stdout);
    return fail_with(neap_plan_explain(plan, stdout));
}

/* The plan and its frontier, as they were asked for. One that does not fit is no plan to emit or
 * save; the frontier is the same. */
static int show(const struct settings *settings, const neap_plan *plan) {
    neap_curve *curve = NULL;
    bool fits = neap_plan_get_report(plan)->fits;
    int code = NEAP_OK;
    if (settings->curve)
        code = fail_with(neap_curve_create(plan, settings->curve, &curve));
    if (!code)
        code = print_plan(settings, plan, curve);
    if (!code)
        code = emit_files(settings, fits ? plan : NULL, curve);
    neap_curve_free(curve);
    if (code || !fits || !settings->run.output)
        return code;
    code = fail_with(neap_plan_save(plan, settings->run.output));
    if (!code && !settings->quiet)
        note("saved %s", settings->run.output);
    return code;
}

static bool is_default(const struct settings *settings, const char *name) {
    bool negated;
    const struct option *option = option_find(name, settings->command->bit, &negated);
    return option_source(settings, option) == FROM_DEFAULT;
}

int command_plan(struct settings *settings) {
    const struct settings *s = settings;
    if (option_takers(s) == PROBLEM)
        return plan_problem(s);
    if (option_takers(s) == PLACEMENT)
        return plan_placement(s);
    if (s->json && (s->explain || s->dump_after || s->stop_after))
        return fail(NEAP_ERROR_USAGE, "'--json' goes without '%s': both write to standard output",
                    s->explain      ? "--explain"
                    : s->dump_after ? "--dump-after"
                                    : "--stop-after");
    struct neap_options options = s->run;
    options.output = NULL; /* the plan's file, not a run's folder */
    if (options.max_batch && is_default(s, "batch"))
        options.batch = NEAP_BATCH_MAX;
    int code = dump_stages(s);
    if (code || s->stop_after)
        return code;
    bool unbounded = options.memory.kind == NEAP_SIZE_UNSET &&
                     options.arena.kind == NEAP_SIZE_UNSET && options.max_overhead < 0;
    neap_plan *plan = NULL;
    neap_error *error = neap_plan_create(&options, &plan);
    if (plan) {
        const struct neap_plan_report *report = neap_plan_get_report(plan);
        int64_t budget_bytes = report->budget_bytes;
        if (unbounded && !s->quiet && budget_bytes > 0)
            note("no budget given: what is available less 256 MiB (-m %lld)",
                 (long long)budget_bytes);
        if (report->decision && !s->quiet)
            note("%s", report->decision);
        code = show(s, plan);
    }
    neap_plan_free(plan);
    if (s->curve && unbounded && neap_error_code(error) == NEAP_ERROR_BUDGET) {
        neap_error_free(error); /* the frontier was asked for, and no budget */
        error = NULL;
    }
    return error ? fail_with(error) : code;
}
