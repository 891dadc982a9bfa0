/* The frontier's report: bytes of a process and fractions of store-all's step, from the planner's
 * curve, which is forgotten then. */
#include "train/curve.h"

#include <math.h>
#include <stdlib.h>

#include "base/process.h"
#include "report/curve.h"
#include "train/deadline.h"
#include "train/session.h"

struct neap_curve {
    struct pool pool; /* the report's arrays and strings */
    struct neap_curve_report report;
};

/* Sums in another order differ by this much: an overhead that small is none. */
static const double rounding = 1e-12;

static double overhead_of(const struct curve_scale *scale, double extra_seconds) {
    if (scale->whole_seconds <= 0)
        return 0; /* a step that takes no time is never slower */
    double seconds = scale->once_seconds + scale->times * extra_seconds;
    double overhead = seconds / scale->whole_seconds - 1;
    return fabs(overhead) < rounding ? 0 : overhead;
}

static double run_once_seconds(const struct plan_problem *problem) {
    double seconds = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        seconds += problem->ops[o].seconds;
    return seconds;
}

struct filling {
    const struct curve_request *request;
    const struct plan_curve *curve;
    struct curve_scale scale;
    double once_seconds; /* of the problem */
    struct neap_curve *out;
};

static void fill_sizes(const struct filling *f, int64_t arena_bytes, int64_t peak_bytes,
                       struct neap_curve_point *to) {
    to->arena_bytes = arena_bytes;
    to->live_peak_bytes = peak_bytes;
    to->peak_bytes =
        f->request->plan->live_peak ? peak_bytes : f->scale.outside_bytes + arena_bytes;
}

static neap_error *fill_points(const struct filling *f) {
    const struct plan_curve *c = f->curve;
    const struct curve_scale *scale = &f->scale;
    struct neap_curve_point *points;
    TRY(pool_alloc(&f->out->pool, c->n_points, sizeof *points, &points));
    for (size_t i = 0; i < c->n_points; i++) {
        const struct plan_result *plan = &c->points[i].plan;
        fill_sizes(f, plan->arena_bytes, plan->measure.peak_bytes, &points[i]);
        points[i].overhead = overhead_of(scale, plan->measure.seconds - f->once_seconds);
        points[i].overhead_lower_bound = overhead_of(scale, c->points[i].bound_seconds);
        points[i].recomputed_ops = plan->measure.recomputed;
        TRY(pool_string(&f->out->pool, plan->strategy, &points[i].strategy));
    }
    f->out->report.points = points;
    f->out->report.n_points = c->n_points;
    return NULL;
}

static neap_error *fill_strategies(const struct filling *f) {
    const struct plan_curve *c = f->curve;
    const struct curve_scale *scale = &f->scale;
    struct neap_curve_point *points;
    TRY(pool_alloc(&f->out->pool, c->n_marks, sizeof *points, &points));
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct plan_curve_mark *m = &c->marks[i];
        fill_sizes(f, m->arena_bytes, m->peak_bytes, &points[i]);
        points[i].overhead = overhead_of(scale, m->seconds - f->once_seconds);
        points[i].overhead_lower_bound = overhead_of(scale, m->bound_seconds);
        points[i].recomputed_ops = m->recomputed;
        TRY(pool_string(&f->out->pool, m->strategy, &points[i].strategy));
    }
    f->out->report.strategies = points;
    f->out->report.n_strategies = c->n_marks;
    return NULL;
}

static neap_error *fill_bounds(const struct filling *f) {
    const struct plan_curve *c = f->curve;
    struct neap_curve_bound *bounds;
    TRY(pool_alloc(&f->out->pool, c->n_bounds, sizeof *bounds, &bounds));
    for (size_t i = 0; i < c->n_bounds; i++)
        bounds[i] = (struct neap_curve_bound){c->bounds[i].bytes,
                                              overhead_of(&f->scale, c->bounds[i].extra_seconds)};
    f->out->report.bounds = bounds;
    f->out->report.n_bounds = c->n_bounds;
    return NULL;
}

