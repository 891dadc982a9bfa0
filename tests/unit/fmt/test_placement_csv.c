/* Placement problems as CSV: what is read, what is written back, and what is refused. */
#include "support/files.h"

#include "fmt/placement_csv.h"

static struct placement_csv csv;

static int release(void **state) {
    (void)state;
    placement_csv_free(&csv);
    return 0;
}

static void read_text(const char *text) {
    put_text("in.csv", text);
    assert_no_error(placement_csv_read("in.csv", &csv));
}

static void assert_life(size_t i, const char *id, uint32_t first, uint32_t last, int64_t bytes) {
    assert_string_equal(csv.ids[i], id);
    assert_int_equal(csv.lives.at[i].first_step, first);
    assert_int_equal(csv.lives.at[i].last_step, last);
    assert_int_equal(csv.lives.at[i].bytes, bytes);
    assert_int_equal(csv.lives.at[i].in_place_of, PLAN_NONE);
}

static void assert_refused(const char *text, const char *where, const char *what) {
    put_text("in.csv", text);
    assert_error(placement_csv_read("in.csv", &csv), NEAP_ERROR_DATA, what);
    assert_error(placement_csv_read("in.csv", &csv), NEAP_ERROR_DATA, where);
    assert_null(csv.lives.at); /* nothing is left to free */
}

/* Times are 0 10 20 25 30: steps are the spans between them, and the last of a life is the one that
 * ends at `upper`. */
static void TimesBecomeSteps(void **state) {
    (void)state;
    read_text("id,lower,upper,size\n0,10,30,7\n1,0,20,5\n2,20,25,0\n");
    assert_int_equal(csv.lives.n, 3);
    assert_life(0, "0", 1, 3, 7);
    assert_life(1, "1", 0, 1, 5);
    assert_life(2, "2", 2, 2, 0);
}

static void ColumnsAreFoundByName(void **state) {
    (void)state;
    read_text("\"size\",note,upper,id , lower\n 64 ,x,5,\"a, \"\"b\"\"\", -3\n\"8\",,9,,5\n");
    assert_int_equal(csv.lives.n, 2);
    assert_life(0, "\"a, \"\"b\"\"\"", 0, 0, 64);
    assert_life(1, "", 1, 1, 8);
}

static void ForeignLineEndsAreFine(void **state) {
    (void)state;
    read_text("\xEF\xBB\xBF"
              "id,lower,upper,size\r\n\r\nx y,0,1,4\r\n\n\n");
    assert_int_equal(csv.lives.n, 1);
    assert_life(0, "x y", 0, 0, 4);
}

static void NoRowsAreNoLives(void **state) {
    (void)state;
    read_text("id,lower,upper,size");
    assert_int_equal(csv.lives.n, 0);
    assert_no_error(placement_csv_write(&csv, "out.csv"));
    assert_file_holds("out.csv", "id,lower,upper,size,offset\n", 27);
}

static void RowsAreWrittenWithTheirOffsets(void **state) {
    (void)state;
    static const char expected[] = "size,id,upper,lower,note,offset\n"
                                   "64,\"a,b\",5,0,x,4096\n"
                                   "8,c,9,5,,0\n";
    read_text("size,id,upper,lower,offset,note\n64,\"a,b\",5,0,77,x\n8,c,9,5,78,\n");
    csv.lives.at[0].offset = 4096;
    csv.lives.at[1].offset = 0;
    assert_no_error(placement_csv_write(&csv, "out.csv"));
    assert_file_holds("out.csv", expected, sizeof expected - 1);
}

static void WhatIsMalformedIsRefused(void **state) {
    (void)state;
    assert_refused("", "in.csv:1:", "no column 'id'");
    assert_refused("id,lower,size\n", "in.csv:1:", "no column 'upper'");
    assert_refused("id,lower,upper,size,id\n", "in.csv:1:", "two columns 'id'");
    assert_refused("id,lower,upper,size\n0,0,1,1\n1,0,1\n", "in.csv:3:", "3 fields");
    assert_refused("id,lower,upper,size\n\n0,0,1,1,1\n", "in.csv:3:", "5 fields");
    assert_refused("id,lower,upper,size\n0,x,1,1\n", "in.csv:2:", "lower is 'x'");
    assert_refused("id,lower,upper,size\n0,0,,1\n", "in.csv:2:", "upper is ''");
    assert_refused("id,lower,upper,size\n0,0,1,1.5\n", "in.csv:2:", "size is '1.5'");
    assert_refused("id,lower,upper,size\n0,4,4,1\n", "in.csv:2:", "upper is 4, but must be from 5");
    assert_refused("id,lower,upper,size\n0,0,1,-1\n", "in.csv:2:", "size is -1");
    assert_refused("id,lower,upper,size\n0,0,1,99999999999999999999\n", "in.csv:2:", "size is 999");
    assert_refused("id,lower,upper,size\n\"0,0,1,1\n", "in.csv:2:", "not closed");
    assert_refused("id,lower,upper,size\n\"0\"0,0,1,1\n", "in.csv:2:", "behind a quoted field");
}

static void SumsOfBytesCannotOverflow(void **state) {
    (void)state;
    assert_refused("id,lower,upper,size\n0,0,1,2000000000000000000\n1,0,1,2000000000000000000\n",
                   "in.csv:3:", "size is 2000000000000000000");
}

static void AFileWithAZeroByteIsRefused(void **state) {
    (void)state;
    static const char text[] = "id,lower,upper,size\n0,0,1,1\n\0001,0,1,1\n";
    put_file("in.csv", text, sizeof text - 1);
    assert_error(placement_csv_read("in.csv", &csv), NEAP_ERROR_DATA, "in.csv:3: there is a zero");
}

static void AMissingFileIsNamed(void **state) {
    (void)state;
    assert_error(placement_csv_read("none.csv", &csv), NEAP_ERROR_DATA, "none.csv");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(TimesBecomeSteps, release),
        cmocka_unit_test_teardown(ColumnsAreFoundByName, release),
        cmocka_unit_test_teardown(ForeignLineEndsAreFine, release),
        cmocka_unit_test_teardown(NoRowsAreNoLives, release),
        cmocka_unit_test_teardown(RowsAreWrittenWithTheirOffsets, release),
        cmocka_unit_test(WhatIsMalformedIsRefused),
        cmocka_unit_test(SumsOfBytesCannotOverflow),
        cmocka_unit_test(AFileWithAZeroByteIsRefused),
        cmocka_unit_test(AMissingFileIsNamed),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
