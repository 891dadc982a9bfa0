/* Folders: names in order, removal of trees, locks. */
#include "support/files.h"

#include "base/file.h"
#include "base/folder.h"

static void names_come_in_order(void **state) {
    (void)state;
    struct pool pool = {0};
    struct folder_names names;
    put_folder("list");
    assert_no_error(folder_read("list", &pool, &names));
    assert_int_equal(names.n, 0);
    const char *const put[] = {"b", ".hidden", "a", "c"};
    for (int i = 0; i < 4; i++) {
        char path[32];
        snprintf(path, sizeof path, "list/%s", put[i]);
        put_text(path, "");
    }
    assert_no_error(folder_read("list", &pool, &names));
    assert_int_equal(names.n, 4);
    const char *const want[] = {".hidden", "a", "b", "c"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(names.at[i], want[i]);
    assert_error(folder_read("none", &pool, &names), NEAP_ERROR_RUNTIME, "'none'");
    pool_free(&pool);
}

static void a_tree_is_removed_and_links_are_not_followed(void **state) {
    (void)state;
    put_folder("tree");
    put_folder("tree/deep");
    put_text("tree/deep/file", "text");
    put_text("kept", "text");
    assert_int_equal(symlink("../kept", "tree/link"), 0);
    assert_int_equal(symlink("nowhere", "tree/dangling"), 0);
    assert_no_error(folder_remove("tree"));
    assert_false(file_exists("tree"));
    assert_true(file_exists("kept"));
    assert_no_error(folder_remove("tree"));
    assert_no_error(folder_remove("kept"));
    assert_false(file_exists("kept"));
}

static void the_same_folder_by_other_names(void **state) {
    (void)state;
    put_folder("one");
    put_folder("two");
    assert_int_equal(symlink("one", "link"), 0);
    assert_true(folder_same("one", "./one/"));
    assert_true(folder_same("one", "link"));
    assert_false(folder_same("one", "two"));
    assert_false(folder_same("one", "none"));
    assert_no_error(folder_rename("two", "three"));
    assert_error(folder_rename("two", "three"), NEAP_ERROR_RUNTIME, "'two'");
    folder_sync("none"); /* nothing happens */
}

static void one_has_the_lock(void **state) {
    (void)state;
    int first, second;
    put_folder("locked");
    assert_no_error(folder_lock("locked", &first));
    assert_true(first >= 0);
    assert_error(folder_lock("locked", &second), NEAP_ERROR_RUNTIME, "another process");
    close(first);
    assert_no_error(folder_lock("locked", &second));
    close(second);
    assert_error(folder_lock("none", &first), NEAP_ERROR_RUNTIME, "'none'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_in_order),
        cmocka_unit_test(a_tree_is_removed_and_links_are_not_followed),
        cmocka_unit_test(the_same_folder_by_other_names),
        cmocka_unit_test(one_has_the_lock),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
