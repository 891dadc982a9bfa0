/* The frontier drawn: overhead over bytes.
 *
 *   %|  #  |: o                  neap's plans as points; the line between them is what is known: a
 *    |  #  : ¯|_o   × ×          plan serves all budgets from its own bytes up. Dashed, what no
 *    |  #  '-._ ¯|______o___     plan can be below; hatched, bytes in which no plan exists.
 *    +-------------------------- bytes; above, percent of store-all
 *
 * Both lines are steps, so neither claims more than was found or proven between two numbers. */
#include "report/curve.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "report/svg.h"

enum { WIDTH = 720, HEIGHT = 470, LEFT = 70, RIGHT = 696, TOP = 84, BOTTOM = 384 };

#define NEAP_BLUE "#0b5fa5"
#define ORANGE "#d1730f"
#define RED "#b3261e"
#define GREEN "#2e7d32"

struct plot {
    FILE *file;
    const struct neap_curve_report *curve;
    struct axis x, y;
};

/* How the strategies are drawn, by the start of their names. */
static const struct look {
    const char *name, *legend;
    enum svg_marker marker;
    double radius;
    const char *attributes;
} looks[] = {
    {"none", "store-all", SVG_DIAMOND, 5, "fill='#222222'"},
    {"sequential:", "sequential:K", SVG_CIRCLE, 3.5, "fill='#ffffff' stroke='" ORANGE "'"},
    {"sqrt", "sqrt", SVG_SQUARE, 5, "fill='" RED "'"},
    {"all", "all", SVG_TRIANGLE, 5, "fill='" GREEN "'"},
};
enum { N_LOOKS = sizeof looks / sizeof *looks };

static const char bound_look[] = "stroke='#555555' stroke-width='1.3' stroke-dasharray='6 4'";
static const char frontier_look[] =
    "stroke='" NEAP_BLUE "' stroke-width='1.8' stroke-linejoin='round'";
static const char point_look[] = "fill='" NEAP_BLUE "'";
static const char infeasible_look[] = "fill='url(#infeasible)' stroke='none'";

static int64_t bytes_of(const struct plot *p, const struct neap_curve_point *point) {
    return p->curve->of_live_peak ? point->live_peak_bytes : point->arena_bytes;
}

static bool is_a(const struct look *look, const struct neap_curve_point *point) {
    return !strncmp(point->strategy, look->name, strlen(look->name));
}

/* ---- axes ----------------------------------------------------------------------------------- */

/* Percent are never so many that strategies become a line on the ground: a plan far above them is
 * left to the table. */
static double highest(const struct neap_curve_report *c) {
    double most = 0, top = 0.02;
    for (size_t i = 0; i < c->n_strategies; i++)
        top = fmax(top, c->strategies[i].overhead);
    for (size_t i = 0; i < c->n_points; i++)
        most = fmax(most, c->points[i].overhead);
    return 1.08 * (most < 3 * top ? fmax(most, top) : 3 * top);
}

static void set_axes(struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    double most = (double)c->store_all_bytes, low = 0;
    for (size_t i = 0; i < c->n_strategies; i++)
        most = fmax(most, (double)bytes_of(p, &c->strategies[i]));
    for (size_t i = 0; i < c->n_points; i++)
        low = fmin(low, c->points[i].overhead);
    p->x = (struct axis){0, 1.04 * fmax(most, 1), LEFT, RIGHT};
    p->y = (struct axis){1.08 * low, highest(c), BOTTOM, TOP};
}

static void draw_axes(const struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    struct axis_unit unit = axis_unit_of(p->x.high);
    char label[64];
    svg_text(p->file, LEFT, 28, SVG_START, "font-size='14' font-weight='bold' fill='#222222'",
             c->title);
    snprintf(label, sizeof label, "%s (%s)", c->of_live_peak ? "live peak" : "arena", unit.name);
    axis_draw_x(p->file, &p->x, &p->y, 1 / unit.bytes, label);
    axis_draw_x_above(p->file, &p->x, &p->y, 100 / fmax((double)c->store_all_bytes, 1),
                      "% of store-all");
    axis_draw_y(p->file, &p->x, &p->y, 100, "overhead (%)");
}

/* ---- data ----------------------------------------------------------------------------------- */

static void draw_floor(const struct plot *p) {
    double floor = axis_at(&p->x, (double)p->curve->floor_bytes);
    svg_rect(p->file, LEFT, TOP, floor - LEFT, BOTTOM - TOP, infeasible_look);
    svg_line(p->file, floor, TOP, floor, BOTTOM, bound_look);
}

/* On each piece the bound is at least what it is at the piece's right end. */
static void draw_bound(const struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    svg_path_open(p->file, bound_look);
    for (size_t i = 1; i < c->n_bounds; i++) {
        double y = axis_at(&p->y, c->bounds[i].overhead);
        svg_path_to(p->file, i == 1, axis_at(&p->x, (double)c->bounds[i - 1].bytes), y);
        svg_path_to(p->file, false, axis_at(&p->x, (double)c->bounds[i].bytes), y);
    }
    svg_path_close(p->file);
}

