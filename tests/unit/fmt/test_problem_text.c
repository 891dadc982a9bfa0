/* Bare problems as text: what is read, and what is refused with its line. */
#include "support/files.h"

#include "fmt/problem_text.h"

static struct plan_problem problem;

static void read_text(const char *text) {
    put_text("in.problem", text);
    assert_no_error(problem_text_read("in.problem", &problem));
}

static void assert_refused(const char *text, const char *message) {
    put_text("in.problem", text);
    assert_error(problem_text_read("in.problem", &problem), NEAP_ERROR_DATA, message);
}

static int forget(void **state) {
    (void)state;
    pool_free(&problem.pool);
    problem = (struct plan_problem){0};
    return 0;
}

static void OpsAreRead(void **state) {
    (void)state;
    read_text("3\n2 10 0\n0.5 0 1 0\n1e3 7 2 1 0\n");
    assert_int_equal(problem.n_ops, 3);
    assert_int_equal(problem.n_values, 3);
    assert_int_equal(problem.n_alternatives, 0);
    assert_true(problem.ops[1].seconds == 0.5 && problem.ops[2].seconds == 1000);
    assert_int_equal(problem.values[0].bytes, 10);
    assert_int_equal(problem.values[1].bytes, 0);
    const struct plan_op *op = &problem.ops[2];
    assert_int_equal(op->inputs.n, 2);
    assert_int_equal(problem.ids[op->inputs.first], 1);
    assert_int_equal(problem.ids[op->inputs.first + 1], 0);
    assert_int_equal(op->outputs.n, 1);
    assert_int_equal(problem.ids[op->outputs.first], 2);
    assert_int_equal(problem.values[2].producer, 2);
}

static void EveryOpMayRunAgain(void **state) {
    (void)state;
    read_text("2\n1 1 0\n1 1 1 0\n");
    for (uint32_t o = 0; o < problem.n_ops; o++)
        assert_false(plan_op_once(&problem.ops[o]));
}

static void AnInputNamedTwiceIsReadOnce(void **state) {
    (void)state;
    read_text("2\n1 5 0\n1 5 3 0 0 0\n");
    assert_int_equal(problem.ops[1].inputs.n, 1);
}

static void LineEndsAndBlanksDoNotMatter(void **state) {
    (void)state;
    read_text(" 2 \r\n1\t4 0\r\n  +2.5 4 1 0 \r\n\r\n \n");
    assert_true(problem.ops[1].seconds == 2.5);
    forget(NULL);
    read_text("1\n1 1 0"); /* no line's end */
    assert_int_equal(problem.n_ops, 1);
}

static void LargeNumbersAreRead(void **state) {
    (void)state;
    read_text("1\n10000000000000 2305843009213693951 0\n");
    assert_true(problem.ops[0].seconds == 1e13);
    assert_int_equal(problem.values[0].bytes, INT64_MAX / 4);
}

