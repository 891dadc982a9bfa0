/* Files are read whole, and written whole or not at all. */
#include "support/files.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/digits.h"
#include "base/file.h"

static int entries_in(const char *folder) {
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        n += entry->d_name[0] != '.';
    closedir(directory);
    return n;
}

/* Runs `check` as a user without rights, in a child: root may do anything. */
static bool holds_for_nobody(bool (*check)(void)) {
    pid_t child = fork();
    if (child == 0)
        _exit((geteuid() != 0 || seteuid(65534) == 0) && check() ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_error(neap_error *error, enum neap_code code, const char *message) {
    bool same =
        error && neap_error_code(error) == code && strcmp(neap_error_message(error), message) == 0;
    if (!same)
        print_error("%s\n", neap_error_message(error));
    neap_error_free(error);
    return same;
}

/* ---- numbers in messages ------------------------------------------------------------------- */

static void digits_are_grouped_by_three(void **state) {
    (void)state;
    assert_string_equal(digits_of(0).text, "0");
    assert_string_equal(digits_of(999).text, "999");
    assert_string_equal(digits_of(1000).text, "1,000");
    assert_string_equal(digits_of(47040016).text, "47,040,016");
    assert_string_equal(digits_of(-123456).text, "-123,456");
    assert_string_equal(digits_of(INT64_MIN).text, "-9,223,372,036,854,775,808");
}

/* ---- reading ------------------------------------------------------------------------------- */

static void reads_all_bytes_and_ends_them_with_nul(void **state) {
    (void)state;
    put_file("bytes", "a\0b\xff", 4);
    struct file_bytes bytes;
    assert_no_error(file_read("bytes", 4, NEAP_ERROR_DATA, &bytes));
    assert_int_equal(bytes.size_bytes, 4);
    assert_memory_equal(bytes.data, "a\0b\xff\0", 5);
    free(bytes.data);
}

static void reads_an_empty_file(void **state) {
    (void)state;
    put_text("empty", "");
    struct file_bytes bytes;
    assert_no_error(file_read("empty", 100, NEAP_ERROR_DATA, &bytes));
    assert_int_equal(bytes.size_bytes, 0);
    assert_string_equal(bytes.data, "");
    free(bytes.data);
    struct file_map map;
    assert_no_error(file_map_open("empty", NEAP_ERROR_DATA, &map));
    assert_int_equal(map.size_bytes, 0);
    file_map_close(&map);
}

static void reads_a_pipe_whose_size_is_not_known(void **state) {
    (void)state;
    enum { BYTES = 30000 }; /* less than a pipe holds, more than a first guess */
    static char sent[BYTES];
    memset(sent, 'x', sizeof sent);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], sent, sizeof sent), BYTES);
    close(ends[1]);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    struct file_bytes bytes;
    assert_no_error(file_read(path, 1 << 20, NEAP_ERROR_DATA, &bytes));
    assert_int_equal(bytes.size_bytes, BYTES);
    assert_memory_equal(bytes.data, sent, BYTES);
    free(bytes.data);
    close(ends[0]);
}

static void refuses_to_read_what_is_missing_too_long_or_a_directory(void **state) {
    (void)state;
    struct file_bytes bytes;
    struct file_map map;
    put_text("five", "12345");
    assert_error(file_read("none", 9, NEAP_ERROR_MODEL, &bytes), NEAP_ERROR_MODEL,
                 "cannot read 'none': no such file or directory");
    assert_error(file_read("five", 4, NEAP_ERROR_DATA, &bytes), NEAP_ERROR_DATA,
                 "'five' has more than 4 bytes");
    assert_error(file_read(".", 9, NEAP_ERROR_DATA, &bytes), NEAP_ERROR_DATA, "is a directory");
    assert_error(file_map_open(".", NEAP_ERROR_DATA, &map), NEAP_ERROR_DATA, "is a directory");
    assert_error(file_map_open("none", NEAP_ERROR_DATA, &map), NEAP_ERROR_DATA,
                 "no such file or directory");
    assert_error(file_map_open("/dev/null", NEAP_ERROR_DATA, &map), NEAP_ERROR_DATA,
                 "not a regular file");
}

