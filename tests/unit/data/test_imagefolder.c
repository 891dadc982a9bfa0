/* Image folders: which files in which order, what is refused or left out, and that samples do not
 * depend on who reads them. */
#include "support/files.h"

#include "data/folder_list.h"
#include "data/loader.h"
#include "support/oracle.h"

enum { SIDE = 16, VALUES = 3 * SIDE * SIDE };

/* A file of tests/oracle/images under another name. */
static void put_image(const char *path, const char *image) {
    static char bytes[8192];
    char name[128];
    snprintf(name, sizeof name, "images/%s", image);
    FILE *file = oracle_open(name);
    assert_non_null(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    put_file(path, bytes, n);
}

static struct source_request request_of(const char *name) {
    return (struct source_request){
        .name = name, .format = "auto", .shape = {3, SIDE, SIDE}, .whole = true, .n_threads = 3};
}

static struct source *open_source(struct source_request request) {
    struct source *source;
    assert_no_error(source_open(&request, &source));
    return source;
}

static void refused(struct source_request request, enum neap_code code, const char *message) {
    struct source *source;
    assert_error(source_open(&request, &source), code, message);
}

/* Sample `index`, its values in `image`; its label is returned. */
static neap_error *read_sample(const struct source *source, int64_t index, float image[VALUES],
                               int32_t *label) {
    void *scratch = malloc((size_t)source->scratch_bytes);
    assert_non_null(scratch);
    neap_error *error = source_read(
        source, (struct sample_request){.index = index, .scratch = scratch}, image, label);
    free(scratch);
    return error;
}

static void assert_files(const char *folder, const char *expected) {
    struct folder_list list;
    char got[256] = "";
    assert_no_error(folder_list(folder, &list));
    for (size_t i = 0; i < list.n_files; i++) {
        strcat(got, folder_list_path(&list, i));
        strcat(got, " ");
    }
    assert_string_equal(got, expected);
    folder_list_free(&list);
}

/* Two classes, files called something else than they are. */
static void put_small(const char *folder) {
    char path[128];
    const char *const files[][2] = {{"cat/b.jpg", "colour.png"},
                                    {"cat/a.JPEG", "colour.jpg"},
                                    {"dog/1", "grey.jpg"},
                                    {"dog/10.png", "cmyk.jpg"},
                                    {"dog/2.png", "alpha.png"}};
    put_folder(folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "dog" : "cat");
        put_folder(path);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        put_image(path, files[i][1]);
    }
}

/* ---- which files ----------------------------------------------------------------------------- */

static void classes_and_files_come_in_order(void **state) {
    (void)state;
    put_small("order");
    put_text("order/readme.txt", "not in a class");
    put_text("order/cat/.DS_Store", "hidden");
    put_folder("order/.git");
    struct source *source = open_source(request_of("order"));
    assert_string_equal(source->format->name, "imagefolder");
    assert_int_equal(source->n_samples, 5);
    assert_int_equal(source->n_classes, 2);
    assert_string_equal(source->class_names[0], "cat");
    assert_string_equal(source->class_names[1], "dog");
    const int32_t labels[] = {0, 0, 1, 1, 1};
    for (int i = 0; i < 5; i++) {
        float image[VALUES];
        int32_t label;
        assert_no_error(read_sample(source, i, image, &label));
        assert_int_equal(label, labels[i]);
    }
    source_close(source);
    assert_files("order", "cat/a.JPEG cat/b.jpg dog/1 dog/10.png dog/2.png ");
}

/* As sorted(os.walk(...)) has them: by folder, then by name. */
static void a_class_may_hold_folders_and_links(void **state) {
    (void)state;
    put_folder("deep");
    put_folder("deep/c");
    put_folder("deep/c/b");
    put_folder("deep/c/b-2");
    put_folder("elsewhere");
    put_image("elsewhere/z.jpg", "colour.jpg");
    put_image("deep/c/z.jpg", "colour.jpg");
    put_image("deep/c/b/a.jpg", "grey.jpg");
    put_image("deep/c/b-2/a.jpg", "full.jpg");
    assert_int_equal(symlink("../../elsewhere", "deep/c/a-link"), 0);
    struct source *source = open_source(request_of("deep"));
    assert_int_equal(source->n_samples, 4);
    source_close(source);
    assert_files("deep", "c/z.jpg c/a-link/z.jpg c/b/a.jpg c/b-2/a.jpg ");
    assert_int_equal(symlink("../c", "deep/c/up"), 0);
    refused(request_of("deep"), NEAP_ERROR_DATA, "folders in folders, 32 deep: a link upwards?");
}

