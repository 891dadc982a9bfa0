/* Structs as JSON: the same bits come back, and what was changed is known. */
#include "support/files.h"

#include <float.h>
#include <math.h>

#include "fmt/fields_json.h"

struct sample {
    int64_t integer;
    uint64_t seed;
    int count;
    uint32_t sum;
    double real, other;
    bool flag;
    const char *text, *none;
};

static const struct json_field fields[] = {
    JSON_FIELD("integer", sample, integer), JSON_FIELD("seed", sample, seed),
    JSON_FIELD("count", sample, count),     JSON_FIELD("sum", sample, sum),
    JSON_FIELD("real", sample, real),       JSON_FIELD("other", sample, other),
    JSON_FIELD("flag", sample, flag),       JSON_FIELD("text", sample, text),
    JSON_FIELD("none", sample, none),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static struct json_group group_of(struct sample *sample) {
    return (struct json_group){"sample", fields, N_FIELDS, sample};
}

static void save(const char *path, struct sample *sample) {
    struct json_group group = group_of(sample);
    assert_no_error(fields_json_save(path, "test/1", &group, 1));
}

static neap_error *load(const char *path, struct pool *pool, struct sample *sample) {
    struct json_group group = group_of(sample);
    return fields_json_load(path, "test/1", &group, 1, pool);
}

static void the_same_bits_come_back(void **state) {
    (void)state;
    static const double reals[] = {0.1, 1.0 / 3, 1e300, DBL_MIN, 5e-324, -0.0, 0, 123456789.25};
    struct pool pool = {0};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        struct sample in = {.integer = INT64_MIN,
                            .seed = UINT64_MAX - 5,
                            .count = -7,
                            .sum = UINT32_MAX,
                            .real = reals[i],
                            .other = NAN,
                            .flag = true,
                            .text = "a \"word\" \xc3\xa4 \n"};
        struct sample out = {.none = "something"};
        save("sample.json", &in);
        assert_no_error(load("sample.json", &pool, &out));
        assert_int_equal(out.integer, in.integer);
        assert_int_equal(out.seed, in.seed);
        assert_int_equal(out.count, in.count);
        assert_int_equal(out.sum, in.sum);
        assert_memory_equal(&out.real, &in.real, sizeof in.real);
        assert_true(isnan(out.other));
        assert_true(out.flag);
        assert_string_equal(out.text, in.text);
        assert_null(out.none);
    }
    pool_free(&pool);
}

/* Writes what is in sample.json with one text for another. */
static void put_changed(const char *from, const char *to) {
    char text[4096], *at;
    FILE *file = fopen("sample.json", "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    at = strstr(text, from);
    assert_non_null(at);
    file = fopen("changed.json", "wb");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    fclose(file);
}

static void what_was_changed_is_known(void **state) {
    (void)state;
    struct pool pool = {0};
    struct sample sample = {.integer = 5, .real = 0.5, .text = "text"}, out;
    save("sample.json", &sample);
    put_changed("\"integer\": 5", "\"integer\": 6");
    assert_error(load("changed.json", &pool, &out), NEAP_ERROR_DATA, "checksum");
    put_changed("\"integer\": 5", "\"integer\":     5");
    assert_no_error(load("changed.json", &pool, &out));
    put_changed("\"text\": \"text\"", "\"text\": \"next\"");
    assert_error(load("changed.json", &pool, &out), NEAP_ERROR_DATA, "checksum");
    put_changed("test/1", "test/2");
    assert_error(load("changed.json", &pool, &out), NEAP_ERROR_DATA, "'test/2', not 'test/1'");
    put_changed("}", "");
    assert_error(load("changed.json", &pool, &out), NEAP_ERROR_DATA, "changed.json:");
    put_text("list.json", "[1]");
    assert_error(load("list.json", &pool, &out), NEAP_ERROR_DATA, "'none'");
    assert_error(load("missing.json", &pool, &out), NEAP_ERROR_DATA, "missing.json");
    pool_free(&pool);
}

static void other_versions_can_be_read(void **state) {
    (void)state;
    struct pool pool = {0};
    struct sample sample = {.integer = 5, .flag = true}, out = {.integer = 1, .count = 9};
    const struct json_group fewer = {"sample", fields, 1, &sample};
    assert_no_error(fields_json_save("fewer.json", "test/1", &fewer, 1));
    assert_no_error(load("fewer.json", &pool, &out));
    assert_int_equal(out.integer, 5);
    assert_int_equal(out.count, 9);
    save("sample.json", &sample);
    const struct json_group one = {"sample", fields, 1, &out};
    out.integer = 0;
    assert_no_error(fields_json_load("sample.json", "test/1", &one, 1, &pool));
    assert_int_equal(out.integer, 5);
    static const struct json_field flag_as_text = {"flag", JSON_FIELD_TEXT,
                                                   offsetof(struct sample, text)};
    const struct json_group wrong = {"sample", &flag_as_text, 1, &out};
    assert_error(fields_json_load("sample.json", "test/1", &wrong, 1, &pool), NEAP_ERROR_DATA,
                 "'flag' in 'sample' is not a string");
    pool_free(&pool);
}

static void what_json_cannot_hold(void **state) {
    (void)state;
    struct sample sample = {.text = "\xff"};
    struct json_group group = group_of(&sample);
    assert_error(fields_json_save("bad.json", "test/1", &group, 1), NEAP_ERROR_RUNTIME, "'text'");
    assert_int_not_equal(access("bad.json", F_OK), 0);
    sample.text = NULL;
    assert_error(fields_json_save("none/bad.json", "test/1", &group, 1), NEAP_ERROR_RUNTIME,
                 "none/bad.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_come_back),
        cmocka_unit_test(what_was_changed_is_known),
        cmocka_unit_test(other_versions_can_be_read),
        cmocka_unit_test(what_json_cannot_hold),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
