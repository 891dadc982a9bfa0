/* The real thing, where Debian's dataset-fashion-mnist is installed. */
#include "support/files.h"

#include "data/source.h"

#define FOLDER "/usr/share/datasets/fashion-mnist"

static void check_split(enum source_split split, int n_samples) {
    struct source *source;
    const struct source_request request = {.name = FOLDER, .split = split};
    assert_no_error(source_open(&request, &source));
    assert_int_equal(source->n_samples, n_samples);
    assert_int_equal(source->shape.height, 28);
    assert_int_equal(source->shape.width, 28);
    static float image[784];
    int32_t label;
    int counts[10] = {0};
    for (int i = 0; i < n_samples; i++) {
        assert_no_error(source_read(source, (struct sample_request){.index = i}, image, &label));
        counts[label]++;
        for (int p = 0; p < 784; p++)
            if (!(image[p] >= 0 && image[p] <= 1))
                fail_msg("pixel %d of sample %d is %g", p, i, image[p]);
    }
    for (int c = 0; c < 10; c++)
        assert_int_equal(counts[c], n_samples / 10);
    source_close(source);
}

static void fashion_mnist_is_70000_balanced_grey_images(void **state) {
    (void)state;
    check_split(SPLIT_TRAIN, 60000);
    check_split(SPLIT_VAL, 10000);
}

int main(void) {
    if (access(FOLDER "/train-images-idx3-ubyte.gz", R_OK) != 0) {
        printf(FOLDER " is missing: apt install dataset-fashion-mnist\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fashion_mnist_is_70000_balanced_grey_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
