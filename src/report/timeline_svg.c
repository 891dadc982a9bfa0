/* A plan's memory drawn: every life a rectangle, steps by offsets.
 *
 *   MiB - - - - - - - - - - - - -   store-all's arena
 *     |      ____
 *     |  ___|    |_|__              the arena; the step with the most live bytes is marked
 *     +------------:-----------
 *       forward    : backward   step
 *
 * A life that is in place of another begins one step later, so that both can be seen. */
#include <inttypes.h>

#include "base/file.h"
#include "report/svg.h"
#include "report/timeline.h"

enum { WIDTH = 860, HEIGHT = 470, LEFT = 70, RIGHT = 836, TOP = 76, BOTTOM = 384 };

#define NOTE "font-size='11' fill='#333333'"

static const struct {
    const char *legend, *colour;
} looks[N_TIMELINE_KINDS] = {
    [TIMELINE_INPUT] = {"input", "#9e9e9e"},
    [TIMELINE_KEPT] = {"kept for backward", "#0b5fa5"},
    [TIMELINE_PASSING] = {"of forward alone", "#a9cfee"},
    [TIMELINE_RECOMPUTED] = {"recomputed", "#d1730f"},
    [TIMELINE_GRADIENT] = {"gradient", "#7fb77e"},
    [TIMELINE_PARAMETER_GRADIENT] = {"parameter gradient", "#2e7d32"},
    [TIMELINE_WEIGHT_COPY] = {"weight copy", "#c3a6d8"},
    [TIMELINE_SCRATCH] = {"scratch", "#e6d96a"},
};

struct plot {
    FILE *file;
    const struct timeline *t;
    struct axis x, y;
    struct axis_unit unit;
};

static void draw_life(const struct plot *p, const struct timeline_life *life) {
    if (life->first_step > life->last_step || !life->bytes)
        return;
    double left = axis_at(&p->x, life->first_step), right = axis_at(&p->x, life->last_step + 1.0);
    double bottom = axis_at(&p->y, (double)life->offset),
           top = axis_at(&p->y, (double)(life->offset + life->bytes));
    char tip[160], attributes[96];
    snprintf(tip, sizeof tip, "%.80s: %.1f %s, steps %" PRIu32 " to %" PRIu32, life->name,
             (double)life->bytes / p->unit.bytes, p->unit.name, life->first_step, life->last_step);
    snprintf(attributes, sizeof attributes, "fill='%s' stroke='#ffffff' stroke-width='0.3'",
             looks[life->kind].colour);
    svg_begin_group(p->file, "", tip);
    svg_rect(p->file, left, top, right - left, bottom - top, attributes);
    svg_end_group(p->file);
}

static void draw_level(const struct plot *p, int64_t bytes, const char *name,
                       const char *attributes) {
    char text[96];
    double y = axis_at(&p->y, (double)bytes);
    snprintf(text, sizeof text, "%s, %.1f %s", name, (double)bytes / p->unit.bytes, p->unit.name);
    svg_line(p->file, LEFT, y, RIGHT, y, attributes);
    svg_text(p->file, RIGHT - 4, y - 5, SVG_END, NOTE, text);
}

static void draw_moments(const struct plot *p) {
    const struct timeline *t = p->t;
    double border = axis_at(&p->x, t->border_step), worst = axis_at(&p->x, t->worst_step + 0.5);
    char text[160];
    if (t->border_step < t->n_steps) {
        svg_line(p->file, border, TOP, border, BOTTOM, "stroke='#777777' stroke-dasharray='2 3'");
        svg_text(p->file, border - 6, TOP - 5, SVG_END, NOTE, "forward");
        svg_text(p->file, border + 6, TOP - 5, SVG_START, NOTE, "backward");
    }
    if (t->worst_step >= t->n_steps)
        return;
    const struct timeline_step *step = &t->steps[t->worst_step];
    snprintf(text, sizeof text, "worst moment: step %" PRIu32 ", %.80s, %.1f %s live",
             t->worst_step, step->op, (double)step->live_bytes / p->unit.bytes, p->unit.name);
    svg_line(p->file, worst, TOP, worst, BOTTOM, "stroke='#b3261e' stroke-width='1.2'");
    svg_text(p->file, LEFT, 46, SVG_START, "font-size='11' fill='#b3261e'", text);
}

static void draw_legend(const struct plot *p) {
    struct legend legend = {LEFT, BOTTOM + 58, LEFT, RIGHT};
    char attributes[64];
    double x, y;
    for (int k = 0; k < N_TIMELINE_KINDS; k++) {
        bool present = false;
        for (size_t i = 0; i < p->t->n_lives; i++)
            present = present || (int)p->t->lives[i].kind == k;
        if (!present)
            continue;
        snprintf(attributes, sizeof attributes, "fill='%s'", looks[k].colour);
        legend_entry(p->file, &legend, looks[k].legend, &x, &y);
        svg_rect(p->file, x - 9, y - 5, 18, 10, attributes);
    }
}

neap_error *timeline_write_svg(const struct timeline *t, const char *path) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    int64_t most = t->arena_bytes > t->store_all_bytes ? t->arena_bytes : t->store_all_bytes;
    struct plot p = {.file = file_writer_stream(writer), .t = t};
    char label[32];
    p.x = (struct axis){0, t->n_steps ? (double)t->n_steps : 1, LEFT, RIGHT};
    p.y = (struct axis){0, most ? 1.08 * (double)most : 1, BOTTOM, TOP};
    p.unit = axis_unit_of(p.y.high);
    svg_open(p.file, WIDTH, HEIGHT, t->title);
    svg_text(p.file, LEFT, 28, SVG_START, "font-size='14' font-weight='bold' fill='#222222'",
             t->title);
    snprintf(label, sizeof label, "offset in the arena (%s)", p.unit.name);
    axis_draw_x(p.file, &p.x, &p.y, 1, "step");
    axis_draw_y(p.file, &p.x, &p.y, 1 / p.unit.bytes, label);
    for (size_t i = 0; i < t->n_lives; i++)
        draw_life(&p, &t->lives[i]);
    draw_moments(&p);
    if (t->store_all_bytes != t->arena_bytes)
        draw_level(&p, t->store_all_bytes, "store-all", "stroke='#555555' stroke-dasharray='6 4'");
    draw_level(&p, t->arena_bytes, "arena", "stroke='#333333'");
    draw_legend(&p);
    svg_close(p.file);
    return file_writer_commit(writer);
}
