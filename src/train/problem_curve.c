/* The frontier of a bare problem, in bytes of its live peak. */
#include <string.h>

#include "fmt/problem_text.h"
#include "train/curve.h"
#include "train/deadline.h"

neap_error *neap_problem_curve(const struct neap_problem_options *options, int64_t n_budgets,
                               neap_curve **out) {
    struct plan_problem problem;
    struct deadline deadline = deadline_start(options->time_limit_seconds);
    const struct plan_request request = {.alignment_bytes = 1,
                                         .live_peak = true,
                                         .fixed_order = options->order == NEAP_ORDER_FIXED,
                                         .seed = options->seed,
                                         .stop = deadline_passed,
                                         .stop_context = &deadline};
    const char *name = strrchr(options->path, '/');
    *out = NULL;
    TRY(problem_text_read(options->path, &problem));
    neap_error *error =
        curve_create(&(struct curve_request){.problem = &problem,
                                             .plan = &request,
                                             .title = name ? name + 1 : options->path,
                                             .n_budgets = n_budgets},
                     out);
    pool_free(&problem.pool);
    return error;
}
