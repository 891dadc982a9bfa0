/* Figures as SVG 1.1: a few shapes, and axes with round ticks.
 *
 * Plain attributes instead of style sheets, common fonts, a white ground: every viewer shows the
 * same, dark ones too. Numbers have two decimals, so the same figure is the same file. */
#ifndef NEAP_REPORT_SVG_H
#define NEAP_REPORT_SVG_H

#include <stdio.h>

#include "base/status.h"

/* Attributes are XML as it goes into the tag ("fill='#888'"); texts are escaped. */
void svg_open(FILE *file, double width, double height, const char *title);
void svg_close(FILE *file);
void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *attributes);
void svg_rect(FILE *file, double x, double y, double width, double height, const char *attributes);
/* Shapes up to svg_end_group, with a tooltip where it is not NULL. */
void svg_begin_group(FILE *file, const char *attributes, const char *tip);
void svg_end_group(FILE *file);
enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };
void svg_text(FILE *file, double x, double y, enum svg_anchor anchor, const char *attributes,
              const char *text);
/* Text read from bottom to top. */
void svg_text_upwards(FILE *file, double x, double y, const char *attributes, const char *text);

enum svg_marker { SVG_CIRCLE, SVG_SQUARE, SVG_DIAMOND, SVG_TRIANGLE };
void svg_marker(FILE *file, enum svg_marker marker, double x, double y, double radius,
                const char *attributes);

/* A polyline, point by point. */
void svg_path_open(FILE *file, const char *attributes);
void svg_path_to(FILE *file, bool first, double x, double y);
void svg_path_close(FILE *file);

/* "a<b" as "a&lt;b". */
void svg_escape(FILE *file, const char *text);

/* ---- axes ----------------------------------------------------------------------------------- */

/* The smallest of 1, 2, 5 × 10^k that divides `span` into at most `most` pieces. */
double axis_step(double span, int most);

/* What bytes are shown in: the largest of B, KiB, MiB and GiB that leaves `most_bytes` at 4 or
 * more. */
struct axis_unit {
    const char *name;
    double bytes;
};
struct axis_unit axis_unit_of(double most_bytes);

/* Where the data is in the figure: pixel = origin + value × scale. */
struct axis {
    double low, high; /* values at both ends */
    double from, to;  /* their pixels */
};
double axis_at(const struct axis *axis, double value);

/* Ticks, numbers and grid below or above (x), and at the left (y), of the area that both axes
 * span; `shown` is what a value is multiplied by for its number. */
void axis_draw_x(FILE *file, const struct axis *x, const struct axis *y, double shown,
                 const char *label);
void axis_draw_x_above(FILE *file, const struct axis *x, const struct axis *y, double shown,
                       const char *label);
void axis_draw_y(FILE *file, const struct axis *x, const struct axis *y, double shown,
                 const char *label);

/* ---- the legend: entries in a row, wrapped at the right edge --------------------------------- */

struct legend {
    double x, y, left, right;
};
/* Where the next entry's symbol is, a box of 18 × 10 around (x, y); the text is drawn. */
void legend_entry(FILE *file, struct legend *legend, const char *text, double *x, double *y);

#endif