static void splits_are_folders(void **state) {
    (void)state;
    put_folder("splits");
    put_small("splits/train");
    put_folder("splits/test");
    put_folder("splits/test/cat");
    put_image("splits/test/cat/x", "grey.png");
    put_folder("splits/test/dog");
    put_image("splits/test/dog/x", "grey.png");
    struct source_request request = request_of("splits");
    struct source *train = open_source(request);
    assert_int_equal(train->n_samples, 5);
    request.split = SPLIT_VAL;
    struct source *val = open_source(request);
    assert_int_equal(val->n_samples, 2);
    assert_no_error(source_check_classes(train, val));
    source_close(val);
    put_folder("splits/val");
    put_folder("splits/val/bird");
    put_image("splits/val/bird/x", "grey.png");
    val = open_source(request);
    assert_int_equal(val->n_samples, 1);
    assert_error(source_check_classes(train, val), NEAP_ERROR_DATA,
                 "'splits' has 2 classes to train on, 'splits' 1 to validate");
    source_close(val);
    source_close(train);
}

static void a_folder_without_splits_is_the_one_asked_for(void **state) {
    (void)state;
    put_small("plain");
    struct source_request request = request_of("plain");
    source_close(open_source(request));
    request.split = SPLIT_VAL;
    source_close(open_source(request));
    request.whole = false; /* it is trained on already */
    refused(request, NEAP_ERROR_DATA,
            "no folder val, valid, validation or test in 'plain' to validate on");
}

static void empty_folders_are_refused(void **state) {
    (void)state;
    put_folder("empty");
    struct source_request request = request_of("empty");
    refused(request, NEAP_ERROR_DATA, "'empty' holds no data that neap knows");
    request.format = "imagefolder";
    refused(request, NEAP_ERROR_DATA, "empty: no folders of classes in it");
    put_folder("empty/cat");
    refused(request, NEAP_ERROR_DATA, "empty/cat: a class without images");
}

/* ---- bad files ------------------------------------------------------------------------------- */

static void the_first_bad_file_is_named(void **state) {
    (void)state;
    put_small("bad");
    put_text("bad/cat/c.jpg", "RIFF....WEBP");
    put_text("bad/dog/11.png", "");
    for (int n_threads = 0; n_threads < 6; n_threads++) {
        struct source_request request = request_of("bad");
        request.n_threads = n_threads;
        refused(request, NEAP_ERROR_DATA,
                "bad/cat/c.jpg: not a JPEG or PNG (starts 52 49 46 46, WEBP)");
    }
}

static void bad_files_are_left_out_where_asked_for(void **state) {
    (void)state;
    put_small("skip");
    put_text("skip/cat/0.jpg", "RIFF....WEBP");
    put_text("skip/dog/3.png", "");
    put_image("skip/dog/11.png", "colour.jpg");
    assert_int_equal(truncate("skip/dog/11.png", 850), 0); /* only decoding tells */
    assert_int_equal(symlink("nowhere", "skip/cat/d.jpg"), 0);
    put_small("clean");
    struct source *all = open_source(request_of("clean"));
    for (int n_threads = 0; n_threads < 6; n_threads++) {
        struct source_request request = request_of("skip");
        request.skip_bad = true;
        request.n_threads = n_threads;
        struct source *source = open_source(request);
        assert_int_equal(source->n_samples, 5);
        assert_int_equal(source->n_left_out, 4);
        const char *const why[] = {"skip/cat/0.jpg: not a JPEG", "cannot read 'skip/cat/d.jpg'",
                                   "skip/dog/11.png: a JPEG that ends after 850 bytes",
                                   "skip/dog/3.png: empty"};
        for (int i = 0; i < 4; i++)
            assert_non_null(strstr(neap_error_message(source->left_out[i]), why[i]));
        for (int i = 0; i < 5; i++) {
            float image[VALUES], other[VALUES];
            int32_t label, other_label;
            assert_no_error(read_sample(source, i, image, &label));
            assert_no_error(read_sample(all, i, other, &other_label));
            assert_memory_equal(image, other, sizeof image);
            assert_int_equal(label, other_label);
        }
        source_close(source);
    }
    source_close(all);
}

static void a_folder_of_bad_files_is_refused(void **state) {
    (void)state;
    put_folder("rotten");
    put_folder("rotten/cat");
    put_text("rotten/cat/1", "one");
    put_text("rotten/cat/2", "two");
    struct source_request request = request_of("rotten");
    request.skip_bad = true;
    request.format = "imagefolder";
    refused(request, NEAP_ERROR_DATA,
            "rotten: none of its 2 files can be read; the first: rotten/cat/1: not a JPEG");
}

