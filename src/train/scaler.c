/* Loss scaling: see scaler.h. */
#include "train/scaler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A gradient that overflows at scale 1 does so without scaling. Above the largest, products of the
 * scale with anything would leave fp32. */
static const double least = 1, most = 0x1p60;

static bool is_dynamic(const char *text, const char **start) {
    static const char name[] = "dynamic";
    size_t length = sizeof name - 1;
    if (strncmp(text, name, length) || (text[length] && text[length] != ':'))
        return false;
    *start = text[length] ? text + length + 1 : NULL;
    return true;
}

neap_error *scaler_of(const char *text, bool scaled, struct loss_scaler *out) {
    const char *number = text;
    char *end;
    *out = (struct loss_scaler){.scale = scaled ? SCALER_START : 1, .dynamic = scaled};
    if (!text)
        return NULL;
    if (!scaled)
        return error_make(NEAP_ERROR_USAGE,
                          "--loss-scale is for --precision fp16: fp32 and bf16 do not overflow");
    out->dynamic = is_dynamic(text, &number);
    if (!number)
        return NULL;
    out->scale = strtod(number, &end);
    if (end != number && !*end && out->scale >= least && out->scale <= most)
        return NULL;
    return error_make(NEAP_ERROR_USAGE,
                      "--loss-scale '%s' is not 'dynamic', 'dynamic:START' or a number from 1 to "
                      "2^60",
                      text);
}

neap_error *scaler_step(struct loss_scaler *s, bool finite) {
    if (finite) {
        s->good_updates++;
        if (s->dynamic && s->good_updates >= SCALER_PATIENCE && s->scale <= most / 2) {
            s->scale *= 2;
            s->good_updates = 0;
        }
        return NULL;
    }
    s->good_updates = 0;
    if (!s->dynamic)
        return NULL;
    s->scale /= 2;
    if (s->scale >= least)
        return NULL;
    return error_make(NEAP_ERROR_DIVERGED,
                      "gradients are not finite at any loss scale down to 1: what overflows are "
                      "the activations or the gradients themselves; a smaller learning rate, a "
                      "warm-up or --precision bf16 may help");
}
