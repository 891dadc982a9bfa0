/* What pooling kernels share: see windows.h. */
#include "backend/cpu/windows.h"

#include <string.h>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/real.h"

const char *windows_negotiate_real(const struct kernel_site *site, struct kernel_layouts *want,
                                   uint32_t leader) {
    struct value value = *node_input(site->g, site->node, leader);
    struct channel_view view;
    value.layout = want->in[leader];
    if (!channel_view_of(&value, &view)) {
        if (!dtype_is_real(value.dtype))
            return "the layout is not plain, channels-last or blocked by channels";
        value.layout = (struct layout){0};
    }
    for (uint32_t i = 0; i < site->node->n_inputs; i++)
        want->in[i] = value.layout;
    for (uint32_t i = 0; i < site->node->n_outputs; i++)
        want->out[i] = value.layout;
    return real_negotiate(site);
}

const char *windows_negotiate(const struct kernel_site *site, struct kernel_layouts *want,
                              uint32_t leader) {
    const char *refusal = windows_negotiate_real(site, want, leader);
    return refusal ? refusal : f32_negotiate(site);
}

neap_error *windows_create(const struct value *image, const struct value *pooled,
                           struct windows **out) {
    struct windows *w;
    size_t n_spans = (size_t)(pooled->shape.dim[2] + pooled->shape.dim[3]);
    TRY(memory_alloc(1, sizeof *w + n_spans * sizeof w->spans[0], &w));
    channel_view_of(image, &w->image);
    channel_view_of(pooled, &w->pooled);
    *out = w;
    return NULL;
}

int64_t windows_alike(const struct windows *w, int64_t at) {
    const struct window_span *span = &w->spans[w->pooled.height + at];
    int64_t n = 1, most = w->pooled.width - at < MAX_RUN ? w->pooled.width - at : MAX_RUN;
    while (w->step && n < most && span[n].begin - span[n - 1].begin == w->step &&
           span[n].start - span[n - 1].start == w->step &&
           span[n].end - span[n - 1].end == w->step && span[n].scale == span->scale)
        n++;
    return n;
}

void windows_clear_padding(const struct windows *w, int64_t plane, int64_t row, void *pooled,
                           size_t bytes) {
    const struct channel_view *p = &w->pooled;
    int64_t channels = p->channels - plane % p->blocks * p->lanes;
    if (channels >= p->lanes)
        return;
    char *place = (char *)pooled +
                  (size_t)((plane * p->space + row * p->width) * p->lanes + channels) * bytes;
    for (int64_t column = 0; column < p->width; column++, place += (size_t)p->lanes * bytes)
        memset(place, 0, (size_t)(p->lanes - channels) * bytes);
}
