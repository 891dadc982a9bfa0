/* The marks of the published suite, on rows that are made up. */
#include "support/files.h"

#include <math.h>

#include "train/bench.h"

enum { N_NETWORKS = 18, N_ROWS = 3 * N_NETWORKS };

struct made {
    struct pool pool;
    struct neap_bench_row rows[N_ROWS];
    struct neap_bench_report report;
};

static struct neap_bench_row row_of(const struct neap_published *p, const char *strategy,
                                    const char *limit, double mib, double overhead) {
    return (struct neap_bench_row){.model = p->network,
                                   .precision = "fp32",
                                   .strategy = strategy,
                                   .limit = limit,
                                   .flags = "",
                                   .slicing = "off",
                                   .fits = true,
                                   .missing = "",
                                   .arena_planned_bytes = (int64_t)(mib * (1 << 20)),
                                   .steps = 3,
                                   .seconds_median = 1,
                                   .overhead = overhead,
                                   .plan_seconds = 1,
                                   .worst_moment = "there"};
}

/* Every network at these shares of what was published. */
static void make(struct made *m, double scale, double all, double overhead, double arena,
                 double its_overhead) {
    *m = (struct made){.report = {.suite = "ogc", .scale = scale, .rows = m->rows}};
    const struct neap_published *p;
    for (size_t i = 0; (p = neap_published_at("ogc", i)); i++) {
        assert_in_range(i, 0, N_NETWORKS - 1);
        struct neap_bench_row *rows = &m->rows[m->report.n_rows];
        double mib = scale * (double)p->arena_mib;
        rows[0] = row_of(p, "none", "none", all * scale * (double)p->store_all_mib, 0);
        rows[1] = row_of(p, "auto", "arena", mib, overhead * p->overhead);
        rows[2] = row_of(p, "auto", "overhead", arena * mib, its_overhead * p->overhead);
        m->report.n_rows += 3;
    }
    assert_int_equal(m->report.n_rows, N_ROWS);
}

static void judge(struct made *m) {
    assert_no_error(bench_judge(&m->report, &m->pool));
}

static const struct neap_bench_mark *mark(const struct made *m, const char *text) {
    for (size_t i = 0; i < m->report.n_marks; i++)
        if (strstr(m->report.marks[i].text, text))
            return &m->report.marks[i];
    fail_msg("no mark '%s'", text);
    return NULL;
}

static int64_t met(const struct made *m, const char *text) {
    assert_int_equal(mark(m, text)->of, N_NETWORKS);
    return mark(m, text)->met;
}

static void EverythingIsMetWellBelow(void **state) {
    (void)state;
    struct made m;
    make(&m, 0.25, 0.9, 0.39, 0.74, 0.95);
    judge(&m);
    for (size_t i = 0; i < m.report.n_marks; i++) {
        assert_int_equal(m.report.marks[i].met, N_NETWORKS);
        assert_in_range(m.report.marks[i].needed, 12, N_NETWORKS);
    }
    assert_int_equal(m.report.n_misses, 0);
    pool_free(&m.pool);
}

static void SharesBetweenTheMarksMeetTheWiderOnes(void **state) {
    (void)state;
    struct made m;
    make(&m, 1, 0.9, 0.5, 0.9, 1);
    judge(&m);
    assert_int_equal(met(&m, "at most 0.4"), 0);
    assert_int_equal(met(&m, "at most 0.6"), N_NETWORKS);
    assert_int_equal(met(&m, "at most 0.75"), 0);
    assert_int_equal(met(&m, "below the published arena"), N_NETWORKS);
    assert_int_equal(m.report.n_misses, 2 * N_NETWORKS);
    pool_free(&m.pool);
}

static void WhatIsAsMuchIsNotBelow(void **state) {
    (void)state;
    struct made m;
    make(&m, 1, 1, 0.4, 1, 1.01);
    judge(&m);
    assert_int_equal(met(&m, "at most 0.4"), N_NETWORKS);
    assert_int_equal(met(&m, "keeping everything"), 0);
    assert_int_equal(met(&m, "below the published arena"), 0);
    pool_free(&m.pool);
}

/* A smaller arena that takes longer than the published plan does not count. */
static void ASlowPlanMeetsNothing(void **state) {
    (void)state;
    struct made m;
    make(&m, 1, 0.9, 0.61, 0.5, 1.01);
    m.rows[1].plan_seconds = 5.1;
    judge(&m);
    assert_int_equal(met(&m, "at most 0.6"), 0);
    assert_int_equal(met(&m, "at most 0.75"), 0);
    assert_int_equal(met(&m, "5 s"), N_NETWORKS - 1);
    pool_free(&m.pool);
}

/* Rows in slices, of other precisions and with the input's gradient are others. */
static void OtherRowsDoNotCount(void **state) {
    (void)state;
    struct made m;
    make(&m, 1, 0.9, 0.39, 0.74, 0.95);
    m.rows[1].slicing = "auto";
    m.rows[4].input_gradient = true;
    m.rows[7].precision = "bf16";
    judge(&m);
    assert_int_equal(met(&m, "at most 0.4"), N_NETWORKS - 3);
    assert_int_equal(m.report.n_misses, 3);
    assert_non_null(strstr(m.report.misses[0], "alexnet misses: it has no such row"));
    pool_free(&m.pool);
}

static void ARowThatWasNotMeasuredSaysWhy(void **state) {
    (void)state;
    struct made m;
    make(&m, 1, 0.9, 0.39, 0.74, 0.95);
    m.rows[1].steps = 0;
    m.rows[1].overhead = NAN;
    m.rows[1].missing = "does not fit";
    judge(&m);
    assert_int_equal(met(&m, "at most 0.6"), N_NETWORKS - 1);
    assert_int_equal(m.report.n_misses, 1);
    assert_non_null(strstr(m.report.misses[0], "does not fit; at the worst moment there"));
    pool_free(&m.pool);
}

static void NetworksThatWereNotAskedForDoNotCount(void **state) {
    (void)state;
    struct made m;
    make(&m, 1, 0.9, 0.39, 0.74, 0.95);
    m.report.n_rows = 6;
    judge(&m);
    for (size_t i = 0; i < m.report.n_marks; i++)
        assert_int_equal(m.report.marks[i].of, 2);
    pool_free(&m.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(EverythingIsMetWellBelow),
        cmocka_unit_test(SharesBetweenTheMarksMeetTheWiderOnes),
        cmocka_unit_test(WhatIsAsMuchIsNotBelow),
        cmocka_unit_test(ASlowPlanMeetsNothing),
        cmocka_unit_test(OtherRowsDoNotCount),
        cmocka_unit_test(ARowThatWasNotMeasuredSaysWhy),
        cmocka_unit_test(NetworksThatWereNotAskedForDoNotCount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
