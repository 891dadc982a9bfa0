/* Op descriptors: attributes as text, tensors' elements, and that every op of the table is whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

struct sample {
    int64_t count;
    double rate;
    bool on;
    struct int_list sides;
};
static const struct attr_def sample_attrs[] = {
    {"count", ATTR_INT, offsetof(struct sample, count), 3, 1, 100},
    {"rate", ATTR_FLOAT, offsetof(struct sample, rate), 0.1, 0, 1},
    {"on", ATTR_BOOL, offsetof(struct sample, on), 1, 0, 1},
    {"sides", ATTR_INTS, offsetof(struct sample, sides), 0, 0, 0},
    ATTR_END,
};
static const struct op_def sample_op = {
    .name = "sample", .attrs = sample_attrs, .attrs_bytes = sizeof(struct sample)};

static struct sample parsed(const char *text) {
    struct sample s;
    op_attrs_default(&sample_op, &s);
    assert_null(op_attrs_parse(&sample_op, text, &s));
    return s;
}

static void prints(const struct sample *s, const char *expected) {
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    op_attrs_print(&sample_op, s, file);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
}

static void refuses(const char *text, const char *part) {
    struct sample s;
    op_attrs_default(&sample_op, &s);
    neap_error *error = op_attrs_parse(&sample_op, text, &s);
    assert_non_null(error);
    assert_int_equal(neap_error_code(error), NEAP_ERROR_MODEL);
    if (!strstr(neap_error_message(error), part))
        fail_msg("'%s' does not say '%s'", neap_error_message(error), part);
    neap_error_free(error);
}

static void attributes_start_with_the_table_s_values(void **state) {
    (void)state;
    struct sample s = parsed("");
    assert_true(s.count == 3 && s.rate == 0.1 && s.on && s.sides.n == 0);
    s = parsed(NULL);
    assert_true(s.count == 3);
}

static void attributes_are_parsed_in_any_order(void **state) {
    (void)state;
    struct sample s = parsed("sides=2,-3  on=0 rate=2.5e-3 count=100");
    assert_true(s.count == 100 && s.rate == 2.5e-3 && !s.on);
    assert_true(s.sides.n == 2 && s.sides.at[0] == 2 && s.sides.at[1] == -3);
}

static void only_what_differs_is_printed(void **state) {
    (void)state;
    struct sample s = parsed("");
    prints(&s, "");
    s = parsed("count=4 rate=0.3 on=0 sides=1,2,3");
    prints(&s, " count=4 rate=0.3 on=0 sides=1,2,3");
}

static void what_lies_behind_a_list_s_end_does_not_count(void **state) {
    (void)state;
    struct sample s;
    memset(&s, 0xA5, sizeof s);
    s.count = 3;
    s.rate = 0.1;
    s.on = true;
    s.sides.n = 0;
    prints(&s, "");
}

static void floats_keep_every_bit_through_text(void **state) {
    (void)state;
    const double values[] = {0.1, 1.0 / 3, 0x1p-40, 1 - 0x1p-53, 1e-5};
    for (int i = 0; i < 5; i++) {
        struct sample s = parsed("");
        char *text = NULL;
        size_t length;
        s.rate = values[i];
        FILE *file = open_memstream(&text, &length);
        op_attrs_print(&sample_op, &s, file);
        fclose(file);
        assert_true(parsed(text).rate == values[i]);
        free(text);
    }
}

static void impossible_attributes_are_refused_by_name(void **state) {
    (void)state;
    refuses("count", "'count' is not key=value");
    refuses("size=3", "no attribute 'size'");
    refuses("count=0", "count='0'");
    refuses("count=101", "count='101'");
    refuses("count=3x", "count='3x'");
    refuses("count=", "count=''");
    refuses("count=99999999999999999999", "count=");
    refuses("rate=nan", "rate='nan'");
    refuses("rate=1.5", "rate='1.5'");
    refuses("on=2", "on='2'");
    refuses("on=yes", "on='yes'");
    refuses("sides=1,2,3,4,5,6,7", "sides=");
    refuses("sides=1;2", "sides='1;2'");
}

/* ---- tensors
 * ------------------------------------------------------------------------------------- */

