/* safetensors: what is written reads back bit for bit, and nothing malformed is read at all. */
#include "support/files.h"

#include <math.h>

#include "fmt/safetensors.h"

/* A file made from the format's description: length, header, data of `n` bytes 0, 1, 2, … */
static void put_safetensors(const char *path, const char *header, size_t n) {
    static unsigned char bytes[4096];
    const uint64_t length = strlen(header);
    assert_true(8 + length + n <= sizeof bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> (8 * i));
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++)
        bytes[8 + length + i] = (unsigned char)i;
    put_file(path, bytes, 8 + length + n);
}

static void refused(const char *header, size_t n, const char *message) {
    struct safetensors *file;
    put_safetensors("bad.safetensors", header, n);
    neap_error *error = safetensors_open("bad.safetensors", &file);
    assert_non_null(error);
    assert_non_null(strstr(neap_error_message(error), "bad.safetensors: "));
    assert_error(error, NEAP_ERROR_DATA, message);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void reads_tensors_of_every_type(void **state) {
    (void)state;
    put_safetensors("types",
                    "{\"__metadata__\":{\"format\":\"pt\",\"note\":\"\"},"
                    "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
                    "\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
                    "\"c\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[16,18]},"
                    "\"d\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[18,20]},"
                    "\"e\":{\"dtype\":\"I64\",\"shape\":[1,1,1,1,1,1],\"data_offsets\":[20,28]},"
                    "\"f\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[28,32]},"
                    "\"none\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[32,32]},"
                    "\"g\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[32,35]}}   ",
                    35);
    struct safetensors *file;
    assert_no_error(safetensors_open("types", &file));
    const struct {
        const char *name;
        enum dtype dtype;
        int rank;
        int64_t size_bytes;
    } wanted[] = {{"a", DTYPE_F64, 0, 8},    {"b", DTYPE_F32, 2, 8}, {"c", DTYPE_F16, 1, 2},
                  {"d", DTYPE_BF16, 1, 2},   {"e", DTYPE_I64, 6, 8}, {"f", DTYPE_I32, 1, 4},
                  {"none", DTYPE_F32, 2, 0}, {"g", DTYPE_U8, 1, 3}};
    assert_int_equal(safetensors_count(file), 8);
    int64_t begin = 0;
    for (size_t i = 0; i < 8; i++) {
        const struct safetensors_tensor *tensor = safetensors_at(file, i);
        assert_ptr_equal(safetensors_find(file, wanted[i].name), tensor);
        assert_string_equal(tensor->name, wanted[i].name);
        assert_int_equal(tensor->dtype, wanted[i].dtype);
        assert_int_equal(tensor->shape.rank, wanted[i].rank);
        assert_int_equal(tensor->size_bytes, wanted[i].size_bytes);
        for (int64_t byte = 0; byte < tensor->size_bytes; byte++)
            assert_int_equal(((const unsigned char *)tensor->data)[byte], begin + byte);
        begin += tensor->size_bytes;
    }
    assert_int_equal(safetensors_at(file, 1)->shape.dim[0], 2);
    assert_int_equal(safetensors_at(file, 1)->shape.dim[1], 1);
    assert_null(safetensors_find(file, "h"));
    assert_null(safetensors_find(file, "__metadata__"));
    assert_string_equal(safetensors_metadata(file, "format"), "pt");
    assert_null(safetensors_metadata(file, "formats"));
    safetensors_close(file);
    safetensors_close(NULL);
}

static void reads_a_file_without_tensors(void **state) {
    (void)state;
    struct safetensors *file;
    put_safetensors("nothing", "{}", 0);
    assert_no_error(safetensors_open("nothing", &file));
    assert_int_equal(safetensors_count(file), 0);
    assert_null(safetensors_metadata(file, "format"));
    safetensors_close(file);
}

static void refuses_a_file_too_short_for_its_header(void **state) {
    (void)state;
    struct safetensors *file;
    assert_error(safetensors_open("missing", &file), NEAP_ERROR_DATA,
                 "cannot read 'missing': no such file or directory");
    put_text("short", "");
    assert_error(safetensors_open("short", &file), NEAP_ERROR_DATA, "short: 0 bytes");
    put_text("short", "1234567");
    assert_error(safetensors_open("short", &file), NEAP_ERROR_DATA, "short: 7 bytes");
    put_file("short", "\12\0\0\0\0\0\0\0{}       ", 17);
    assert_error(safetensors_open("short", &file), NEAP_ERROR_DATA,
                 "17 bytes, the header alone promises 18: truncated?");
    put_file("short", "\0\341\365\5\0\0\0\0{}", 10); /* 100,000,000 */
    assert_error(safetensors_open("short", &file), NEAP_ERROR_DATA,
                 "10 bytes, the header alone promises 100,000,008: truncated?");
    put_file("short", "\1\341\365\5\0\0\0\0{}", 10);
    assert_error(safetensors_open("short", &file), NEAP_ERROR_DATA,
                 "a header of 100000001 bytes (at most 100,000,000)");
    put_file("short", "\377\377\377\377\377\377\377\377{}", 10);
    assert_error(safetensors_open("short", &file), NEAP_ERROR_DATA,
                 "a header of 18446744073709551615 bytes");
}

static void refuses_a_header_that_is_not_an_object(void **state) {
    (void)state;
    refused("", 0, "does not start with '{'");
    refused("[]", 0, "does not start with '{'");
    refused(" {}", 0, "does not start with '{'");
    refused("{", 0, "header, byte 1: ");
    refused("{} {}", 0, "header, byte 4: ");
    refused("{\"a\\u0000b\":{}}", 0, "header, byte ");
    refused("{\"\xff\":{}}", 0, "header, byte ");
}

static void refuses_duplicate_keys(void **state) {
    (void)state;
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
            "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
            2, "duplicate object key");
    refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
            "duplicate object key");
}

