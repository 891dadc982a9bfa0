/* `neap eval`: loss and accuracy of trained weights, in forward's memory. */
#include "cli/cli.h"

static void eval_json(const struct neap_eval_report *report) {
    struct emit out = {.file = stdout};
    emit_open(&out, NULL, '{');
    emit_real(&out, "loss", report->loss);
    emit_real(&out, "top1", report->top1);
    emit_real(&out, "top5", report->top5);
    emit_integer(&out, "images", report->images);
    emit_real(&out, "seconds", report->seconds);
    emit_integer(&out, "peak_planned_bytes", report->peak_planned_bytes);
    emit_integer(&out, "peak_measured_bytes", report->peak_measured_bytes);
    emit_integer(&out, "arena_bytes", report->arena_bytes);
    emit_integer(&out, "rss_bytes", report->rss_bytes);
    emit_close(&out, '}');
}

static void eval_print(const struct neap_eval_report *report) {
    printf("loss %.4f  top1 %.2f%%  top5 %.2f%%  (%s images in %s)\n", report->loss, report->top1,
           report->top5, count_text(report->images).s, seconds_text(report->seconds).s);
    printf("peak planned %s, measured %s; arena %s; rss %s\n",
           bytes_text(report->peak_planned_bytes).s, bytes_text(report->peak_measured_bytes).s,
           bytes_text(report->arena_bytes).s, bytes_text(report->rss_bytes).s);
}

int command_eval(struct settings *settings) {
    struct neap_eval_report report = {0};
    int code = fail_with(neap_evaluate(&settings->run, &report));
    if (!code)
        (settings->json ? eval_json : eval_print)(&report);
    return code;
}
