/* The forms that a plan can be written in. */
#include "train/emit.h"

#include <stdio.h>

void emit_title(const struct neap_plan *plan, char title[EMIT_TITLE_BYTES]) {
    const struct neap_plan_report *r = &plan->report;
    int length =
        snprintf(title, EMIT_TITLE_BYTES, "%.100s, batch %lld", r->model, (long long)r->batch);
    if (r->micro_batches > 1)
        snprintf(title + length, EMIT_TITLE_BYTES - (size_t)length, " in slices of %lld",
                 (long long)r->micro_batch);
}

neap_error *neap_plan_emit(const neap_plan *plan, enum neap_emit what, const char *path) {
    static neap_error *(*const forms[NEAP_N_EMITS])(const struct neap_plan *, const char *) = {
        [NEAP_EMIT_DOT] = emit_dot,
        [NEAP_EMIT_SVG] = emit_timeline_svg,
        [NEAP_EMIT_CSV] = emit_timeline_csv,
        [NEAP_EMIT_TORCH] = emit_torch,
    };
    if ((unsigned)what >= NEAP_N_EMITS)
        return error_make(NEAP_ERROR_USAGE, "a plan has no form %d", (int)what);
    return forms[what](plan, path);
}