static void a_file_that_changes_is_an_error(void **state) {
    (void)state;
    put_folder("changes");
    put_folder("changes/cat");
    put_image("changes/cat/1", "grey.png");
    put_image("changes/cat/2", "grey.png");
    struct source *source = open_source(request_of("changes"));
    float image[VALUES];
    int32_t label;
    put_image("changes/cat/2", "full.jpg");
    assert_no_error(read_sample(source, 0, image, &label));
    assert_error(read_sample(source, 1, image, &label), NEAP_ERROR_DATA,
                 "changes/cat/2: 1,274 bytes: changed since it was opened?");
    unlink("changes/cat/2");
    assert_error(read_sample(source, 1, image, &label), NEAP_ERROR_DATA,
                 "cannot read 'changes/cat/2'");
    source_close(source);
}

/* ---- who reads ------------------------------------------------------------------------------- */

static void samples_do_not_depend_on_the_number_of_threads(void **state) {
    (void)state;
    const struct augment augment = {.hflip = true,
                                    .rotate_degrees = 20,
                                    .resized_crop = true,
                                    .scale = {0.2, 1},
                                    .ratio = {0.75, 4.0 / 3}};
    put_small("threads");
    struct source_request request = request_of("threads");
    request.augment = &augment;
    request.seed = 11;
    struct source *source = open_source(request);
    static float wanted[3][5 * VALUES];
    for (int n_threads = 0; n_threads <= 4; n_threads++) {
        const struct loader_options options = {
            .source = source, .batch = 2, .shuffle = true, .seed = 11, .n_threads = n_threads};
        struct loader *loader;
        assert_no_error(loader_create(&options, &loader));
        assert_int_equal(loader_bytes(loader),
                         (n_threads ? 2 : 1) * 2 * (VALUES * 4 + 4) + 5 * 4 +
                             (n_threads ? n_threads : 1) *
                                 ((source->scratch_bytes + 63) / 64 * 64 + source->library_bytes));
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            struct loader_batch batch;
            assert_no_error(loader_start_epoch(loader, epoch));
            do {
                assert_no_error(loader_next(loader, &batch));
                float *to = wanted[epoch] + batch.first_index * VALUES;
                const size_t bytes = (size_t)batch.count * VALUES * sizeof *to;
                if (batch.count && n_threads == 0)
                    memcpy(to, batch.images, bytes);
                else if (batch.count)
                    assert_memory_equal(to, batch.images, bytes);
            } while (batch.count);
        }
        /* From the middle of an epoch on. */
        struct loader_batch batch;
        assert_no_error(loader_seek(loader, 1, 3));
        assert_no_error(loader_next(loader, &batch));
        assert_memory_equal(wanted[1] + 3 * VALUES, batch.images, 2 * VALUES * sizeof(float));
        assert_true(loader_take_seconds(loader) > 0);
        assert_true(loader_take_seconds(loader) == 0);
        loader_free(loader);
    }
    assert_memory_not_equal(wanted[0], wanted[1], sizeof *wanted);
    source_close(source);
}

static void augmentation_is_for_those_who_take_it(void **state) {
    (void)state;
    const struct augment augment = {.hflip = true};
    refused(
        (struct source_request){
            .name = "synthetic", .shape = {3, SIDE, SIDE}, .n_classes = 2, .augment = &augment},
        NEAP_ERROR_USAGE, "synthetic data is not augmented");
    refused(
        (struct source_request){
            .name = "synthetic", .shape = {3, SIDE, SIDE}, .n_classes = 2, .skip_bad = true},
        NEAP_ERROR_USAGE, "'synthetic' is of format synthetic: only an imagefolder's files");
}

static int enter(void **state) {
    FILE *file = oracle_open("images.txt");
    if (!file)
        return -1;
    fclose(file);
    return enter_scratch_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_and_files_come_in_order),
        cmocka_unit_test(a_class_may_hold_folders_and_links),
        cmocka_unit_test(splits_are_folders),
        cmocka_unit_test(a_folder_without_splits_is_the_one_asked_for),
        cmocka_unit_test(empty_folders_are_refused),
        cmocka_unit_test(the_first_bad_file_is_named),
        cmocka_unit_test(bad_files_are_left_out_where_asked_for),
        cmocka_unit_test(a_folder_of_bad_files_is_refused),
        cmocka_unit_test(a_file_that_changes_is_an_error),
        cmocka_unit_test(samples_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(augmentation_is_for_those_who_take_it),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