static void draw_frontier_line(const struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    double y = 0;
    svg_path_open(p->file, frontier_look);
    for (size_t i = 0; i < c->n_points; i++) {
        double x = axis_at(&p->x, (double)bytes_of(p, &c->points[i]));
        if (i)
            svg_path_to(p->file, false, x, y);
        y = axis_at(&p->y, c->points[i].overhead);
        svg_path_to(p->file, i == 0, x, y);
    }
    svg_path_to(p->file, false, axis_at(&p->x, p->x.high), y);
    svg_path_close(p->file);
}

static void draw_point(const struct plot *p, const struct neap_curve_point *point,
                       enum svg_marker marker, double radius, const char *attributes) {
    const double bytes = (double)bytes_of(p, point);
    struct axis_unit unit = axis_unit_of(bytes);
    char tip[128];
    snprintf(tip, sizeof tip, "%s: %.1f %s (%.1f %% of store-all), %+.2f %%", point->strategy,
             bytes / unit.bytes, unit.name, 100 * bytes / (double)p->curve->store_all_bytes,
             100 * point->overhead);
    svg_begin_group(p->file, "", tip);
    svg_marker(p->file, marker, axis_at(&p->x, bytes), axis_at(&p->y, point->overhead), radius,
               attributes);
    svg_end_group(p->file);
}

static void draw_data(const struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    svg_begin_group(p->file, "clip-path='url(#area)'", NULL);
    draw_floor(p);
    draw_bound(p);
    for (int l = 0; l < N_LOOKS; l++)
        for (size_t i = 0; i < c->n_strategies; i++)
            if (is_a(&looks[l], &c->strategies[i]))
                draw_point(p, &c->strategies[i], looks[l].marker, looks[l].radius,
                           looks[l].attributes);
    draw_frontier_line(p);
    for (size_t i = 0; i < c->n_points; i++)
        draw_point(p, &c->points[i], SVG_CIRCLE, 3, point_look);
    svg_end_group(p->file);
}

/* ---- around it ------------------------------------------------------------------------------ */

/* The hatch, and the area that data is cut off at, a marker's size beyond the axes. */
static void define(const struct plot *p) {
    fputs("<defs>\n<pattern id='infeasible' width='7' height='7' patternUnits='userSpaceOnUse' "
          "patternTransform='rotate(45)'>",
          p->file);
    svg_rect(p->file, 0, 0, 7, 7, "fill='#f3f3f3'");
    svg_line(p->file, 0, 0, 0, 7, "stroke='#c4c4c4' stroke-width='2'");
    fputs("</pattern>\n<clipPath id='area'>", p->file);
    svg_rect(p->file, LEFT, TOP - 1, RIGHT + 8 - LEFT, BOTTOM + 8 - TOP, "");
    fputs("</clipPath>\n</defs>\n", p->file);
}

static void draw_legend(const struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    struct legend legend = {LEFT, BOTTOM + 58, LEFT, RIGHT};
    double x, y;
    legend_entry(p->file, &legend, "neap", &x, &y);
    svg_line(p->file, x - 9, y, x + 9, y, frontier_look);
    svg_marker(p->file, SVG_CIRCLE, x, y, 3, point_look);
    for (int l = 0; l < N_LOOKS; l++) {
        bool present = false;
        for (size_t i = 0; i < c->n_strategies; i++)
            present = present || is_a(&looks[l], &c->strategies[i]);
        if (!present)
            continue;
        legend_entry(p->file, &legend, looks[l].legend, &x, &y);
        svg_marker(p->file, looks[l].marker, x, y, looks[l].radius, looks[l].attributes);
    }
    legend_entry(p->file, &legend, "lower bound", &x, &y);
    svg_line(p->file, x - 9, y, x + 9, y, bound_look);
    legend_entry(p->file, &legend, "infeasible, proven", &x, &y);
    svg_rect(p->file, x - 9, y - 5, 18, 10, "fill='url(#infeasible)' stroke='#999999'");
}

/* Says how many points the figure leaves out. */
static void note_left_out(const struct plot *p) {
    const struct neap_curve_report *c = p->curve;
    int n = 0;
    for (size_t i = 0; i < c->n_points; i++)
        n += c->points[i].overhead > p->y.high;
    char text[96];
    snprintf(text, sizeof text, "%d plan%s above, to %.0f %%", n, n == 1 ? "" : "s",
             n ? 100 * c->points[0].overhead : 0);
    if (n)
        svg_text(p->file, RIGHT - 4, TOP + 14, SVG_END,
                 "font-size='10' font-style='italic' fill='#555555'", text);
}

neap_error *curve_write_svg(const struct neap_curve_report *curve, const char *path) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    struct plot p = {.file = file_writer_stream(writer), .curve = curve};
    set_axes(&p);
    svg_open(p.file, WIDTH, HEIGHT, curve->title);
    define(&p);
    draw_axes(&p);
    draw_data(&p);
    note_left_out(&p);
    draw_legend(&p);
    svg_close(p.file);
    return file_writer_commit(writer);
}