static void refuses_metadata_that_is_not_of_strings(void **state) {
    (void)state;
    refused("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
    refused("{\"__metadata__\":{\"epoch\":3}}", 0, "__metadata__: 'epoch' is not a string");
}

static void refuses_entries_that_are_not_tensors(void **state) {
    (void)state;
    refused("{\"a\":1}", 0, "tensor 'a': not an object");
    refused("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "tensor 'a': no dtype");
    refused("{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "no dtype");
    refused("{\"a\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8,
            "tensor 'a': dtype 'C64' is not supported");
    refused("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "tensor 'a': no shape");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "tensor 'a': no data_offsets");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,1]}}", 1,
            "no data_offsets");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1.0]}}", 1,
            "no data_offsets");
}

static void refuses_shapes_that_are_impossible(void **state) {
    (void)state;
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1,
            "tensor 'a': dimension 0 is not a count");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1.5],\"data_offsets\":[0,1]}}", 1,
            "dimension 1 is not a count");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
            "7 dimensions (at most 6)");
    refused("{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}",
            8, "more bytes than can be counted");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,1]}}", 1,
            "header, byte ");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
            "tensor 'a': its shape takes 8 bytes, its data_offsets span 4");
}

static void refuses_places_that_are_not_in_the_file(void **state) {
    (void)state;
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7,
            "tensor 'a': bytes 0 to 8 of 7: truncated?");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 1, "not a range");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 1, "not a range");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":"
            "[9223372036854775807,9223372036854775807]}}",
            1, "truncated?");
}

static void refuses_overlaps_and_holes(void **state) {
    (void)state;
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
            3, "tensor 'b': shares bytes with 'a'");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
            2, "tensor 'b': shares bytes with 'a'");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}",
            3, "tensor 'b': shares bytes with 'a'");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
            "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]}}",
            4, "tensor 'b': 2 bytes before it belong to no tensor");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2,
            "tensor 'a': 1 bytes before it belong to no tensor");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 5,
            "the last 4 bytes belong to no tensor");
}