static void maps_the_bytes_of_a_file(void **state) {
    (void)state;
    put_text("mapped", "12345");
    struct file_map map;
    assert_no_error(file_map_open("mapped", NEAP_ERROR_DATA, &map));
    assert_int_equal(map.size_bytes, 5);
    assert_memory_equal(map.data, "12345", 5);
    file_map_close(&map);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void a_file_appears_when_it_is_committed(void **state) {
    (void)state;
    put_folder("w1");
    struct file_writer *writer;
    assert_no_error(file_writer_open("w1/new", &writer));
    fprintf(file_writer_stream(writer), "text");
    fflush(file_writer_stream(writer));
    assert_false(file_exists("w1/new"));
    assert_no_error(file_writer_commit(writer));
    assert_file_holds("w1/new", "text", 4);
    assert_int_equal(entries_in("w1"), 1);
}

static void a_new_file_has_the_rights_of_the_umask(void **state) {
    (void)state;
    mode_t before = umask(027);
    struct file_writer *writer;
    assert_no_error(file_writer_open("rights", &writer));
    assert_no_error(file_writer_commit(writer));
    umask(before);
    struct stat info;
    assert_int_equal(stat("rights", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void an_aborted_file_leaves_the_old_one_and_nothing_else(void **state) {
    (void)state;
    put_folder("w2");
    put_text("w2/file", "old");
    struct file_writer *writer;
    assert_no_error(file_writer_open("w2/file", &writer));
    fprintf(file_writer_stream(writer), "new");
    file_writer_abort(writer);
    file_writer_abort(NULL);
    assert_file_holds("w2/file", "old", 3);
    assert_int_equal(entries_in("w2"), 1);
}

static void two_writers_of_one_name_do_not_mix(void **state) {
    (void)state;
    struct file_writer *a, *b;
    assert_no_error(file_writer_open("both", &a));
    assert_no_error(file_writer_open("both", &b));
    fprintf(file_writer_stream(a), "aaaa");
    fprintf(file_writer_stream(b), "bb");
    assert_no_error(file_writer_commit(b));
    assert_file_holds("both", "bb", 2);
    assert_no_error(file_writer_commit(a));
    assert_file_holds("both", "aaaa", 4);
}

static void a_write_that_fails_keeps_the_old_file_and_says_why(void **state) {
    (void)state;
    put_folder("w3");
    put_text("w3/file", "old");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {.rlim_cur = 100000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    struct file_writer *writer;
    assert_no_error(file_writer_open("w3/file", &writer));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 100000; i++)
        fprintf(file_writer_stream(writer), "more and more\n");
    neap_error *error = file_writer_commit(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_error(error, NEAP_ERROR_RUNTIME, "cannot write 'w3/file': file too large");
    assert_file_holds("w3/file", "old", 3);
    assert_int_equal(entries_in("w3"), 1);
}

static void a_full_disk_is_an_error_of_commit(void **state) {
    (void)state;
    struct file_writer *writer;
    assert_no_error(file_writer_open("/dev/full", &writer));
    fprintf(file_writer_stream(writer), "a few bytes that stdio keeps until the end");
    assert_error(file_writer_commit(writer), NEAP_ERROR_RUNTIME,
                 "cannot write '/dev/full': no space left on device");
}

static void a_device_is_written_in_place(void **state) {
    (void)state;
    struct file_writer *writer;
    assert_no_error(file_writer_open("/dev/null", &writer));
    fprintf(file_writer_stream(writer), "text");
    assert_no_error(file_writer_commit(writer));
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void an_aborted_write_in_place_sends_nothing(void **state) {
    (void)state;
    int ends[2];
    char path[64], got;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    struct file_writer *writer;
    assert_no_error(file_writer_open(path, &writer));
    fprintf(file_writer_stream(writer), "half of it");
    file_writer_abort(writer);
    close(ends[1]);
    assert_int_equal(read(ends[0], &got, 1), 0);
    close(ends[0]);
}

static void a_link_stays_a_link(void **state) {
    (void)state;
    put_text("linked-to", "old");
    assert_int_equal(symlink("linked-to", "link"), 0);
    struct file_writer *writer;
    assert_no_error(file_writer_open("link", &writer));
    fprintf(file_writer_stream(writer), "new");
    assert_no_error(file_writer_commit(writer));
    assert_file_holds("linked-to", "new", 3);
    struct stat info;
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void refuses_to_write_where_no_file_can_be(void **state) {
    (void)state;
    put_text("plain", "");
    struct file_writer *writer;
    assert_error(file_writer_open("nowhere/file", &writer), NEAP_ERROR_RUNTIME,
                 "cannot write 'nowhere/file': no such file or directory");
    assert_error(file_writer_open(".", &writer), NEAP_ERROR_RUNTIME,
                 "cannot write '.': is a directory");
    assert_error(file_writer_open("plain/file", &writer), NEAP_ERROR_RUNTIME, "not a directory");
}

/* ---- directories ----------------------------------------------------------------------------- */

static void makes_a_directory_with_its_parents(void **state) {
    (void)state;
    assert_no_error(file_make_directory("d/e//f/"));
    assert_true(file_is_directory("d/e/f"));
    assert_no_error(file_make_directory("d/e/f"));
    assert_no_error(file_make_directory("."));
    assert_no_error(file_make_directory("/"));
    assert_no_error(file_check_writable("d/e/f"));
    assert_int_equal(entries_in("d/e/f"), 0);
}

static void refuses_a_directory_where_a_file_stands(void **state) {
    (void)state;
    put_text("stands", "");
    assert_error(file_make_directory("stands"), NEAP_ERROR_RUNTIME,
                 "cannot create directory 'stands': file exists");
    assert_error(file_make_directory("stands/in"), NEAP_ERROR_RUNTIME,
                 "cannot create directory 'stands/in': not a directory");
    assert_error(file_make_directory(""), NEAP_ERROR_RUNTIME, "cannot create directory ''");
    assert_error(file_check_writable("nowhere"), NEAP_ERROR_RUNTIME,
                 "cannot write in directory 'nowhere': no such file or directory");
}

static bool nobody_is_told_why(void) {
    struct file_writer *writer;
    struct file_bytes bytes;
    return is_error(file_make_directory("closed/x"), NEAP_ERROR_RUNTIME,
                    "cannot create directory 'closed/x': permission denied") &&
           is_error(file_check_writable("closed"), NEAP_ERROR_RUNTIME,
                    "cannot write in directory 'closed': permission denied") &&
           is_error(file_writer_open("closed/file", &writer), NEAP_ERROR_RUNTIME,
                    "cannot write 'closed/file': permission denied") &&
           is_error(file_read("secret", 9, NEAP_ERROR_DATA, &bytes), NEAP_ERROR_DATA,
                    "cannot read 'secret': permission denied");
}

static void missing_rights_are_named(void **state) {
    (void)state;
    put_folder("closed");
    put_text("secret", "");
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(chmod("closed", 0555), 0);
    assert_int_equal(chmod("secret", 0), 0);
    assert_true(holds_for_nobody(nobody_is_told_why));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_grouped_by_three),
        cmocka_unit_test(reads_all_bytes_and_ends_them_with_nul),
        cmocka_unit_test(reads_an_empty_file),
        cmocka_unit_test(reads_a_pipe_whose_size_is_not_known),
        cmocka_unit_test(refuses_to_read_what_is_missing_too_long_or_a_directory),
        cmocka_unit_test(maps_the_bytes_of_a_file),
        cmocka_unit_test(a_file_appears_when_it_is_committed),
        cmocka_unit_test(a_new_file_has_the_rights_of_the_umask),
        cmocka_unit_test(an_aborted_file_leaves_the_old_one_and_nothing_else),
        cmocka_unit_test(two_writers_of_one_name_do_not_mix),
        cmocka_unit_test(a_write_that_fails_keeps_the_old_file_and_says_why),
        cmocka_unit_test(a_full_disk_is_an_error_of_commit),
        cmocka_unit_test(a_device_is_written_in_place),
        cmocka_unit_test(an_aborted_write_in_place_sends_nothing),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(refuses_to_write_where_no_file_can_be),
        cmocka_unit_test(makes_a_directory_with_its_parents),
        cmocka_unit_test(refuses_a_directory_where_a_file_stands),
        cmocka_unit_test(missing_rights_are_named),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
