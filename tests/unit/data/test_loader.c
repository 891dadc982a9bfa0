/* The loader's sequence is a function of seed, epoch and position, and of nothing else. */
#include "support/files.h"

#include <time.h>

#include "data/loader.h"

/* A source whose sample i is (i, i + 0.5, 0, …) with label i, and some of whose samples fail. */
struct numbered {
    int64_t bad[2]; /* these cannot be read */
    bool slow;      /* takes longer for some samples than for others */
};

static neap_error *read_numbered(const struct source *source, struct sample_request request,
                                 float *image, int32_t *label) {
    const int64_t index = request.index;
    const struct numbered *numbered = source->state;
    if (numbered->slow && index % 7 == 0)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (index == numbered->bad[0] || index == numbered->bad[1])
        return error_make(NEAP_ERROR_DATA, "sample %d is bad", (int)index);
    image[0] = (float)index;
    image[1] = (float)index + 0.5f;
    *label = (int32_t)index;
    return NULL;
}

static char numbered_name[] = "numbered";
static const struct source_format numbered_format = {.name = "numbered", .read = read_numbered};

/* 8192 elements a sample: three samples a task. */
static struct source make_source(struct numbered *numbered, int64_t n_samples) {
    return (struct source){.format = &numbered_format,
                           .name = numbered_name,
                           .shape = {2, 64, 64},
                           .n_samples = n_samples,
                           .n_classes = n_samples,
                           .state = numbered};
}
static const struct numbered all_good = {.bad = {-1, -1}};
static struct numbered some_slow = {.bad = {-1, -1}, .slow = true};

static struct loader *make_loader(const struct loader_options *options) {
    struct loader *loader;
    assert_no_error(loader_create(options, &loader));
    return loader;
}

/* Loads to the end of the epoch; the labels in their order into `sequence`. Returns how many. */
static int64_t drain(struct loader *loader, const struct loader_options *options,
                     int64_t first_index, int32_t *sequence) {
    int64_t n = 0;
    for (;;) {
        struct loader_batch batch;
        assert_no_error(loader_next(loader, &batch));
        if (batch.count == 0)
            return n;
        const int64_t left = options->source->n_samples - first_index - n;
        assert_int_equal(batch.first_index, first_index + n);
        assert_int_equal(batch.count, left < options->batch ? left : options->batch);
        for (int64_t i = 0; i < batch.count; i++) {
            const float *image = batch.images + i * 8192;
            assert_true(image[0] == (float)batch.labels[i]);
            assert_true(image[1] == (float)batch.labels[i] + 0.5f);
            sequence[n + i] = batch.labels[i];
        }
        n += batch.count;
    }
}

static void load_epoch(const struct loader_options *options, int64_t epoch, int32_t *sequence) {
    struct loader *loader = make_loader(options);
    assert_no_error(loader_start_epoch(loader, epoch));
    assert_int_equal(drain(loader, options, 0, sequence), options->source->n_samples);
    loader_free(loader);
}

static void assert_permutation(const int32_t *sequence, int32_t n) {
    char *seen = calloc((size_t)n, 1);
    assert_non_null(seen);
    for (int32_t i = 0; i < n; i++) {
        assert_in_range(sequence[i], 0, n - 1);
        assert_false(seen[sequence[i]]);
        seen[sequence[i]] = 1;
    }
    free(seen);
}

enum { N = 101, BATCH = 8 };

/* ---- order ----------------------------------------------------------------------------------- */

static void without_shuffling_samples_come_in_order(void **state) {
    (void)state;
    struct source source = make_source(&some_slow, N);
    int32_t sequence[N];
    for (int n_threads = 0; n_threads <= 3; n_threads++) {
        load_epoch(
            &(struct loader_options){.source = &source, .batch = BATCH, .n_threads = n_threads}, 4,
            sequence);
        for (int i = 0; i < N; i++)
            assert_int_equal(sequence[i], i);
    }
}

static void an_epoch_holds_every_sample_once_in_an_order_of_its_own(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    struct source source = make_source(&numbered, N);
    int32_t first[N], second[N], other_seed[N];
    struct loader_options options = {
        .source = &source, .batch = BATCH, .shuffle = true, .seed = 7, .n_threads = 2};
    load_epoch(&options, 0, first);
    load_epoch(&options, 1, second);
    options.seed = 8;
    load_epoch(&options, 0, other_seed);
    assert_permutation(first, N);
    assert_permutation(second, N);
    assert_permutation(other_seed, N);
    assert_memory_not_equal(first, second, sizeof first);
    assert_memory_not_equal(first, other_seed, sizeof first);
}

/* Each of 4 samples should stand in each of 4 places in a quarter of 4000 epochs: 1000, with a
 * deviation of 27. */
