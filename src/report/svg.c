/* SVG shapes, axes and the legend: see svg.h. */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#define INK "#333333"
#define GRID "stroke='#e4e4e4' stroke-width='1'"
#define TICK "stroke='" INK "' stroke-width='1'"
#define SMALL "font-size='11' fill='" INK "'"
#define LABEL "font-size='12' fill='" INK "'"

enum { CHARACTER_WIDTH = 6, SYMBOL_WIDTH = 24, ENTRY_GAP = 16, ROW_HEIGHT = 18 };

/* ---- shapes --------------------------------------------------------------------------------- */

void svg_escape(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else if ((unsigned char)*text >= ' ') /* XML has no word for other control characters */
            fputc(*text, file);
    }
}

void svg_open(FILE *file, double width, double height, const char *title) {
    fprintf(file,
            "<?xml version='1.0' encoding='UTF-8'?>\n"
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
            "viewBox='0 0 %.0f %.0f' font-family='Helvetica, Arial, sans-serif'>\n<title>",
            width, height, width, height);
    svg_escape(file, title);
    fputs("</title>\n", file);
    svg_rect(file, 0, 0, width, height, "fill='#ffffff'");
}

void svg_close(FILE *file) {
    fputs("</svg>\n", file);
}

void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *attributes) {
    fprintf(file, "<line x1='%.2f' y1='%.2f' x2='%.2f' y2='%.2f' %s/>\n", x1, y1, x2, y2,
            attributes);
}

void svg_rect(FILE *file, double x, double y, double width, double height, const char *attributes) {
    fprintf(file, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' %s/>\n", x, y, width, height,
            attributes);
}

void svg_begin_group(FILE *file, const char *attributes, const char *tip) {
    fprintf(file, "<g %s>", attributes);
    if (tip) {
        fputs("<title>", file);
        svg_escape(file, tip);
        fputs("</title>", file);
    }
    fputc('\n', file);
}

void svg_end_group(FILE *file) {
    fputs("</g>\n", file);
}

static void text_content(FILE *file, const char *attributes, const char *text) {
    fprintf(file, "%s>", attributes);
    svg_escape(file, text);
    fputs("</text>\n", file);
}

void svg_text(FILE *file, double x, double y, enum svg_anchor anchor, const char *attributes,
              const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(file, "<text x='%.2f' y='%.2f' text-anchor='%s' ", x, y, anchors[anchor]);
    text_content(file, attributes, text);
}

void svg_text_upwards(FILE *file, double x, double y, const char *attributes, const char *text) {
    fprintf(file, "<text text-anchor='middle' transform='translate(%.2f %.2f) rotate(-90)' ", x, y);
    text_content(file, attributes, text);
}

void svg_marker(FILE *file, enum svg_marker marker, double x, double y, double radius,
                const char *attributes) {
    static const double corners[][4][2] = {
        [SVG_SQUARE] = {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}},
        [SVG_DIAMOND] = {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}},
        [SVG_TRIANGLE] = {{0, -1.1}, {1.1, 0.9}, {-1.1, 0.9}, {-1.1, 0.9}},
    };
    if (marker == SVG_CIRCLE) {
        fprintf(file, "<circle cx='%.2f' cy='%.2f' r='%.2f' %s/>\n", x, y, radius, attributes);
        return;
    }
    fputs("<polygon points='", file);
    for (int i = 0; i < 4; i++)
        fprintf(file, "%s%.2f,%.2f", i ? " " : "", x + radius * corners[marker][i][0],
                y + radius * corners[marker][i][1]);
    fprintf(file, "' %s/>\n", attributes);
}

void svg_path_open(FILE *file, const char *attributes) {
    fprintf(file, "<path fill='none' %s d='", attributes);
}

void svg_path_to(FILE *file, bool first, double x, double y) {
    fprintf(file, "%s%.2f %.2f", first ? "M" : " L", x, y);
}

void svg_path_close(FILE *file) {
    fputs("'/>\n", file);
}

/* ---- axes ----------------------------------------------------------------------------------- */

double axis_step(double span, int most) {
    static const double leading[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(span / most)));
    for (int i = 0; i < 3; i++)
        if (span / (leading[i] * power) <= most)
            return leading[i] * power;
    return leading[3] * power;
}

struct axis_unit axis_unit_of(double most_bytes) {
    static const struct axis_unit units[] = {
        {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}};
    int u = 0;
    while (u < 3 && most_bytes < 4 * units[u].bytes)
        u++;
    return units[u];
}

double axis_at(const struct axis *axis, double value) {
    return axis->from + (value - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

/* The k-th tick's value, 0 at the first inside the axis; false past the last. */
static bool tick(const struct axis *axis, double shown, int k, double *value, char number[24]) {
    double low = axis->low * shown, high = axis->high * shown;
    double step = axis_step(high - low, 10), first = ceil(low / step - 1e-9);
    double at = (first + k) * step;
    *value = at / shown;
    snprintf(number, 24, "%.10g", at);
    return at <= high + step * 1e-9;
}

void axis_draw_x(FILE *file, const struct axis *x, const struct axis *y, double shown,
                 const char *label) {
    double value;
    char number[24];
    for (int k = 0; tick(x, shown, k, &value, number); k++) {
        double at = axis_at(x, value);
        svg_line(file, at, y->from, at, y->to, GRID);
        svg_line(file, at, y->from, at, y->from + 5, TICK);
        svg_text(file, at, y->from + 18, SVG_MIDDLE, SMALL, number);
    }
    svg_text(file, (x->from + x->to) / 2, y->from + 36, SVG_MIDDLE, LABEL, label);
    svg_line(file, x->from, y->from, x->to, y->from, TICK);
}

void axis_draw_x_above(FILE *file, const struct axis *x, const struct axis *y, double shown,
                       const char *label) {
    double value;
    char number[24];
    for (int k = 0; tick(x, shown, k, &value, number); k++) {
        double at = axis_at(x, value);
        svg_line(file, at, y->to, at, y->to - 5, TICK);
        svg_text(file, at, y->to - 9, SVG_MIDDLE, SMALL, number);
    }
    svg_text(file, (x->from + x->to) / 2, y->to - 25, SVG_MIDDLE, LABEL, label);
    svg_line(file, x->from, y->to, x->to, y->to, TICK);
}

void axis_draw_y(FILE *file, const struct axis *x, const struct axis *y, double shown,
                 const char *label) {
    double value;
    char number[24];
    for (int k = 0; tick(y, shown, k, &value, number); k++) {
        double at = axis_at(y, value);
        svg_line(file, x->from, at, x->to, at, GRID);
        svg_line(file, x->from - 5, at, x->from, at, TICK);
        svg_text(file, x->from - 9, at + 4, SVG_END, SMALL, number);
    }
    svg_text_upwards(file, x->from - 48, (y->from + y->to) / 2, LABEL, label);
    svg_line(file, x->from, y->from, x->from, y->to, TICK);
}

/* ---- the legend ----------------------------------------------------------------------------- */

void legend_entry(FILE *file, struct legend *legend, const char *text, double *x, double *y) {
    double width = SYMBOL_WIDTH + CHARACTER_WIDTH * (double)strlen(text) + ENTRY_GAP;
    if (legend->x > legend->left && legend->x + width > legend->right) {
        legend->x = legend->left;
        legend->y += ROW_HEIGHT;
    }
    *x = legend->x + 9;
    *y = legend->y;
    svg_text(file, legend->x + SYMBOL_WIDTH, legend->y + 4, SVG_START, SMALL, text);
    legend->x += width;
}
