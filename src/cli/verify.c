/* `neap verify`: the plan against store-all, bit for bit, and the bytes measured against those
 * planned. Exits with 1 where a bit differs or something wrote outside its life. */
#include "cli/cli.h"

struct tally {
    const char *name;
    int64_t tensors, values, differing; /* tensors < 0: not counted */
};

enum { N_TALLIES = 4 };

static void tallies_of(const struct neap_verify_report *report, struct tally tallies[N_TALLIES]) {
    const struct neap_verify_report *r = report;
    tallies[0] = (struct tally){"gradients", r->gradient_tensors, r->gradient_values,
                                r->gradients_differing};
    tallies[1] = (struct tally){"weights", -1, r->weight_values, r->weights_differing};
    tallies[2] =
        (struct tally){"buffers", r->buffer_tensors, r->buffer_values, r->buffers_differing};
    tallies[3] = (struct tally){"masks", r->mask_tensors, r->mask_values, r->masks_differing};
}

static void verify_json(const struct settings *settings, const struct neap_verify_report *report) {
    struct tally tallies[N_TALLIES];
    tallies_of(report, tallies);
    struct emit out = {.file = stdout};
    emit_open(&out, NULL, '{');
    emit_string(&out, "model", settings->run.model);
    emit_integer(&out, "batch", report->batch);
    emit_integer(&out, "micro_batch", report->micro_batch);
    emit_bool(&out, "identical", report->identical);
    emit_integer(&out, "updates", report->updates);
    emit_real(&out, "loss", report->loss);
    emit_real(&out, "loss_store_all", report->loss_store_all);
    emit_integer(&out, "losses_differing", report->losses_differing);
    for (int i = 0; i < N_TALLIES; i++) {
        emit_open(&out, tallies[i].name, '{');
        if (tallies[i].tensors >= 0)
            emit_integer(&out, "tensors", tallies[i].tensors);
        emit_integer(&out, "values", tallies[i].values);
        emit_integer(&out, "differing", tallies[i].differing);
        emit_close(&out, '}');
    }
    emit_string(&out, "first_difference",
                report->first_difference[0] ? report->first_difference : NULL);
    emit_integer(&out, "arena_planned_bytes", report->arena_planned_bytes);
    emit_integer(&out, "arena_measured_bytes", report->arena_measured_bytes);
    emit_bool(&out, "canaries_intact", report->canaries_intact);
    emit_integer(&out, "recomputed_ops", report->recomputed_ops);
    emit_real(&out, "overhead", report->overhead);
    emit_real(&out, "seconds_store_all", report->seconds_store_all);
    emit_real(&out, "seconds_plan", report->seconds_plan);
    emit_close(&out, '}');
}

static void verify_print(const struct settings *settings, const struct neap_verify_report *report) {
    struct tally tallies[N_TALLIES];
    tallies_of(report, tallies);
    printf("%s: %s at batch %lld, plan against store-all after %lld update%s\n\n",
           report->identical ? "identical" : "NOT identical", settings->run.model,
           (long long)report->batch, (long long)report->updates, report->updates == 1 ? "" : "s");
    printf("%-12s %.9g against %.9g, %lld of %lld losses differ\n", "loss", report->loss,
           report->loss_store_all, (long long)report->losses_differing, (long long)report->updates);
    for (int i = 0; i < N_TALLIES; i++)
        printf("%-12s %s%s%s values, %s differ\n", tallies[i].name,
               tallies[i].tensors < 0 ? "" : count_text(tallies[i].tensors).s,
               tallies[i].tensors < 0 ? "" : " tensors, ", count_text(tallies[i].values).s,
               count_text(tallies[i].differing).s);
    if (report->first_difference[0])
        printf("%-12s %s\n", "first", report->first_difference);
    printf("%-12s planned %s bytes, measured %s bytes\n", "arena",
           count_text(report->arena_planned_bytes).s, count_text(report->arena_measured_bytes).s);
    printf("%-12s %s\n", "canaries",
           report->canaries_intact ? "intact" : "overwritten: a kernel wrote outside its tensors");
    printf("%-12s %s ops recomputed, planned overhead %s\n", "time",
           count_text(report->recomputed_ops).s, percent_text(report->overhead).s);
    double ratio =
        report->seconds_store_all > 0 ? report->seconds_plan / report->seconds_store_all - 1 : 0;
    printf("%-12s %s against %s of store-all a step (%s)\n", "",
           seconds_text(report->seconds_plan).s, seconds_text(report->seconds_store_all).s,
           percent_text(ratio).s);
}

int command_verify(struct settings *settings) {
    struct neap_verify_report report = {0};
    int code = fail_with(neap_verify(&settings->run, &report));
    if (code)
        return code;
    if (report.decision[0] && !settings->quiet)
        note("%s", report.decision);
    (settings->json ? verify_json : verify_print)(settings, &report);
    return report.identical && report.canaries_intact ? NEAP_OK : NEAP_ERROR_RUNTIME;
}
