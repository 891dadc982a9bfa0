/* A bench's report for people, as text and as Markdown: of a suite how it compares with what was
 * published and what it was to show; then every row. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/bench.h"
#include "report/table.h"

static const double mib = 1 << 20;

static void add_titles(struct table *t, const char *const *titles, size_t n, size_t left) {
    t->columns = n;
    t->left = left;
    for (size_t i = 0; i < n; i++)
        table_add(t, "%s", titles[i]);
}

static void add_mib(struct table *t, int64_t bytes) {
    double value = (double)bytes / mib;
    table_add(t, value < 100 ? "%.2f" : "%.0f", value);
}

static void add_percent(struct table *t, double fraction) {
    if (isfinite(fraction))
        table_add(t, "%+.1f %%", 100 * fraction + 0.0);
    else
        table_add(t, "-");
}

static void add_seconds(struct table *t, double seconds) {
    table_add(t, seconds < 1 ? "%.4f" : "%.2f", seconds);
}

/* ---- a suite beside what was published ------------------------------------------------------ */

/* The row of a network with this limit, in one piece and fp32; NULL: none. */
static const struct neap_bench_row *find(const struct neap_bench_report *r, const char *network,
                                         bool input_gradient, const char *limit) {
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct neap_bench_row *row = &r->rows[i];
        if (!strcmp(row->model, network) && !strcmp(row->limit, limit) &&
            !strcmp(row->slicing, "off") && !strcmp(row->precision, "fp32") &&
            row->input_gradient == input_gradient)
            return row;
    }
    return NULL;
}

static void add_overhead_of(struct table *t, const struct neap_bench_row *row) {
    if (row && row->steps && isfinite(row->overhead))
        table_add(t, "%+.1f %% (%+.1f %%)", 100 * row->overhead, 100 * row->overhead_planned);
    else if (row)
        table_add(t, "- (%+.1f %%)", 100 * row->overhead_planned);
    else
        table_add(t, "-");
}

/* Measured, or what is known instead. */
static double overhead_of(const struct neap_bench_report *r, const struct neap_bench_row *row) {
    return !row ? NAN : r->planned_only ? row->overhead_planned : row->overhead;
}

static void add_share(struct table *t, double share) {
    if (isfinite(share))
        table_add(t, "%.2f", share);
    else
        table_add(t, "-");
}

static void add_rate(struct table *t, const struct neap_bench_row *row) {
    if (row && row->steps)
        table_add(t, "%.3g", row->images_per_second);
    else
        table_add(t, "-");
}

static void add_network(struct table *t, const struct neap_bench_report *r,
                        const struct neap_published *p, bool input_gradient) {
    const struct neap_bench_row *all = find(r, p->network, input_gradient, "none"),
                                *arena = find(r, p->network, input_gradient, "arena"),
                                *overhead = find(r, p->network, input_gradient, "overhead");
    double bytes = r->scale * (double)p->arena_mib * mib;
    if (!all)
        return;
    table_add(t, "%s", p->network);
    table_add(t, "%" PRId64, all->batch);
    table_add(t, "%.0f", r->scale * (double)p->store_all_mib);
    add_mib(t, all->arena_planned_bytes);
    add_rate(t, all);
    table_add(t, "%.0f", bytes / mib);
    table_add(t, "%+.0f %%", 100 * p->overhead);
    add_overhead_of(t, arena);
    add_share(t, overhead_of(r, arena) / p->overhead);
    add_rate(t, arena);
    if (overhead)
        add_mib(t, overhead->arena_planned_bytes);
    else
        table_add(t, "-");
    add_share(t, overhead ? (double)overhead->arena_planned_bytes / bytes : NAN);
    add_overhead_of(t, overhead);
    add_rate(t, overhead);
}

static neap_error *write_comparison(const struct neap_bench_report *r, bool input_gradient,
                                    bool markdown, FILE *file) {
    static const char *const titles[] = {"network",
                                         "batch",
                                         "all, published",
                                         "all, MiB",
                                         "images/s",
                                         "arena, published",
                                         "overhead, published",
                                         "overhead there",
                                         "of published",
                                         "images/s",
                                         "arena at that overhead",
                                         "of published",
                                         "its overhead",
                                         "images/s"};
    struct table t = {0};
    const struct neap_published *published;
    add_titles(&t, titles, sizeof titles / sizeof *titles, 1);
    for (size_t i = 0; (published = neap_published_at(r->suite, i)); i++)
        add_network(&t, r, published, input_gradient);
    return table_print(&t, markdown, file);
}