static void elements_of_every_dtype_are_read_as_written(void **state) {
    (void)state;
    const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F64, DTYPE_I64, DTYPE_I32, DTYPE_U8, DTYPE_BIT};
    for (int d = 0; d < 6; d++) {
        double storage[11];
        const struct tensor t = {storage, dtypes[d], shape_of(1, (int64_t[]){11})};
        memset(storage, 0xFF, sizeof storage);
        for (int i = 0; i < 11; i++)
            tensor_set(&t, i, i % 3 == 0);
        for (int i = 0; i < 11; i++)
            assert_true(tensor_get(&t, i) == (i % 3 == 0));
    }
}

static void bits_are_packed_from_the_lowest(void **state) {
    (void)state;
    uint8_t bytes[2] = {0, 0};
    const struct tensor t = {bytes, DTYPE_BIT, shape_of(1, (int64_t[]){16})};
    tensor_set(&t, 0, 1);
    tensor_set(&t, 9, 1);
    assert_true(bytes[0] == 1 && bytes[1] == 2);
    tensor_set(&t, 0, 0);
    assert_true(bytes[0] == 0 && bytes[1] == 2);
}

/* ---- the table
 * ----------------------------------------------------------------------------------- */

static void ops_are_found_by_their_names_which_are_unique(void **state) {
    (void)state;
    for (size_t i = 0; i < all_ops.n_ops; i++)
        assert_ptr_equal(op_find(&all_ops, all_ops.ops[i]->name), all_ops.ops[i]);
    assert_null(op_find(&all_ops, "relu6"));
    assert_null(op_find(&all_ops, ""));
}

static void every_op_says_all_that_the_compiler_asks(void **state) {
    (void)state;
    for (size_t i = 0; i < all_ops.n_ops; i++) {
        const struct op_def *op = all_ops.ops[i];
        bool effect = op->flags & OP_EFFECT;
        if (!op->infer || !op->cost || !op->summary || !(op->reference || op == &op_batch_norm))
            fail_msg("%s lacks something", op->name);
        if (op->min_inputs > op->max_inputs || op->min_outputs > op->max_outputs)
            fail_msg("%s has impossible counts", op->name);
        if (effect != (op->max_outputs == 0))
            fail_msg("%s should either update or give outputs", op->name);
        if (op->n_overwrites > MAX_OVERWRITES)
            fail_msg("%s has too many overwrites", op->name);
        for (uint32_t o = 0; o < op->n_overwrites; o++)
            if ((uint32_t)op->overwrites[o].input >= op->max_inputs ||
                (uint32_t)op->overwrites[o].output >= op->max_outputs)
                fail_msg("%s overwrites what it does not have", op->name);
    }
}

static void every_attribute_lies_inside_its_struct_and_range(void **state) {
    (void)state;
    const size_t bytes[] = {[ATTR_INT] = sizeof(int64_t),
                            [ATTR_FLOAT] = sizeof(double),
                            [ATTR_BOOL] = sizeof(bool),
                            [ATTR_INTS] = sizeof(struct int_list)};
    for (size_t i = 0; i < all_ops.n_ops; i++) {
        const struct op_def *op = all_ops.ops[i];
        for (const struct attr_def *attr = op->attrs; attr && attr->name; attr++) {
            if (attr->offset + bytes[attr->type] > op->attrs_bytes)
                fail_msg("%s: '%s' lies outside", op->name, attr->name);
            if (attr->type != ATTR_INTS &&
                !(attr->least <= attr->initial && attr->initial <= attr->most))
                fail_msg("%s: '%s' starts out of its range", op->name, attr->name);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_start_with_the_table_s_values),
        cmocka_unit_test(attributes_are_parsed_in_any_order),
        cmocka_unit_test(only_what_differs_is_printed),
        cmocka_unit_test(what_lies_behind_a_list_s_end_does_not_count),
        cmocka_unit_test(floats_keep_every_bit_through_text),
        cmocka_unit_test(impossible_attributes_are_refused_by_name),
        cmocka_unit_test(elements_of_every_dtype_are_read_as_written),
        cmocka_unit_test(bits_are_packed_from_the_lowest),
        cmocka_unit_test(ops_are_found_by_their_names_which_are_unique),
        cmocka_unit_test(every_op_says_all_that_the_compiler_asks),
        cmocka_unit_test(every_attribute_lies_inside_its_struct_and_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