/* Every prefix of a good file, and every byte of it changed: refused or read, never a crash. */
static void survives_any_damage(void **state) {
    (void)state;
    put_safetensors("good",
                    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
                    "\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[8,9]}}",
                    9);
    unsigned char good[512], bad[512];
    FILE *stream = fopen("good", "rb");
    assert_non_null(stream);
    const size_t n = fread(good, 1, sizeof good, stream);
    fclose(stream);
    for (size_t i = 0; i < 9 * n; i++) {
        memcpy(bad, good, n);
        if (i >= n)
            bad[i % n] ^= (unsigned char)(1 << (i / n - 1));
        put_file("bad", bad, i < n ? i : n);
        struct safetensors *file = NULL;
        neap_error *error = safetensors_open("bad", &file);
        if (error)
            assert_error(error, NEAP_ERROR_DATA, "bad: ");
        else
            assert_true(i >= n && safetensors_count(file) <= 2);
        safetensors_close(error ? NULL : file);
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Element i of a large tensor; asked for in pieces. */
static float element(int64_t i) {
    return i % 5 == 0 ? NAN : i % 5 == 1 ? -0.0f : (float)i / 3;
}

struct asked {
    int64_t next, fail_at;
};

static neap_error *fill(void *user, int64_t first, int64_t count, void *out) {
    struct asked *asked = user;
    assert_int_equal(first, asked->next);
    assert_in_range(count * (int64_t)sizeof(float), 1, 64 * 1024);
    if (asked->fail_at >= first && asked->fail_at < first + count)
        return error_make(NEAP_ERROR_RUNTIME, "element %d is not to be had", (int)asked->fail_at);
    for (int64_t i = 0; i < count; i++)
        ((float *)out)[i] = element(first + i);
    asked->next += count;
    return NULL;
}

static struct safetensors_writer *make_writer(void) {
    struct safetensors_writer *writer;
    assert_no_error(safetensors_writer_create(&writer));
    return writer;
}

static void what_is_written_is_the_format_to_the_byte(void **state) {
    (void)state;
    const int32_t values[] = {1, -2};
    struct safetensors_writer *writer = make_writer();
    assert_no_error(safetensors_writer_add(writer, &(struct safetensors_entry){
                                                       .name = "a\"b",
                                                       .dtype = DTYPE_I32,
                                                       .shape = {2, {1, 2}},
                                                       .data = values,
                                                   }));
    assert_no_error(safetensors_writer_save(writer, "written"));
    static const char wanted[] =
        "\140\0\0\0\0\0\0\0"
        "{\"__metadata__\":{\"format\":\"pt\"},\"a\\\"b\":{\"dtype\":\"I32\",\"shape\":[1,2],"
        "\"data_offsets\":[0,8]}}      "
        "\1\0\0\0\376\377\377\377";
    assert_file_holds("written", wanted, sizeof wanted - 1);
    safetensors_writer_free(writer);
}

static void what_is_written_reads_back_bit_for_bit(void **state) {
    (void)state;
    enum { ELEMENTS = 3 * 7 * 1999 };
    static const int64_t counter = 1234567890123;
    static const uint32_t odd_bits[] = {0x7fc00001, 0xffffffff, 0x80000000, 1};
    static const uint16_t half_bits[] = {0x7e01, 0x8000, 0x3c00};
    struct asked asked = {0, -1};
    const struct safetensors_entry entries[] = {
        {.name = "bn.num_batches_tracked", .dtype = DTYPE_I64, .data = &counter},
        {.name = "bits", .dtype = DTYPE_F32, .shape = {2, {2, 2}}, .data = odd_bits},
        {.name = "half", .dtype = DTYPE_BF16, .shape = {1, {3}}, .data = half_bits},
        {.name = "nothing", .dtype = DTYPE_F32, .shape = {1, {0}}},
        {.name = "large",
         .dtype = DTYPE_F32,
         .shape = {3, {3, 7, 1999}},
         .fill = fill,
         .user = &asked},
    };
    struct safetensors_writer *writer = make_writer();
    for (size_t i = 0; i < 5; i++)
        assert_no_error(safetensors_writer_add(writer, &entries[i]));
    assert_no_error(safetensors_writer_save(writer, "round"));
    safetensors_writer_free(writer);
    assert_int_equal(asked.next, ELEMENTS);

    struct safetensors *file;
    assert_no_error(safetensors_open("round", &file));
    assert_int_equal(safetensors_count(file), 5);
    assert_string_equal(safetensors_metadata(file, "format"), "pt");
    for (size_t i = 0; i < 5; i++) {
        const struct safetensors_tensor *tensor = safetensors_at(file, i);
        assert_string_equal(tensor->name, entries[i].name);
        assert_int_equal(tensor->dtype, entries[i].dtype);
        assert_int_equal(tensor->shape.rank, entries[i].shape.rank);
        for (int d = 0; d < tensor->shape.rank; d++)
            assert_int_equal(tensor->shape.dim[d], entries[i].shape.dim[d]);
        if (entries[i].data)
            assert_memory_equal(tensor->data, entries[i].data, (size_t)tensor->size_bytes);
    }
    assert_int_equal((uintptr_t)safetensors_at(file, 0)->data % 8, 0);
    const struct safetensors_tensor *large = safetensors_at(file, 4);
    assert_int_equal(large->size_bytes, 4 * ELEMENTS);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        const float wanted = element(i);
        assert_memory_equal((const char *)large->data + 4 * i, &wanted, 4);
    }
    safetensors_close(file);
}

static void the_header_is_padded_to_eight_bytes_whatever_the_names(void **state) {
    (void)state;
    for (int length = 1; length <= 9; length++) {
        struct safetensors_writer *writer = make_writer();
        const unsigned char byte = 200;
        const struct safetensors_entry entry = {
            .name = "wwwwwwwww" + 9 - length, .dtype = DTYPE_U8, .shape = {1, {1}}, .data = &byte};
        assert_no_error(safetensors_writer_add(writer, &entry));
        assert_no_error(safetensors_writer_save(writer, "padded"));
        safetensors_writer_free(writer);
        struct safetensors *file;
        assert_no_error(safetensors_open("padded", &file));
        assert_int_equal((uintptr_t)safetensors_at(file, 0)->data % 8, 0);
        assert_int_equal(*(const unsigned char *)safetensors_at(file, 0)->data, 200);
        safetensors_close(file);
    }
}

static void a_failure_while_writing_leaves_nothing(void **state) {
    (void)state;
    put_folder("partly");
    struct asked asked = {0, 50000};
    struct safetensors_writer *writer = make_writer();
    const struct safetensors_entry entry = {
        .name = "x", .dtype = DTYPE_F32, .shape = {1, {60000}}, .fill = fill, .user = &asked};
    assert_no_error(safetensors_writer_add(writer, &entry));
    assert_error(safetensors_writer_save(writer, "partly/x.safetensors"), NEAP_ERROR_RUNTIME,
                 "element 50000 is not to be had");
    assert_int_equal(rmdir("partly"), 0); /* only an empty folder goes */
    asked = (struct asked){0, -1};
    assert_error(safetensors_writer_save(writer, "/dev/full"), NEAP_ERROR_RUNTIME,
                 "cannot write '/dev/full': no space left on device");
    safetensors_writer_free(writer);
    safetensors_writer_free(NULL);
}

static void refuses_to_write_what_cannot_be_read(void **state) {
    (void)state;
    struct safetensors_writer *writer = make_writer();
    const float x = 0;
    struct safetensors_entry entry = {.name = "x", .dtype = DTYPE_F32, .data = &x};
    assert_no_error(safetensors_writer_add(writer, &entry));
    assert_error(safetensors_writer_add(writer, &entry), NEAP_ERROR_RUNTIME,
                 "two tensors of the name 'x'");
    entry.name = "__metadata__";
    assert_error(safetensors_writer_add(writer, &entry), NEAP_ERROR_RUNTIME, "'__metadata__'");
    entry.name = "bits";
    entry.dtype = DTYPE_BIT;
    assert_error(safetensors_writer_add(writer, &entry), NEAP_ERROR_RUNTIME, "no such type");
    entry = (struct safetensors_entry){
        .name = "huge", .dtype = DTYPE_F32, .shape = {2, {INT64_MAX / 2, 2}}, .data = &x};
    assert_error(safetensors_writer_add(writer, &entry), NEAP_ERROR_RUNTIME, "too large");
    entry = (struct safetensors_entry){.name = "\xff", .dtype = DTYPE_F32, .data = &x};
    assert_error(safetensors_writer_add(writer, &entry), NEAP_ERROR_RUNTIME,
                 "cannot be described in JSON");
    safetensors_writer_free(writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors_of_every_type),
        cmocka_unit_test(reads_a_file_without_tensors),
        cmocka_unit_test(refuses_a_file_too_short_for_its_header),
        cmocka_unit_test(refuses_a_header_that_is_not_an_object),
        cmocka_unit_test(refuses_duplicate_keys),
        cmocka_unit_test(refuses_metadata_that_is_not_of_strings),
        cmocka_unit_test(refuses_entries_that_are_not_tensors),
        cmocka_unit_test(refuses_shapes_that_are_impossible),
        cmocka_unit_test(refuses_places_that_are_not_in_the_file),
        cmocka_unit_test(refuses_overlaps_and_holes),
        cmocka_unit_test(survives_any_damage),
        cmocka_unit_test(what_is_written_is_the_format_to_the_byte),
        cmocka_unit_test(what_is_written_reads_back_bit_for_bit),
        cmocka_unit_test(the_header_is_padded_to_eight_bytes_whatever_the_names),
        cmocka_unit_test(a_failure_while_writing_leaves_nothing),
        cmocka_unit_test(refuses_to_write_what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
