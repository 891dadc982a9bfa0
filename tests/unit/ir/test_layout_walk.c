/* Walking over places: from anywhere, in any layout, where layout_offset says. */
#include "support/files.h"

#include "ir/layout_walk.h"

static const char *const layouts[] = {"abcd",       "acdb",        "dcba",        "aBcd8b",
                                      "ABcd16b16a", "ABcd4b2a",    "ABcd8b16a2b", "Acdb3a",
                                      "dBAc2a3b",   "AbCd2c2a2c2a"};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static void check(struct layout layout, struct shape shape) {
    const int64_t *dim = shape.dim;
    struct layout_walk walk;
    int64_t n = shape_elements(shape);
    for (int64_t first = 0; first < n; first += 17) {
        layout_walk_start(&walk, layout, shape, first);
        for (int64_t i = first; i < n + 3; i++, layout_walk_next(&walk)) {
            int64_t e = i % n;
            const int64_t index[] = {e / (dim[1] * dim[2] * dim[3]), e / (dim[2] * dim[3]) % dim[1],
                                     e / dim[3] % dim[2], e % dim[3]};
            assert_int_equal(walk.offset, layout_offset(layout, shape, index));
        }
    }
}

static void PlacesAreThoseOfEveryIndexInTurn(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {{5, 7, 3, 4}, {18, 33, 1, 1}, {2, 1, 5, 1}, {1, 1, 1, 1}};
    for (int l = 0; l < N_LAYOUTS; l++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct layout layout;
            assert_no_error(layout_of_text(layouts[l], 4, &layout));
            check(layout, shape_of(4, shapes[s]));
        }
}

/* A vector has one place after another; a scalar one place. */
static void SmallRanksWalkToo(void **state) {
    (void)state;
    struct layout_walk walk;
    layout_walk_start(&walk, (struct layout){0}, shape_of(1, (int64_t[]){5}), 3);
    assert_int_equal(walk.offset, 3);
    layout_walk_next(&walk);
    assert_int_equal(walk.offset, 4);
    layout_walk_start(&walk, (struct layout){0}, (struct shape){0}, 0);
    assert_int_equal(walk.offset, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PlacesAreThoseOfEveryIndexInTurn),
        cmocka_unit_test(SmallRanksWalkToo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