static bool has_input_gradient(const struct neap_bench_report *r) {
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].input_gradient)
            return true;
    return false;
}

static void write_marks(const struct neap_bench_report *r, bool markdown, FILE *file) {
    const char *item = markdown ? "- " : "  ";
    for (size_t i = 0; i < r->n_marks; i++) {
        const struct neap_bench_mark *mark = &r->marks[i];
        fprintf(file, "%s%s: %" PRId64 " of %" PRId64 ", %" PRId64 " wanted%s\n", item, mark->text,
                mark->met, mark->of, mark->needed, mark->met >= mark->needed ? ", met" : "");
    }
    for (size_t i = 0; i < r->n_misses; i++)
        fprintf(file, "%s%s\n", item, r->misses[i]);
}

static neap_error *write_suite(const struct neap_bench_report *r, bool markdown, FILE *file) {
    const char *head = markdown ? "### " : "";
    fprintf(file, "%sBeside the published plans\n\n", head);
    TRY(write_comparison(r, false, markdown, file));
    if (has_input_gradient(r)) {
        fprintf(file, "\n%sThe same with the gradient of the input batch\n\n", head);
        TRY(write_comparison(r, true, markdown, file));
    }
    fprintf(file, "\n%sWhat the suite is to show\n\n", head);
    write_marks(r, markdown, file);
    fprintf(file, "\n%sEvery row\n\n", head);
    return NULL;
}

/* ---- every row ------------------------------------------------------------------------------ */

static void add_measured(struct table *t, const struct neap_bench_row *row) {
    if (row->steps) {
        add_mib(t, row->arena_measured_bytes);
        add_mib(t, row->rss_bytes);
        add_seconds(t, row->seconds_median);
        table_add(t, "%.4g", row->images_per_second);
    } else {
        for (int i = 0; i < 4; i++)
            table_add(t, "-");
    }
    add_percent(t, row->overhead);
}

static void add_row(struct table *t, const struct neap_bench_row *row) {
    bool sliced = strcmp(row->slicing, "off") != 0;
    table_add(t, "%s", row->model);
    table_add(t, "%s", row->precision);
    table_add(t, "%s%s%s%s", row->strategy, *row->flags ? " " : "", row->flags,
              row->input_gradient ? " --input-gradient" : "");
    table_add(t, "%" PRId64, row->batch);
    if (sliced)
        table_add(t, "%" PRId64, row->micro_batch);
    else
        table_add(t, "-");
    add_mib(t, row->peak_planned_bytes);
    add_mib(t, row->arena_planned_bytes);
    add_measured(t, row);
    add_percent(t, row->overhead_planned);
    add_percent(t, row->gap);
    table_add(t, "%" PRId64, row->recomputed_ops);
    table_add(t, "%.2f", row->plan_seconds);
}

static void write_missing(const struct neap_bench_report *r, bool markdown, FILE *file) {
    bool any = false;
    for (size_t i = 0; i < r->n_rows; i++) {
        const struct neap_bench_row *row = &r->rows[i];
        if (!*row->missing || (r->planned_only && row->fits))
            continue;
        fprintf(file, "%s%snot measured: %s %s %s: %s\n", any ? "" : "\n", markdown ? "- " : "",
                row->model, row->strategy, row->flags, row->missing);
        any = true;
    }
}

static neap_error *write_rows(const struct neap_bench_report *r, bool markdown, FILE *file) {
    static const char *const titles[] = {"model",   "type",     "plan",      "batch",
                                         "slices",  "peak MiB", "arena MiB", "measured",
                                         "RSS MiB", "s a step", "images/s",  "overhead",
                                         "planned", "gap",      "ops again", "plan s"};
    struct table t = {0};
    add_titles(&t, titles, sizeof titles / sizeof *titles, 3);
    for (size_t i = 0; i < r->n_rows; i++)
        add_row(&t, &r->rows[i]);
    TRY(table_print(&t, markdown, file));
    write_missing(r, markdown, file);
    return NULL;
}

static neap_error *write_report(const struct neap_bench_report *r, bool markdown, FILE *file) {
    fprintf(file, "%s: %s\n\n", r->version, r->machine);
    if (r->suite)
        TRY(write_suite(r, markdown, file));
    return write_rows(r, markdown, file);
}

neap_error *bench_write_table(const struct neap_bench_report *report, FILE *file) {
    return write_report(report, false, file);
}

neap_error *bench_write_markdown(const struct neap_bench_report *report, FILE *file) {
    return write_report(report, true, file);
}
