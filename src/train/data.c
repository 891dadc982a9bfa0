/* Sources and loaders of a run: see data.h. */
#include "train/data.h"

#include "train/session.h"

/* What the options ask for; false where that is nothing. */
static bool augment_of(const struct neap_options *o, struct augment *out) {
    const struct neap_resized_crop *crop = &o->random_resized_crop;
    *out = (struct augment){.hflip = o->hflip,
                            .rotate_degrees = o->rotate,
                            .crop = o->random_crop >= 0,
                            .crop_padding = o->random_crop,
                            .resized_crop = crop->scale[1] != 0,
                            .scale = {crop->scale[0], crop->scale[1]},
                            .ratio = {crop->ratio[0], crop->ratio[1]}};
    return out->hflip || out->rotate_degrees != 0 || out->crop || out->resized_crop;
}

/* The data to train on, or, `alone` being data for nothing else, that to evaluate on. */
static neap_error *open_split(const struct neap_options *o, const char *name,
                              enum source_split split, bool alone, struct source **out) {
    struct augment augment;
    int64_t shape[3];
    const bool train = split == SPLIT_TRAIN;
    struct source_request request = {.name = name,
                                     .format = o->data_format,
                                     .normalize = o->normalize,
                                     .split = split,
                                     .whole = alone,
                                     .skip_bad = o->skip_bad,
                                     .n_threads = o->loader_threads,
                                     .seed = o->seed};
    if (augment_of(o, &augment) && train)
        request.augment = &augment;
    TRY(session_model_shape(o, shape, &request.n_classes));
    request.shape = (struct sample_shape){shape[0], shape[1], shape[2]};
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
        error = open_split(o, o->data, SPLIT_TRAIN, false, &out->train);
    if (!error && eval)
        error = open_split(o, eval_name, SPLIT_VAL, o->val_data || !train, &out->eval);
    if (!error && out->train && out->eval)
        error = source_check_classes(out->train, out->eval);
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
