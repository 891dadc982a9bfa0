/* How fast the loader reads an image folder: images, seconds and processor seconds of an epoch, as
 * a line of JSON.
 *
 *     loader FOLDER SIZE evaluate|augment [THREADS]
 *
 * `evaluate` resizes and cuts the centre, `augment` takes random resized crops and flips. 0 threads
 * (the default): read by the caller, when a batch is asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/process.h"
#include "data/loader.h"

enum { BATCH = 64 };

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static neap_error *measure(const struct source *source, int n_threads) {
    const struct loader_options options = {
        .source = source, .batch = BATCH, .shuffle = true, .n_threads = n_threads};
    struct loader_batch batch;
    struct loader *loader;
    int64_t images = 0;
    TRY(loader_create(&options, &loader));
    const double start = process_seconds(), processor_start = processor_seconds();
    neap_error *error = loader_start_epoch(loader, 0);
    do {
        if (!error)
            error = loader_next(loader, &batch);
        images += error ? 0 : batch.count;
    } while (!error && batch.count > 0);
    if (!error)
        printf("{\"images\": %lld, \"seconds\": %.6f, \"processor_seconds\": %.6f}\n",
               (long long)images, process_seconds() - start, processor_seconds() - processor_start);
    loader_free(loader);
    return error;
}

int main(int argc, char **argv) {
    const struct augment augment = {
        .hflip = true, .resized_crop = true, .scale = {0.08, 1}, .ratio = {3.0 / 4, 4.0 / 3}};
    const bool augments = argc > 3 && strcmp(argv[3], "augment") == 0;
    if (argc < 4 || argc > 5 || (!augments && strcmp(argv[3], "evaluate") != 0)) {
        fprintf(stderr, "usage: loader FOLDER SIZE evaluate|augment [THREADS]\n");
        return 2;
    }
    const int64_t size = strtoll(argv[2], NULL, 10);
    const struct source_request request = {.name = argv[1],
                                           .format = "imagefolder",
                                           .split = SPLIT_TRAIN,
                                           .augment = augments ? &augment : NULL,
                                           .shape = {3, size, size}};
    struct source *source = NULL;
    neap_error *error = source_open(&request, &source);
    if (!error)
        error = measure(source, argc > 4 ? atoi(argv[4]) : 0);
    source_close(source);
    if (error)
        fprintf(stderr, "loader: error: %s\n", neap_error_message(error));
    const int code = error ? 1 : 0;
    neap_error_free(error);
    return code;
}
