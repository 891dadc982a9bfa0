/* metrics.csv: rows that go on behind those of a checkpoint. */
#include "support/files.h"

#include <math.h>

#include "report/metrics.h"

static const char header[] = "epoch,update,train_loss,train_top1,eval_loss,eval_top1,eval_top5,lr,"
                             "seconds,images_per_second,loss_scale\n";

static struct neap_event row_of(int64_t epoch) {
    return (struct neap_event){.epoch = epoch,
                               .update = 4 * epoch,
                               .train_loss = 0.5,
                               .train_top1 = 10,
                               .eval_loss = NAN,
                               .eval_top1 = NAN,
                               .eval_top5 = NAN,
                               .lr = 0.1,
                               .seconds = 2,
                               .images_per_second = 3,
                               .loss_scale = 1};
}

static int64_t add_row(const char *path, int64_t keep_bytes, int64_t epoch) {
    struct metrics *metrics;
    int64_t bytes;
    struct neap_event event = row_of(epoch);
    assert_no_error(metrics_open(path, keep_bytes, &metrics));
    assert_no_error(metrics_row(metrics, &event));
    assert_no_error(metrics_sync(metrics, &bytes));
    metrics_close(metrics);
    return bytes;
}

static void assert_text(const char *path, const char *rows) {
    char text[1024];
    snprintf(text, sizeof text, "%s%s", header, rows);
    assert_file_holds(path, text, strlen(text));
}

static void rows_go_on_behind_those_that_are_kept(void **state) {
    (void)state;
    int64_t one = add_row("m.csv", 0, 1);
    assert_text("m.csv", "1,4,0.5,10,,,,0.1,2,3,1\n");
    int64_t two = add_row("m.csv", one, 2);
    assert_true(two > one);
    add_row("m.csv", two, 3);
    assert_text("m.csv",
                "1,4,0.5,10,,,,0.1,2,3,1\n2,8,0.5,10,,,,0.1,2,3,1\n3,12,0.5,10,,,,0.1,2,3,1\n");
    assert_int_equal(add_row("m.csv", one, 2), two); /* rows since are cut off */
    assert_text("m.csv", "1,4,0.5,10,,,,0.1,2,3,1\n2,8,0.5,10,,,,0.1,2,3,1\n");
    add_row("m.csv", 0, 1);
    assert_text("m.csv", "1,4,0.5,10,,,,0.1,2,3,1\n");
}

static void rows_that_were_lost_do_not_stop_a_run(void **state) {
    (void)state;
    add_row("new.csv", 500, 6);
    assert_text("new.csv", "6,24,0.5,10,,,,0.1,2,3,1\n");
    add_row("new.csv", 500, 7);
    assert_text("new.csv", "6,24,0.5,10,,,,0.1,2,3,1\n7,28,0.5,10,,,,0.1,2,3,1\n");
    struct metrics *metrics;
    assert_error(metrics_open("none/m.csv", 0, &metrics), NEAP_ERROR_RUNTIME, "none/m.csv");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_go_on_behind_those_that_are_kept),
        cmocka_unit_test(rows_that_were_lost_do_not_stop_a_run),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
