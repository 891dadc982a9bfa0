/* Data sets by name, folder and format; CIFAR-10 and synthetic data. */
#include "support/files.h"

#include <math.h>

#include "data/datasets.h"
#include "data/source.h"

enum { RECORD_BYTES = 3073 };

/* n records: labels `label`, `label` + 1, …, and in record r pixel p the byte (r + p) mod 256. */
static void put_records(const char *path, int n, int label) {
    static unsigned char bytes[8 * RECORD_BYTES];
    for (int r = 0; r < n; r++) {
        bytes[r * RECORD_BYTES] = (unsigned char)(label + r);
        for (int p = 0; p < RECORD_BYTES - 1; p++)
            bytes[r * RECORD_BYTES + 1 + p] = (unsigned char)(r + p);
    }
    put_file(path, bytes, (size_t)n * RECORD_BYTES);
}

static neap_error *open_folder(const char *folder, enum source_split split,
                               struct source **source) {
    return source_open(&(struct source_request){.name = folder, .split = split}, source);
}

static void refused(struct source_request request, enum neap_code code, const char *message) {
    struct source *source;
    assert_error(source_open(&request, &source), code, message);
}

/* ---- names, folders, formats ----------------------------------------------------------------- */

static void an_absent_data_set_is_answered_with_its_command(void **state) {
    (void)state;
    if (access("/usr/share/datasets/fashion-mnist", F_OK) != 0)
        refused((struct source_request){.name = "fashion-mnist"}, NEAP_ERROR_DATA,
                "apt install dataset-fashion-mnist");
    if (access("/usr/share/datasets/cifar-10-batches-bin", F_OK) != 0)
        refused((struct source_request){.name = "cifar10"}, NEAP_ERROR_DATA,
                "data set 'cifar10' is not in ./data or /usr/share/datasets "
                "($NEAP_DATA is not set)\n  to get it:  mkdir");
}

static void every_data_set_says_how_to_get_it(void **state) {
    (void)state;
    bool fashion = false;
    for (size_t i = 0; neap_dataset_at(i); i++) {
        const struct neap_dataset_info *info = neap_dataset_at(i);
        assert_true(strlen(info->name) > 0 && strlen(info->summary) > 0 && info->install);
        assert_ptr_equal(&dataset_find(info->name)->info, info);
        fashion |= strcmp(info->name, "fashion-mnist") == 0 &&
                   strcmp(info->install, "apt install dataset-fashion-mnist") == 0;
    }
    assert_true(fashion);
    assert_null(neap_dataset_at(1000));
    assert_null(dataset_find("fashion"));
}

static void refuses_a_name_or_folder_that_is_not_there(void **state) {
    (void)state;
    refused((struct source_request){.name = "fashion-mnits"}, NEAP_ERROR_DATA,
            "no data set or folder 'fashion-mnits' (data sets: fashion-mnist, cifar10, cifar100, "
            "synthetic)");
    refused((struct source_request){.name = "./nowhere"}, NEAP_ERROR_DATA,
            "cannot read data folder './nowhere': no such file or directory");
    refused((struct source_request){.name = NULL}, NEAP_ERROR_USAGE, "no data given");
}

static void refuses_a_folder_without_data(void **state) {
    (void)state;
    put_folder("bare");
    put_text("a-file", "");
    refused((struct source_request){.name = "bare"}, NEAP_ERROR_DATA,
            "'bare' holds no data that neap knows");
    refused((struct source_request){.name = "a-file"}, NEAP_ERROR_DATA,
            "'a-file' is a file; data is given by the folder it is in");
    refused((struct source_request){.name = "bare", .format = "cifar10"}, NEAP_ERROR_DATA,
            "no data_batch_1.bin in 'bare'");
    refused((struct source_request){.name = "bare", .format = "idx"}, NEAP_ERROR_DATA,
            "no train-labels-idx1-ubyte");
}

static void refuses_a_format_that_does_not_fit(void **state) {
    (void)state;
    refused((struct source_request){.name = ".", .format = "cifar"}, NEAP_ERROR_USAGE,
            "unknown data format 'cifar' (formats: auto, idx, cifar10, cifar100, "
            "cifar100-coarse, imagefolder, synthetic)");
    refused((struct source_request){.name = "fashion-mnist", .format = "cifar10"}, NEAP_ERROR_USAGE,
            "data set 'fashion-mnist' is of format idx, not cifar10");
    refused((struct source_request){.name = ".", .format = "synthetic"}, NEAP_ERROR_USAGE,
            "synthetic data is not read from a folder");
}

