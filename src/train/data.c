/* Sources and loaders of a run: see data.h. */
#include "train/data.h"

#include <string.h>

#include "train/session.h"

static bool is_synthetic(const struct neap_options *o, const char *name) {
    return !strcmp(name, "synthetic") || (o->data_format && !strcmp(o->data_format, "synthetic"));
}

static neap_error *open_split(const struct neap_options *o, const char *name,
                              enum source_split split, struct source **out) {
    struct source_request request = {.name = name,
                                     .format = o->data_format,
                                     .normalize = o->normalize,
                                     .split = split,
                                     .seed = o->seed};
    if (is_synthetic(o, name)) {
        int64_t shape[3];
        TRY(session_model_shape(o, shape, &request.n_classes));
        request.shape = (struct sample_shape){shape[0], shape[1], shape[2]};
    }
    return source_open(&request, out);
}

neap_error *run_data_open(const struct neap_options *o, bool train, bool eval,
                          struct run_data *out) {
    const char *eval_name = o->val_data ? o->val_data : o->data;
    *out = (struct run_data){0};
    if (!o->data)
        return error_make(NEAP_ERROR_USAGE, "no data given: --data NAME or --data PATH");
    neap_error *error = NULL;
    if (train)
        error = open_split(o, o->data, SPLIT_TRAIN, &out->train);
    if (!error && eval)
        error = open_split(o, eval_name, SPLIT_VAL, &out->eval);
    if (error)
        run_data_close(out);
    return error;
}

neap_error *run_data_check(const struct run_data *data, const neap_graph *model) {
    const struct source *const sources[] = {data->train, data->eval};
    int64_t shape[3], classes;
    session_sample_shape(model, shape, &classes);
    for (int i = 0; i < 2; i++)
        if (sources[i])
            TRY(source_check(sources[i], (struct sample_shape){shape[0], shape[1], shape[2]},
                             classes));
    return NULL;
}

static struct loader_options loader_options_of(const struct source *source,
                                               const struct neap_options *o, bool train) {
    return (struct loader_options){.source = source,
                                   .batch = o->batch,
                                   .seed = o->seed,
                                   .shuffle = train && o->shuffle,
                                   .n_threads = o->loader_threads,
                                   .depth = o->loader_threads ? LOADER_DEPTH : 1};
}

int64_t run_data_bytes(const struct run_data *data, const struct neap_options *o) {
    const struct source *const sources[] = {data->train, data->eval};
    int64_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        if (!sources[i])
            continue;
        struct loader_options options = loader_options_of(sources[i], o, i == 0);
        bytes += sources[i]->resident_bytes + loader_options_bytes(&options);
    }
    return bytes;
}

neap_error *run_data_start(struct run_data *data, const struct neap_options *o) {
    const struct source *const sources[] = {data->train, data->eval};
    struct loader **const loaders[] = {&data->train_loader, &data->eval_loader};
    for (int i = 0; i < 2; i++) {
        if (!sources[i])
            continue;
        struct loader_options options = loader_options_of(sources[i], o, i == 0);
        TRY(loader_create(&options, loaders[i]));
    }
    return NULL;
}

void run_data_close(struct run_data *data) {
    loader_free(data->train_loader);
    loader_free(data->eval_loader);
    source_close(data->train);
    source_close(data->eval);
    *data = (struct run_data){0};
}
