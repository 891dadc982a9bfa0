/* What files are told to be, and the environment's lines. */
#include "support/files.h"

#include <zlib.h>

#include "fmt/safetensors.h"

static char *shown; /* by the last call that succeeded */

static neap_error *inspect(const char *path) {
    size_t n;
    free(shown);
    shown = NULL;
    FILE *file = open_memstream(&shown, &n);
    assert_non_null(file);
    neap_error *error = neap_inspect_file(path, file);
    fclose(file);
    return error;
}

static void shows(const char *text) {
    if (!strstr(shown, text))
        print_error("'%s' is not in '%s'\n", text, shown);
    assert_non_null(strstr(shown, text));
}

static int forget(void **state) {
    (void)state;
    free(shown);
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void safetensors_are_listed_with_their_totals(void **state) {
    (void)state;
    static const float values[6];
    const struct safetensors_entry entries[] = {
        {.name = "fc.weight", .dtype = DTYPE_F32, .shape = {2, {3, 2}}, .data = values},
        {.name = "fc.bias", .dtype = DTYPE_BF16, .shape = {1, {3}}, .data = values}};
    struct safetensors_writer *writer;
    assert_no_error(safetensors_writer_create(&writer));
    assert_no_error(safetensors_writer_add(writer, &entries[0]));
    assert_no_error(safetensors_writer_add(writer, &entries[1]));
    assert_no_error(safetensors_writer_save(writer, "weights"));
    safetensors_writer_free(writer);
    assert_no_error(inspect("weights"));
    shows("weights: safetensors\n");
    shows("fc.weight  f32    3x2 ");
    shows("fc.bias    bf16   3 ");
    shows(" 2 tensors, 9 elements, 30 bytes\n");
}

static void a_graph_is_counted(void **state) {
    (void)state;
    neap_graph *g;
    assert_no_error(neap_graph_model("lenet5", NULL, &g));
    FILE *file = fopen("net.neap", "w");
    assert_non_null(file);
    assert_no_error(neap_graph_write(g, file));
    fclose(file);
    neap_graph_free(g);
    assert_no_error(inspect("net.neap"));
    shows("net.neap: graph 'lenet5'\n");
    shows("  input images: f32 1x1x28x28\n");
    shows("  parameters: 61,706\n");
}

static const unsigned char idx[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void idx_shows_its_shape_also_when_gzipped(void **state) {
    (void)state;
    put_file("labels", idx, sizeof idx);
    assert_no_error(inspect("labels"));
    assert_string_equal(shown, "labels: IDX\n  dtype: u8\n  shape: 2x3\n  bytes: 18\n");
    gzFile gz = gzopen("labels.gz", "wb");
    assert_int_equal(gzwrite(gz, idx, sizeof idx), sizeof idx);
    assert_int_equal(gzclose(gz), Z_OK);
    assert_no_error(inspect("labels.gz"));
    shows("labels.gz: IDX, gzipped\n  dtype: u8\n  shape: 2x3\n  bytes: 18\n");
}

static void idx_of_another_size_than_it_promises_is_refused(void **state) {
    (void)state;
    put_file("short", idx, sizeof idx - 1);
    assert_error(inspect("short"), NEAP_ERROR_DATA,
                 "short: 17 bytes, header promises 18 (2x3): truncated?");
    static const unsigned char huge[] = {0,   0,   14,  3,   255, 255, 255, 255,
                                         255, 255, 255, 255, 255, 255, 255, 255};
    put_file("huge", huge, sizeof huge);
    assert_error(inspect("huge"), NEAP_ERROR_DATA, "more than any file holds");
}

static void a_torn_gzip_file_is_refused(void **state) {
    (void)state;
    gzFile gz = gzopen("whole.gz", "wb");
    assert_int_equal(gzwrite(gz, idx, sizeof idx), sizeof idx);
    assert_int_equal(gzclose(gz), Z_OK);
    unsigned char bytes[64];
    FILE *file = fopen("whole.gz", "rb");
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(n, 20, 63);
    put_file("torn.gz", bytes, n - 6);
    assert_error(inspect("torn.gz"), NEAP_ERROR_DATA, "truncated?");
    bytes[n - 6] ^= 1; /* the checksum */
    put_file("damaged.gz", bytes, n);
    assert_error(inspect("damaged.gz"), NEAP_ERROR_DATA, "damaged");
}

static void json_is_shown_as_lines(void **state) {
    (void)state;
    put_text("plan.json", "{\"format\": \"neap-plan/1\", \"batch\": 8, \"time\": 0.5, \"on\": true,"
                          " \"none\": null, \"steps\": [1, 2], \"more\": {}}");
    assert_no_error(inspect("plan.json"));
    assert_string_equal(shown, "plan.json: JSON\n  format: neap-plan/1\n  batch: 8\n"
                               "  time: 0.5\n  on: true\n  none: null\n  steps: 2 entries\n"
                               "  more: 0 entries\n");
    put_text("bad.json", "{\"format\":\n  oops}");
    assert_error(inspect("bad.json"), NEAP_ERROR_DATA, "bad.json:2:");
}

static void what_is_unknown_is_told_by_its_first_bytes(void **state) {
    (void)state;
    put_file("image", "\x89PNG\r\n\x1a\n12345678", 16);
    assert_error(inspect("image"), NEAP_ERROR_DATA, "(starts 89 50 4e 47 0d 0a 1a 0a)");
    put_text("note", "hi");
    assert_error(inspect("note"), NEAP_ERROR_DATA, "(starts 68 69)");
    put_text("empty", "");
    assert_error(inspect("empty"), NEAP_ERROR_DATA, "empty: empty");
    assert_error(inspect("missing"), NEAP_ERROR_DATA,
                 "cannot read 'missing': no such file or directory");
}

/* ---- folders --------------------------------------------------------------------------------- */

static void a_run_shows_its_arguments_and_its_last_row(void **state) {
    (void)state;
    put_folder("run");
    put_text("run/args.json", "{\"model\": \"mlp\", \"batch-size\": 64}");
    put_text("run/metrics.csv", "epoch,update,eval_loss,lr\n0,10,0.5,0.1\n1,20,,0.05\n");
    assert_no_error(inspect("run"));
    assert_string_equal(shown, "run: a run\nargs.json:\n  model: mlp\n  batch-size: 64\n"
                               "metrics, last row:\n  epoch: 1\n  update: 20\n  lr: 0.05\n");
    put_text("run/metrics.csv", "epoch,update\n");
    assert_no_error(inspect("run"));
    shows("metrics: no row yet\n");
}

static void data_shows_what_each_split_holds(void **state) {
    (void)state;
    static unsigned char record[3 * 3073];
    put_folder("cifar");
    put_file("cifar/data_batch_1.bin", record, 3 * 3073);
    put_file("cifar/test_batch.bin", record, 3072);
    assert_no_error(inspect("cifar"));
    shows("cifar: data, format cifar10\n  training: 3 images of 3x32x32, 10 classes\n");
    shows("  validation: cifar/test_batch.bin: 3,072 bytes");
}

static void a_folder_of_something_else_is_refused(void **state) {
    (void)state;
    put_folder("other");
    assert_error(inspect("other"), NEAP_ERROR_DATA,
                 "other: a folder that holds neither a run nor data");
}

/* ---- the environment ------------------------------------------------------------------------- */

static void the_environment_is_lines_of_keys_and_values(void **state) {
    (void)state;
    static const char *const keys[] = {
        "version: neap ", "compiler: gcc ", "\nthreads: ",    "\nlibrary: oneDNN",
        "\nmemory: ",     "\ndevice cpu: ", "\ndevice null: "};
    size_t n;
    free(shown);
    FILE *file = open_memstream(&shown, &n);
    assert_non_null(file);
    assert_no_error(neap_env_print(file));
    fclose(file);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        shows(keys[i]);
    for (char *rest = shown, *line; (line = strsep(&rest, "\n")) && *line;)
        assert_non_null(strstr(line, ": "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors_are_listed_with_their_totals),
        cmocka_unit_test(a_graph_is_counted),
        cmocka_unit_test(idx_shows_its_shape_also_when_gzipped),
        cmocka_unit_test(idx_of_another_size_than_it_promises_is_refused),
        cmocka_unit_test(a_torn_gzip_file_is_refused),
        cmocka_unit_test(json_is_shown_as_lines),
        cmocka_unit_test(what_is_unknown_is_told_by_its_first_bytes),
        cmocka_unit_test(a_run_shows_its_arguments_and_its_last_row),
        cmocka_unit_test(data_shows_what_each_split_holds),
        cmocka_unit_test(a_folder_of_something_else_is_refused),
        cmocka_unit_test(the_environment_is_lines_of_keys_and_values),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, forget);
}