static void every_order_is_as_likely(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    struct source source = make_source(&numbered, 4);
    const struct loader_options options = {.source = &source, .batch = 4, .shuffle = true};
    struct loader *loader = make_loader(&options);
    int counts[4][4] = {{0}};
    for (int epoch = 0; epoch < 4000; epoch++) {
        int32_t sequence[4];
        assert_no_error(loader_start_epoch(loader, epoch));
        drain(loader, &options, 0, sequence);
        for (int place = 0; place < 4; place++)
            counts[place][sequence[place]]++;
    }
    loader_free(loader);
    for (int place = 0; place < 4; place++)
        for (int sample = 0; sample < 4; sample++)
            assert_in_range(counts[place][sample], 1000 - 6 * 27, 1000 + 6 * 27);
}

static void the_sequence_is_the_same_for_any_number_of_threads(void **state) {
    (void)state;
    struct source source = make_source(&some_slow, N);
    int32_t alone[N], together[N];
    struct loader_options options = {
        .source = &source, .batch = BATCH, .shuffle = true, .seed = 42};
    load_epoch(&options, 3, alone);
    for (options.n_threads = 1; options.n_threads <= 3; options.n_threads++) {
        for (options.depth = 1; options.depth <= 5; options.depth += 2) {
            load_epoch(&options, 3, together);
            assert_memory_equal(alone, together, sizeof alone);
        }
    }
}

