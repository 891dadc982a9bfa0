/* Evaluation within training, and as a command of its own in forward's memory. */
#include "train/evaluate.h"

#include <stdlib.h>

#include "base/process.h"
#include "train/data.h"
#include "train/weights.h"

neap_error *evaluate_source(struct engine *engine, struct loader *loader,
                            struct neap_eval_report *report) {
    struct loader_batch batch;
    double start = process_seconds();
    *report = (struct neap_eval_report){0};
    TRY(loader_start_epoch(loader, 0));
    engine_take_metrics(engine);
    for (;;) {
        TRY(loader_next(loader, &batch));
        if (!batch.count)
            break;
        TRY(engine_evaluate(engine, batch.images, batch.labels, batch.count));
        report->images += batch.count;
    }
    struct engine_metrics sums = engine_take_metrics(engine);
    report->loss = sums.loss / (double)report->images;
    report->top1 = 100 * sums.top1 / (double)report->images;
    report->top5 = 100 * sums.top5 / (double)report->images;
    report->seconds = process_seconds() - start;
    return NULL;
}

static neap_error *run(const struct neap_options *o, struct run_data *data,
                       struct neap_plan **session, struct engine **engine,
                       struct neap_eval_report *report) {
    char *path;
    if (!o->weights)
        return error_make(NEAP_ERROR_USAGE, "no weights given: --weights FILE or a run's folder");
    TRY(weights_path(o->weights, &path));
    neap_error *error = run_data_open(o, false, true, data);
    if (error)
        goto done;
    const struct source *source = data->eval;
    TRY_GOTO(session_create(&(struct session_request){.options = o,
                                                      .channels = source->shape.channels,
                                                      .image_size = source->shape.height,
                                                      .num_classes = source->n_classes,
                                                      .data = data,
                                                      .evaluation = true},
                            session));
    TRY_GOTO(run_data_check(data, (*session)->model));
    TRY_GOTO(engine_create(
        &(struct engine_request){.session = *session, .eval_samples = source->n_samples}, engine));
    TRY_GOTO(weights_load((*engine)->store, WEIGHTS_OF_MODEL, path));
    TRY_GOTO(run_data_start(data, o));
    TRY_GOTO(evaluate_source(*engine, data->eval_loader, report));
    report->peak_planned_bytes = (*session)->report.plan.peak_bytes;
    report->arena_bytes = (*session)->report.plan.arena_bytes;
    report->peak_measured_bytes = engine_measured_peak(*engine);
    report->rss_bytes = process_peak_rss_bytes();
done:
    free(path);
    return error;
}

neap_error *neap_evaluate(const struct neap_options *options, struct neap_eval_report *report) {
    struct run_data data = {0};
    struct neap_plan *session = NULL;
    struct engine *engine = NULL;
    *report = (struct neap_eval_report){0};
    neap_error *error = run(options, &data, &session, &engine, report);
    run_data_close(&data);
    engine_free(engine);
    neap_plan_free(session);
    return error;
}