static void a_model_has_to_fit_the_samples(void **state) {
    (void)state;
    struct source *source;
    const struct sample_shape shape = {1, 28, 28};
    const struct source_request request = {.name = "synthetic", .shape = shape, .n_classes = 10};
    assert_no_error(source_open(&request, &source));
    assert_no_error(source_check(source, shape, 10));
    assert_no_error(source_check(source, shape, 1000));
    assert_error(source_check(source, shape, 9), NEAP_ERROR_USAGE,
                 "'synthetic' has 10 classes, the model tells 9 apart");
    assert_error(source_check(source, (struct sample_shape){3, 32, 32}, 10), NEAP_ERROR_USAGE,
                 "the samples of 'synthetic' are 1x28x28, the model takes 3x32x32");
    source_close(source);
}

/* ---- CIFAR-10 ----------------------------------------------------------------------------------
 */

static void cifar_reads_all_training_files_in_order(void **state) {
    (void)state;
    struct source *source;
    put_folder("c1");
    put_records("c1/data_batch_1.bin", 3, 0);
    put_records("c1/data_batch_3.bin", 2, 5);
    put_records("c1/test_batch.bin", 1, 9);
    assert_no_error(open_folder("c1", SPLIT_TRAIN, &source));
    assert_string_equal(source->format->name, "cifar10");
    assert_int_equal(source->n_samples, 5);
    assert_int_equal(source->n_classes, 10);
    assert_int_equal(source->shape.channels, 3);
    const int32_t labels[] = {0, 1, 2, 5, 6};
    static float image[3072];
    for (int i = 4; i >= 0; i--) {
        int32_t label;
        assert_no_error(source_read(source, (struct sample_request){.index = i}, image, &label));
        assert_int_equal(label, labels[i]);
    }
    source_close(source);
    assert_no_error(open_folder("c1", SPLIT_VAL, &source));
    assert_int_equal(source->n_samples, 1);
    source_close(source);
}