static void seeking_goes_on_where_the_sequence_was_left(void **state) {
    (void)state;
    struct source source = make_source(&some_slow, N);
    int32_t whole[N], rest[N];
    for (int n_threads = 0; n_threads <= 2; n_threads++) {
        const struct loader_options options = {
            .source = &source, .batch = BATCH, .shuffle = true, .seed = 5, .n_threads = n_threads};
        load_epoch(&options, 2, whole);
        struct loader *loader = make_loader(&options);
        for (int64_t first = 0; first <= N; first += 13) {
            assert_no_error(loader_seek(loader, 2, first));
            assert_int_equal(drain(loader, &options, first, rest), N - first);
            assert_memory_equal(rest, whole + first, (size_t)(N - first) * sizeof *rest);
        }
        assert_no_error(loader_seek(loader, 2, N));
        assert_int_equal(drain(loader, &options, N, rest), 0);
        assert_error(loader_seek(loader, 2, N + 1), NEAP_ERROR_USAGE, "no sample 102 in epoch 2");
        assert_error(loader_seek(loader, 2, -1), NEAP_ERROR_USAGE, "no sample -1");
        loader_free(loader);
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void a_batch_larger_than_the_source_is_all_of_it(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    int32_t sequence[8];
    for (int n = 1; n <= 8; n++) {
        struct source source = make_source(&numbered, n);
        for (int n_threads = 0; n_threads <= 2; n_threads++) {
            const struct loader_options options = {
                .source = &source, .batch = 1000000000, .shuffle = true, .n_threads = n_threads};
            assert_true(loader_options_bytes(&options) <= 2 * n * (8192 * 4 + 4) + n * 4);
            load_epoch(&options, 0, sequence);
            assert_permutation(sequence, n);
        }
    }
}

static void an_epoch_that_divides_has_no_empty_batch(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    struct source source = make_source(&numbered, 3 * BATCH);
    const struct loader_options options = {.source = &source, .batch = BATCH, .n_threads = 1};
    struct loader *loader = make_loader(&options);
    struct loader_batch batch;
    assert_no_error(loader_next(loader, &batch)); /* no epoch yet */
    assert_int_equal(batch.count, 0);
    assert_no_error(loader_start_epoch(loader, 0));
    for (int i = 0; i < 3; i++) {
        assert_no_error(loader_next(loader, &batch));
        assert_int_equal(batch.count, BATCH);
    }
    for (int i = 0; i < 3; i++) {
        assert_no_error(loader_next(loader, &batch));
        assert_int_equal(batch.count, 0);
    }
    loader_free(loader);
}

static void the_last_batch_can_be_left_out(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    struct source source = make_source(&numbered, 2 * BATCH + 1);
    const struct loader_options options = {.source = &source, .batch = BATCH, .drop_last = true};
    struct loader *loader = make_loader(&options);
    int32_t sequence[2 * BATCH + 1];
    assert_no_error(loader_start_epoch(loader, 0));
    assert_int_equal(drain(loader, &options, 0, sequence), 2 * BATCH);
    loader_free(loader);
}

static void its_bytes_are_the_slots_and_the_order(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    struct source source = make_source(&numbered, 1000);
    struct loader_options options = {.source = &source, .batch = 10, .n_threads = 2, .depth = 3};
    struct loader *loader = make_loader(&options);
    assert_int_equal(loader_bytes(loader), 3 * 10 * (8192 * 4 + 4) + 1000 * 4);
    assert_int_equal(loader_bytes(loader), loader_options_bytes(&options));
    loader_free(loader);
}

static void refuses_impossible_options(void **state) {
    (void)state;
    struct numbered numbered = all_good;
    struct source source = make_source(&numbered, INT64_C(4000000000));
    struct loader *loader;
    struct loader_options options = {.source = &source, .batch = 0};
    assert_error(loader_create(&options, &loader), NEAP_ERROR_USAGE, "batch 0 is not at least 1");
    options = (struct loader_options){.source = &source, .batch = 1, .n_threads = -1};
    assert_error(loader_create(&options, &loader), NEAP_ERROR_USAGE, "-1 loader threads");
    options = (struct loader_options){.source = &source, .batch = INT64_MAX, .n_threads = 1};
    source.shape.channels = INT64_MAX / 4096 / 2;
    assert_int_equal(loader_options_bytes(&options), LOADER_MOST_BYTES);
    assert_error(loader_create(&options, &loader), NEAP_ERROR_MEMORY, "out of memory");
    source.n_samples = INT64_C(5000000000);
    assert_error(loader_create(&options, &loader), NEAP_ERROR_DATA, "more than 2^32 samples");
}

/* ---- interruptions -----------------------------------------------------------------------------
 */

static void an_epoch_can_be_started_in_the_middle_of_another(void **state) {
    (void)state;
    struct source source = make_source(&some_slow, N);
    int32_t wanted[N], got[N];
    for (int n_threads = 0; n_threads <= 3; n_threads++) {
        const struct loader_options options = {
            .source = &source, .batch = BATCH, .shuffle = true, .n_threads = n_threads, .depth = 4};
        struct loader *loader = make_loader(&options);
        for (int epoch = 0; epoch < 10; epoch++) {
            struct loader_batch batch;
            assert_no_error(loader_start_epoch(loader, epoch));
            for (int i = 0; i < epoch; i++)
                assert_no_error(loader_next(loader, &batch));
        }
        load_epoch(&options, 10, wanted);
        assert_no_error(loader_start_epoch(loader, 10));
        assert_int_equal(drain(loader, &options, 0, got), N);
        assert_memory_equal(wanted, got, sizeof got);
        loader_free(loader);
    }
}

static void a_loader_can_be_freed_at_any_time(void **state) {
    (void)state;
    struct source source = make_source(&some_slow, N);
    for (int n_batches = -1; n_batches < 20; n_batches++) {
        struct loader *loader = make_loader(&(struct loader_options){
            .source = &source, .batch = BATCH, .n_threads = 3, .depth = 3});
        if (n_batches >= 0)
            assert_no_error(loader_start_epoch(loader, 0));
        for (int i = 0; i < n_batches; i++) {
            struct loader_batch batch;
            assert_no_error(loader_next(loader, &batch));
        }
        loader_free(loader);
    }
    loader_free(NULL);
}

/* ---- errors ------------------------------------------------------------------------------------
 */

static void a_bad_sample_is_an_error_in_its_place(void **state) {
    (void)state;
    struct numbered numbered = {.bad = {20, 17}, .slow = true};
    struct source source = make_source(&numbered, N);
    for (int n_threads = 0; n_threads <= 3; n_threads++) {
        struct loader *loader = make_loader(&(struct loader_options){
            .source = &source, .batch = BATCH, .n_threads = n_threads, .depth = 4});
        struct loader_batch batch;
        for (int round = 0; round < 3; round++) {
            assert_no_error(loader_start_epoch(loader, 0));
            assert_no_error(loader_next(loader, &batch));
            assert_no_error(loader_next(loader, &batch));
            assert_error(loader_next(loader, &batch), NEAP_ERROR_DATA, "sample 17 is bad");
            assert_int_equal(batch.count, 0);
            assert_no_error(loader_next(loader, &batch));
            assert_int_equal(batch.first_index, 3 * BATCH);
            assert_int_equal(batch.labels[0], 3 * BATCH);
        }
        assert_no_error(loader_start_epoch(loader, 0)); /* freed with errors nobody asked for */
        loader_free(loader);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_shuffling_samples_come_in_order),
        cmocka_unit_test(an_epoch_holds_every_sample_once_in_an_order_of_its_own),
        cmocka_unit_test(every_order_is_as_likely),
        cmocka_unit_test(the_sequence_is_the_same_for_any_number_of_threads),
        cmocka_unit_test(seeking_goes_on_where_the_sequence_was_left),
        cmocka_unit_test(a_batch_larger_than_the_source_is_all_of_it),
        cmocka_unit_test(an_epoch_that_divides_has_no_empty_batch),
        cmocka_unit_test(the_last_batch_can_be_left_out),
        cmocka_unit_test(its_bytes_are_the_slots_and_the_order),
        cmocka_unit_test(refuses_impossible_options),
        cmocka_unit_test(an_epoch_can_be_started_in_the_middle_of_another),
        cmocka_unit_test(a_loader_can_be_freed_at_any_time),
        cmocka_unit_test(a_bad_sample_is_an_error_in_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