static void MalformedFilesAreRefusedWithTheirLine(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "in.problem:1: the number of ops is missing: the file ends here, truncated?"},
        {"\n", "in.problem:1: the number of ops is missing"},
        {"0\n", "there are no ops in it"},
        {"x\n", "in.problem:1: the number of ops is 'x', not a whole number"},
        {"-1\n", "in.problem:1: the number of ops is -1, but must be from 0 to"},
        {"2.5\n", "in.problem:1: the number of ops is '2.5', not a whole number"},
        {"1 1\n1 1 0\n", "in.problem:1: '1' is more than the line should hold"},
        {"99999999999999999999\n", "the number of ops is 99999999999999999999, but must be from"},
        {"1000000\n1 1 0\n", "14 bytes, the first line promises 1000000 ops: truncated?"},
        {"2\n1 1 0\n", "1 ops, the first line promises 2: truncated?"},
        {"2\n1 1 0\n1", "in.problem:3: the op's size is missing: the file ends here, truncated?"},
        {"2\n1 1 0\n1 1 1", "in.problem:3: an input is missing: the file ends here, truncated?"},
        {"1\n1 1 0\n1 1 0\n", "there are more lines than the first one says"},
        {"1\n1 1 0 0\n", "in.problem:2: '0' is more than the line should hold"},
        {"1\n1 1 0 garbage\n", "in.problem:2: 'garbage' is more than the line should hold"},
        {"1\n\n1 1 0\n", "in.problem:2: the op's time is missing"},
        {"1\n1 1\n", "in.problem:2: the number of inputs is missing"},
        {"2\n1 1 1 1\n1 1 0\n", "in.problem:2: op 0 reads op 1, but only ops above it"},
        {"2\n1 1 1 0\n1 1 0\n", "in.problem:2: op 0 reads op 0, but only ops above it"},
        {"2\n1 1 0\n1 1 1 -1\n", "in.problem:3: an input is -1, but must be from 0"},
        {"2\n1 1 0\n1 1 -1\n", "in.problem:3: the number of inputs is -1, but must be"},
        {"1\n1 1 99999999999\n", "in.problem:2: the number of inputs is 99999999999, but must"},
        {"1\n-1 1 0\n", "in.problem:2: the op's time is -1, but must be from 0"},
        {"1\nnan 1 0\n", "in.problem:2: the op's time is 'nan', not a number"},
        {"1\n1e999 1 0\n", "in.problem:2: the op's time is 1e999, but must be from 0"},
        {"1\n1x 1 0\n", "in.problem:2: the op's time is '1x', not a number"},
        {"1\n. 1 0\n", "in.problem:2: the op's time is '.', not a number"},
        {"1\n1 -8 0\n", "in.problem:2: the op's size is -8, but must be from 0"},
        {"1\n1 1.5 0\n", "in.problem:2: the op's size is '1.5', not a whole number"},
        {"1\n1 9223372036854775807 0\n", "the op's size is 9223372036854775807, but must be"},
        {"1\n1 - 0\n", "in.problem:2: the op's size is '-', not a whole number"},
        {"1\n1 \f\n2 0\n", "in.problem:2: the op's size is '\f', not a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i][0], cases[i][1]);
}

static void SumsOfSizesFit(void **state) {
    (void)state;
    assert_refused("2\n1 2305843009213693951 0\n1 1 0\n", "must be from 0 to 1152921504606846975");
}

static void BinaryIsRefused(void **state) {
    (void)state;
    static const char bytes[] = "1\n1 1 0\n\0\0\0";
    put_file("in.problem", bytes, sizeof bytes);
    assert_error(problem_text_read("in.problem", &problem), NEAP_ERROR_DATA,
                 "in.problem: there is a zero byte in it");
}

static void LongWordsAreCutInErrors(void **state) {
    (void)state;
    char text[1000] = "1\n1 1 0 ";
    memset(text + strlen(text), 'y', sizeof text - 1 - strlen(text));
    put_file("in.problem", text, sizeof text - 1);
    neap_error *error = problem_text_read("in.problem", &problem);
    assert_non_null(error);
    assert_true(strlen(neap_error_message(error)) < 100);
    neap_error_free(error);
}

static void AMissingFileIsNamed(void **state) {
    (void)state;
    assert_error(problem_text_read("no-such.problem", &problem), NEAP_ERROR_DATA,
                 "cannot read 'no-such.problem'");
}

static void ASchedulesLinesAreOpNumbers(void **state) {
    (void)state;
    uint32_t ops[] = {0, 2, 0, 1};
    const struct plan_schedule schedule = {.ops = ops, .n = 4};
    FILE *file = fopen("schedule", "w");
    assert_non_null(file);
    problem_text_write_schedule(&schedule, file);
    assert_int_equal(fclose(file), 0);
    assert_file_holds("schedule", "0\n2\n0\n1\n", 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(OpsAreRead, forget),
        cmocka_unit_test_teardown(EveryOpMayRunAgain, forget),
        cmocka_unit_test_teardown(AnInputNamedTwiceIsReadOnce, forget),
        cmocka_unit_test_teardown(LineEndsAndBlanksDoNotMatter, forget),
        cmocka_unit_test_teardown(LargeNumbersAreRead, forget),
        cmocka_unit_test_teardown(MalformedFilesAreRefusedWithTheirLine, forget),
        cmocka_unit_test_teardown(SumsOfSizesFit, forget),
        cmocka_unit_test_teardown(BinaryIsRefused, forget),
        cmocka_unit_test_teardown(LongWordsAreCutInErrors, forget),
        cmocka_unit_test_teardown(AMissingFileIsNamed, forget),
        cmocka_unit_test(ASchedulesLinesAreOpNumbers),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