static void cifar_is_normalised_with_its_own_moments(void **state) {
    (void)state;
    put_folder("c2");
    put_records("c2/data_batch_1.bin", 2, 0);
    const struct {
        const char *how;
        double mean[3], deviation[3];
    } cases[] = {{NULL, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
                 {"auto", {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
                 {"imagenet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
                 {"none", {0, 0, 0}, {1, 1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct source *source;
        const struct source_request request = {.name = "c2", .normalize = cases[i].how};
        assert_no_error(source_open(&request, &source));
        static float image[3072];
        int32_t label;
        assert_no_error(source_read(source, (struct sample_request){.index = 1}, image, &label));
        for (int p = 0; p < 3072; p++) {
            const int c = p / 1024;
            const double wanted =
                ((1 + p) % 256 / 255.0 - cases[i].mean[c]) / cases[i].deviation[c];
            assert_true(fabs(image[p] - wanted) < 1e-6);
        }
        source_close(source);
    }
}

static void cifar_refuses_files_that_are_wrong(void **state) {
    (void)state;
    const struct source_request request = {.name = "c3"};
    put_folder("c3");
    put_records("c3/data_batch_1.bin", 2, 0);
    put_text("c3/data_batch_2.bin", "");
    refused(request, NEAP_ERROR_DATA, "c3/data_batch_2.bin: empty");
    put_records("c3/data_batch_2.bin", 4, 8);
    refused(request, NEAP_ERROR_DATA, "c3/data_batch_2.bin: label 10 of record 2 is outside 0..9");
    put_records("c3/data_batch_2.bin", 2, 0);
    assert_int_equal(truncate("c3/data_batch_2.bin", 2 * RECORD_BYTES - 1), 0);
    refused(request, NEAP_ERROR_DATA, "c3/data_batch_2.bin: 6,145 bytes, not a multiple of 3,073");
    refused((struct source_request){.name = "c3", .split = SPLIT_VAL}, NEAP_ERROR_DATA,
            "no test_batch.bin in 'c3'");
}

static void cifar_notices_a_file_that_shrinks(void **state) {
    (void)state;
    struct source *source;
    put_folder("c4");
    put_records("c4/data_batch_1.bin", 2, 0);
    assert_no_error(open_folder("c4", SPLIT_TRAIN, &source));
    assert_int_equal(truncate("c4/data_batch_1.bin", RECORD_BYTES + 7), 0);
    static float image[3072];
    int32_t label;
    assert_no_error(source_read(source, (struct sample_request){.index = 0}, image, &label));
    assert_error(source_read(source, (struct sample_request){.index = 1}, image, &label),
                 NEAP_ERROR_DATA, "record 1 is cut off: changed since it was opened?");
    source_close(source);
}

/* ---- CIFAR-100 ---------------------------------------------------------------------------------
 */

static void cifar100_has_coarse_and_fine_labels(void **state) {
    (void)state;
    static unsigned char bytes[3 * (RECORD_BYTES + 1)];
    const unsigned char labels[3][2] = {{0, 99}, {19, 0}, {7, 42}};
    for (int r = 0; r < 3; r++) {
        unsigned char *record = bytes + r * (RECORD_BYTES + 1);
        memcpy(record, labels[r], 2);
        memset(record + 2, 10 + r, RECORD_BYTES - 1);
    }
    put_folder("c100");
    put_file("c100/train.bin", bytes, sizeof bytes);
    put_file("c100/test.bin", bytes, RECORD_BYTES + 1);
    const char *const formats[] = {"cifar100-coarse", "auto"};
    for (int fine = 0; fine < 2; fine++) {
        struct source *source;
        const struct source_request request = {.name = "c100", .format = formats[fine]};
        assert_no_error(source_open(&request, &source));
        assert_string_equal(source->format->name, fine ? "cifar100" : "cifar100-coarse");
        assert_int_equal(source->n_samples, 3);
        assert_int_equal(source->n_classes, fine ? 100 : 20);
        for (int i = 0; i < 3; i++) {
            static float image[3072];
            int32_t label;
            assert_no_error(
                source_read(source, (struct sample_request){.index = i}, image, &label));
            assert_int_equal(label, labels[i][fine]);
            /* Red's mean and deviation. */
            assert_true(fabs(image[0] - ((10 + i) / 255.0 - 0.5071) / 0.2675) < 1e-6);
        }
        source_close(source);
        assert_no_error(source_open(
            &(struct source_request){.name = "c100", .format = formats[fine], .split = SPLIT_VAL},
            &source));
        assert_int_equal(source->n_samples, 1);
        source_close(source);
    }
    bytes[RECORD_BYTES + 1] = 20;
    put_file("c100/train.bin", bytes, sizeof bytes);
    refused((struct source_request){.name = "c100"}, NEAP_ERROR_DATA,
            "c100/train.bin: label 20 of record 1 is outside 0..19");
    assert_int_equal(truncate("c100/train.bin", RECORD_BYTES), 0);
    refused((struct source_request){.name = "c100"}, NEAP_ERROR_DATA,
            "c100/train.bin: 3,073 bytes, not a multiple of 3,074 (2+3x32x32)");
}

/* ---- synthetic data ----------------------------------------------------------------------------
 */

enum { SIDE = 5, PIXELS = 3 * SIDE * SIDE };

static struct source *open_synthetic(uint64_t seed, enum source_split split) {
    const struct source_request request = {.name = "synthetic",
                                           .split = split,
                                           .shape = {3, SIDE, SIDE},
                                           .n_classes = 7,
                                           .n_samples = 500,
                                           .seed = seed};
    struct source *source;
    assert_no_error(source_open(&request, &source));
    assert_int_equal(source->n_samples, 500);
    assert_int_equal(source->resident_bytes, 0);
    return source;
}

static void synthetic_samples_depend_on_seed_split_and_index_alone(void **state) {
    (void)state;
    struct source *a = open_synthetic(1, SPLIT_TRAIN), *b = open_synthetic(1, SPLIT_TRAIN);
    struct source *others[] = {open_synthetic(2, SPLIT_TRAIN), open_synthetic(1, SPLIT_VAL)};
    float x[PIXELS + 1] = {0}, y[PIXELS + 1];
    int32_t x_label, y_label;
    assert_no_error(source_read(a, (struct sample_request){.index = 17}, x, &x_label));
    assert_no_error(source_read(b, (struct sample_request){.index = 400}, y, &y_label));
    assert_no_error(source_read(b, (struct sample_request){.index = 17}, y, &y_label));
    assert_memory_equal(x, y, PIXELS * sizeof *x);
    assert_int_equal(x_label, y_label);
    assert_true(x[PIXELS] == 0); /* nothing behind the sample */
    assert_no_error(source_read(a, (struct sample_request){.index = 18}, y, &y_label));
    assert_memory_not_equal(x, y, PIXELS * sizeof *x);
    for (int i = 0; i < 2; i++) {
        assert_no_error(source_read(others[i], (struct sample_request){.index = 17}, y, &y_label));
        assert_memory_not_equal(x, y, PIXELS * sizeof *x);
        source_close(others[i]);
    }
    source_close(a);
    source_close(b);
}

/* Nearest class mean, learnt on training samples, has to recognise validation samples. */
static void synthetic_classes_can_be_learnt(void **state) {
    (void)state;
    struct source *train = open_synthetic(3, SPLIT_TRAIN), *val = open_synthetic(3, SPLIT_VAL);
    static double mean[7][PIXELS];
    int counts[7] = {0}, right = 0;
    float x[PIXELS];
    int32_t label;
    for (int i = 0; i < 500; i++) {
        assert_no_error(source_read(train, (struct sample_request){.index = i}, x, &label));
        assert_in_range(label, 0, 6);
        counts[label]++;
        for (int p = 0; p < PIXELS; p++) {
            assert_true(x[p] >= -2 && x[p] < 2);
            mean[label][p] += x[p];
        }
    }
    for (int c = 0; c < 7; c++) {
        assert_in_range(counts[c], 500 / 14, 500 / 4);
        for (int p = 0; p < PIXELS; p++)
            mean[c][p] /= counts[c];
    }
    for (int i = 0; i < 500; i++) {
        assert_no_error(source_read(val, (struct sample_request){.index = i}, x, &label));
        int nearest = 0;
        double least = INFINITY;
        for (int c = 0; c < 7; c++) {
            double distance = 0;
            for (int p = 0; p < PIXELS; p++)
                distance += (x[p] - mean[c][p]) * (x[p] - mean[c][p]);
            nearest = distance < least ? c : nearest;
            least = fmin(least, distance);
        }
        right += nearest == label;
    }
    assert_true(right > 490);
    source_close(train);
    source_close(val);
}

static void synthetic_data_has_to_be_described(void **state) {
    (void)state;
    refused((struct source_request){.name = "synthetic"}, NEAP_ERROR_USAGE,
            "synthetic data needs a shape, classes and samples");
    refused(
        (struct source_request){.name = "synthetic", .shape = {INT64_MAX, 2, 1}, .n_classes = 2},
        NEAP_ERROR_USAGE, "synthetic data needs a shape");
    refused(
        (struct source_request){
            .name = "synthetic", .shape = {1, 1, 1}, .n_classes = 2, .normalize = "imagenet"},
        NEAP_ERROR_USAGE, "normalisation 'imagenet' has no effect on synthetic data");
}

int main(void) {
    unsetenv("NEAP_DATA");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_data_set_is_answered_with_its_command),
        cmocka_unit_test(every_data_set_says_how_to_get_it),
        cmocka_unit_test(refuses_a_name_or_folder_that_is_not_there),
        cmocka_unit_test(refuses_a_folder_without_data),
        cmocka_unit_test(refuses_a_format_that_does_not_fit),
        cmocka_unit_test(a_model_has_to_fit_the_samples),
        cmocka_unit_test(cifar_reads_all_training_files_in_order),
        cmocka_unit_test(cifar_is_normalised_with_its_own_moments),
        cmocka_unit_test(cifar_refuses_files_that_are_wrong),
        cmocka_unit_test(cifar_notices_a_file_that_shrinks),
        cmocka_unit_test(cifar100_has_coarse_and_fine_labels),
        cmocka_unit_test(synthetic_samples_depend_on_seed_split_and_index_alone),
        cmocka_unit_test(synthetic_classes_can_be_learnt),
        cmocka_unit_test(synthetic_data_has_to_be_described),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
