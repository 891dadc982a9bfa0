/* Measured costs: found again by signature, kept in a file, and what becomes of a file that is not
 * as it was written. */
#include "support/files.h"

#include <glob.h>

#include "backend/cpu/cpu.h"
#include "base/file.h"
#include "compile/compile.h"
#include "support/network.h"

static struct device *device;

static int open_device(void **state) {
    device = network_device(&backend_cpu, 1);
    return enter_scratch_folder(state);
}

static int close_device(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

static struct measured *open_costs(const char *folder) {
    struct measured *m;
    assert_no_error(measured_open(device, folder, &m));
    return m;
}

static double seconds_of(const struct measured *m, const char *signature) {
    double seconds;
    return measured_find(m, signature, &seconds) ? seconds : -1;
}

/* The only file of costs in `folder`; the caller frees it. */
static char *file_of(const char *folder) {
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/costs-*.txt", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    char *path = strdup(found.gl_pathv[0]);
    globfree(&found);
    return path;
}

static void save_two(const char *folder) {
    struct measured *m = open_costs(folder);
    assert_no_error(measured_add(m, "relu:cpu | f32 2x3", 1.25e-3));
    assert_no_error(measured_add(m, "add:cpu | f32 2x3", 0));
    measured_save(m);
    measured_free(m);
}

static void FindsWhatWasAdded(void **state) {
    (void)state;
    struct measured *m = open_costs(NULL);
    assert_no_error(measured_add(m, "relu:cpu | f32 2x3", 0.5));
    assert_true(seconds_of(m, "relu:cpu | f32 2x3") == 0.5);
    assert_true(seconds_of(m, "relu:cpu | f32 2x") == -1);
    measured_save(m);
    assert_null(measured_note(m));
    measured_free(m);
}

static void AFileKeepsThem(void **state) {
    (void)state;
    save_two("kept/deep");
    struct measured *m = open_costs("kept/deep");
    assert_null(measured_note(m));
    assert_true(seconds_of(m, "relu:cpu | f32 2x3") == 1.25e-3);
    assert_true(seconds_of(m, "add:cpu | f32 2x3") == 0);
    measured_free(m);
}

/* Every file that is cut short, and one of another machine, is as if it were not there. */
static void ADamagedFileIsMeasuredAgain(void **state) {
    (void)state;
    save_two("damaged");
    char *path = file_of("damaged");
    struct file_bytes text;
    assert_no_error(file_read(path, 1 << 20, NEAP_ERROR_DATA, &text));
    for (int64_t length = 0; length < text.size_bytes; length++) {
        put_file(path, text.data, (size_t)length);
        struct measured *m = open_costs("damaged");
        assert_non_null(strstr(measured_note(m), path));
        assert_true(seconds_of(m, "relu:cpu | f32 2x3") == -1);
        measured_free(m);
    }
    memcpy(strstr(text.data, "threads"), "thaerds", 7);
    put_file(path, text.data, (size_t)text.size_bytes);
    struct measured *m = open_costs("damaged");
    assert_non_null(measured_note(m));
    measured_free(m);
    save_two("damaged");
    m = open_costs("damaged");
    assert_null(measured_note(m));
    measured_free(m);
    free(text.data);
    free(path);
}

static void ACostThatIsNoneDamagesTheFile(void **state) {
    (void)state;
    static const char *const bad[] = {"nan x", "-1 x", "inf x", "0.5", "0.5 ", "x y", ""};
    save_two("bad");
    char *path = file_of("bad");
    struct file_bytes text;
    assert_no_error(file_read(path, 1 << 20, NEAP_ERROR_DATA, &text));
    const char *first = strstr(text.data, "0.00125 "), *rest = strchr(first, '\n');
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char changed[8192];
        int n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(first - text.data), text.data,
                         bad[i], rest);
        assert_in_range(n, 1, sizeof changed - 1);
        put_file(path, changed, (size_t)n);
        struct measured *m = open_costs("bad");
        assert_non_null(measured_note(m));
        measured_free(m);
    }
    free(text.data);
    free(path);
}

static void AFolderThatCannotBeIsNoted(void **state) {
    (void)state;
    put_file("file", "x", 1);
    struct measured *m = open_costs("file/folder");
    assert_non_null(strstr(measured_note(m), "not kept"));
    assert_no_error(measured_add(m, "a", 1));
    measured_save(m);
    assert_true(seconds_of(m, "a") == 1);
    measured_free(m);
}

/* The seconds of a compiled network, measured once: a second time they are those that were kept. */
static void ANetworkIsMeasuredOnce(void **state) {
    (void)state;
    struct measured *m = open_costs(NULL);
    neap_graph *model = network_model("mlp", 1, 28);
    struct update_options update;
    struct compiled *c[2];
    struct compile_options o = network_compile_options(
        &(struct network_request){.model = model, .device = device, .batch = 2}, &update);
    o.measured = m;
    for (int i = 0; i < 2; i++)
        assert_no_error(compile(&o, &c[i]));
    assert_int_equal(c[0]->problem.n_ops, c[1]->problem.n_ops);
    for (uint32_t op = 0; op < c[0]->problem.n_ops; op++) {
        assert_true(c[0]->problem.ops[op].seconds > 0);
        assert_true(c[0]->problem.ops[op].seconds == c[1]->problem.ops[op].seconds);
    }
    compiled_free(c[0]);
    compiled_free(c[1]);
    graph_free(model);
    measured_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(FindsWhatWasAdded),
        cmocka_unit_test(AFileKeepsThem),
        cmocka_unit_test(ADamagedFileIsMeasuredAgain),
        cmocka_unit_test(ACostThatIsNoneDamagesTheFile),
        cmocka_unit_test(AFolderThatCannotBeIsNoted),
        cmocka_unit_test(ANetworkIsMeasuredOnce),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