static neap_error *fill(const struct filling *f) {
    struct neap_curve_report *r = &f->out->report;
    r->of_live_peak = f->request->plan->live_peak;
    r->store_all_bytes = f->scale.whole_bytes;
    r->floor_bytes = f->curve->floor_bytes;
    TRY(pool_string(&f->out->pool, f->request->title, &r->title));
    TRY(fill_points(f));
    TRY(fill_strategies(f));
    return fill_bounds(f);
}

/* The problem's own, from the mark of `none`, which is the first. */
static struct curve_scale own_scale(const struct plan_curve *curve, bool live_peak,
                                    double once_seconds) {
    const struct plan_curve_mark *none = &curve->marks[0];
    return (struct curve_scale){.once_seconds = once_seconds,
                                .times = 1,
                                .whole_seconds = none->seconds,
                                .whole_bytes = live_peak ? none->peak_bytes : none->arena_bytes};
}

neap_error *curve_create(const struct curve_request *request, neap_curve **out) {
    struct plan_curve curve = {0};
    struct neap_curve *c;
    double start = process_seconds();
    *out = NULL;
    if (request->n_budgets < 2)
        return error_make(NEAP_ERROR_USAGE, "a curve of %lld budgets: it has two ends at least",
                          (long long)request->n_budgets);
    TRY(memory_alloc(1, sizeof *c, &c));
    struct filling filling = {.request = request,
                              .curve = &curve,
                              .scale = request->scale,
                              .once_seconds = run_once_seconds(request->problem),
                              .out = c};
    neap_error *error =
        plan_curve(request->problem, request->plan, (size_t)request->n_budgets, &curve);
    if (!error && !request->scale.times)
        filling.scale = own_scale(&curve, request->plan->live_peak, filling.once_seconds);
    if (!error)
        error = fill(&filling);
    c->report.solver_seconds = process_seconds() - start;
    plan_curve_free(&curve);
    if (error)
        neap_curve_free(c);
    else
        *out = c;
    return error;
}

neap_error *neap_curve_create(const neap_plan *plan, int64_t n_budgets, neap_curve **out) {
    const struct neap_plan_report *r = &plan->report;
    const struct neap_options *o = &plan->options;
    struct deadline deadline = deadline_start(o->time_limit_seconds);
    const struct plan_request request = {.alignment_bytes = ALIGNMENT_BYTES,
                                         .fixed_order = o->plan_order == NEAP_ORDER_FIXED,
                                         .seed = o->plan_seed,
                                         .stop = deadline_passed,
                                         .stop_context = &deadline};
    char title[160];
    snprintf(title, sizeof title, "%.100s, batch %lld%s", r->model, (long long)r->batch,
             r->micro_batches > 1 ? " in slices" : "");
    return curve_create(
        &(struct curve_request){
            .problem = &plan->step->problem,
            .plan = &request,
            .scale = {.once_seconds = session_once_seconds(plan),
                      .times = (double)r->micro_batches,
                      .whole_seconds = r->store_all.step_seconds,
                      .whole_bytes = r->store_all.arena_bytes,
                      .outside_bytes = r->plan.peak_bytes - r->plan.arena_bytes},
            .title = title,
            .n_budgets = n_budgets},
        out);
}

void neap_curve_free(neap_curve *curve) {
    if (!curve)
        return;
    pool_free(&curve->pool);
    free(curve);
}

const struct neap_curve_report *neap_curve_get_report(const neap_curve *curve) {
    return &curve->report;
}

neap_error *neap_curve_emit(const neap_curve *curve, enum neap_emit what, const char *path) {
    if (what == NEAP_EMIT_SVG)
        return curve_write_svg(&curve->report, path);
    if (what == NEAP_EMIT_CSV)
        return curve_write_csv(&curve->report, path);
    return error_make(NEAP_ERROR_USAGE, "a curve is written as svg or csv: other forms are of one "
                                        "plan");
}
