/* plan.json: a small plan to the byte (golden/plan.json), and what may go wrong. The plan, by hand:
 * x is an input, w a parameter; conv makes y with scratch, relu makes z in place, conv runs again
 * for its own gradient d, and the update changes w. */
#include "support/files.h"

#include <jansson.h>

#include "base/file.h"
#include "fmt/plan_json.h"
#include "ir/op.h"

enum { X, W, Y, SCRATCH, Z, D, N_VALUES };
enum { CONV, RELU, BACK, UPDATE, N_OPS };

static const struct op_def ops[N_OPS] = {
    {.name = "conv2d"}, {.name = "relu"}, {.name = "backward"}, {.name = "sgd"}};

struct example {
    struct value values[N_VALUES];
    struct node nodes[N_OPS];
    neap_graph g;
    struct plan_value plan_values[N_VALUES];
    struct plan_op plan_ops[N_OPS + 1]; /* room for an alternative */
    uint32_t ids[32];
    struct plan_overwrite overwrites[1];
    struct plan_problem problem;
    node_id node_of_op[N_OPS + 1];
    value_id value_of_plan[N_VALUES];
    uint32_t sequence[5];
    struct plan_schedule schedule;
    struct plan_life at[7];
    struct plan_lives lives;
    struct plan_json json;
};

static struct plan_span span(struct example *e, const uint32_t *ids, uint32_t n) {
    struct plan_span made = {e->problem.n_ids, n};
    memcpy(e->ids + e->problem.n_ids, ids, n * sizeof *ids);
    e->problem.n_ids += n;
    return made;
}
#define SPAN(e, ...)                                                                               \
    span(e, (const uint32_t[]){__VA_ARGS__}, sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t))

static void fill_values(struct example *e) {
    static const struct {
        const char *name;
        enum value_kind kind;
        int64_t bytes;
        uint32_t producer;
    } rows[N_VALUES] = {
        [X] = {"x", VALUE_INPUT, 128, PLAN_NONE}, [W] = {"w", VALUE_PARAMETER, 256, PLAN_NONE},
        [Y] = {"y", VALUE_ACTIVATION, 512, CONV}, [SCRATCH] = {NULL, VALUE_SCRATCH, 1024, CONV},
        [Z] = {"z", VALUE_ACTIVATION, 512, RELU}, [D] = {"d", VALUE_PARAMETER_GRADIENT, 256, BACK},
    };
    for (uint32_t v = 0; v < N_VALUES; v++) {
        e->values[v] =
            (struct value){.name = rows[v].name, .kind = rows[v].kind, .persistent = v == W};
        e->plan_values[v] = (struct plan_value){.bytes = rows[v].bytes,
                                                .persistent = v == W,
                                                .input = v == X,
                                                .producer = rows[v].producer};
        e->value_of_plan[v] = v == SCRATCH ? ID_NONE : v;
    }
}

static void fill_ops(struct example *e) {
    static const char *const names[N_OPS] = {"conv1", "relu1", "conv1.backward", "w.update"};
    for (uint32_t o = 0; o < N_OPS; o++) {
        e->nodes[o] = (struct node){.op = &ops[o], .name = names[o]};
        e->node_of_op[o] = o;
    }
    e->overwrites[0] = (struct plan_overwrite){Y, Z};
    e->plan_ops[CONV] = (struct plan_op){.seconds = 0.5,
                                         .phase = PLAN_FORWARD,
                                         .inputs = SPAN(e, X, W),
                                         .outputs = SPAN(e, Y, SCRATCH)};
    e->plan_ops[RELU] = (struct plan_op){.seconds = 0.125,
                                         .phase = PLAN_FORWARD,
                                         .inputs = SPAN(e, Y),
                                         .outputs = SPAN(e, Z),
                                         .n_overwrites = 1};
    e->plan_ops[BACK] = (struct plan_op){
        .seconds = 1, .phase = PLAN_BACKWARD, .inputs = SPAN(e, Z, Y), .outputs = SPAN(e, D)};
    e->plan_ops[UPDATE] = (struct plan_op){.seconds = 2,
                                           .phase = PLAN_UPDATE,
                                           .effect = true,
                                           .update_part = true,
                                           .inputs = SPAN(e, D),
                                           .updates = SPAN(e, W)};
}

static void fill_plan(struct example *e) {
    static const uint32_t sequence[] = {CONV, RELU, CONV, BACK, UPDATE};
    static const struct plan_life at[] = {
        {X, 0, 2, PLAN_NONE, 1536, 128},       {Y, 0, 1, PLAN_NONE, 0, 512},
        {SCRATCH, 0, 0, PLAN_NONE, 512, 1024}, {Z, 1, 3, 1, 0, 512},
        {Y, 2, 3, PLAN_NONE, 1664, 512},       {SCRATCH, 2, 2, PLAN_NONE, 512, 1024},
        {D, 3, 4, PLAN_NONE, 512, 256}};
    memcpy(e->sequence, sequence, sizeof sequence);
    memcpy(e->at, at, sizeof at);
    e->schedule = (struct plan_schedule){e->sequence, 5, 5};
    e->lives = (struct plan_lives){e->at, 7, 7};
}

static void fill(struct example *e) {
    *e = (struct example){0};
    fill_values(e);
    fill_ops(e);
    fill_plan(e);
    e->g = (neap_graph){
        .values = e->values, .nodes = e->nodes, .n_values = N_VALUES, .n_nodes = N_OPS};
    e->problem.ops = e->plan_ops;
    e->problem.values = e->plan_values;
    e->problem.ids = e->ids;
    e->problem.overwrites = e->overwrites;
    e->problem.n_ops = N_OPS;
    e->problem.n_values = N_VALUES;
    e->problem.n_overwrites = 1;
    e->json = (struct plan_json){.model = "net",
                                 .batch = 8,
                                 .micro_batch = 4,
                                 .micro_batches = 2,
                                 .alignment_bytes = 128,
                                 .arena_bytes = 2176,
                                 .live_peak_bytes = 2176,
                                 .g = &e->g,
                                 .problem = &e->problem,
                                 .node_of_op = e->node_of_op,
                                 .value_of_plan = e->value_of_plan,
                                 .schedule = &e->schedule,
                                 .lives = &e->lives};
}

/* conv runs again as another implementation. */
static void an_alternative_is_one_more_op(void **state) {
    (void)state;
    struct example e;
    fill(&e);
    e.plan_ops[N_OPS] = e.plan_ops[CONV];
    e.plan_ops[N_OPS].seconds = 0.25;
    e.plan_ops[N_OPS].alternative_of = CONV;
    e.node_of_op[N_OPS] = CONV;
    e.problem.n_alternatives = 1;
    e.sequence[2] = N_OPS;
    assert_no_error(plan_json_save(&e.json, "plan.json"));
    json_t *root = json_load_file("plan.json", 0, NULL);
    assert_non_null(root);
    const json_t *rows = json_object_get(root, "ops"), *row = json_array_get(rows, N_OPS);
    assert_int_equal(json_array_size(rows), N_OPS + 1);
    assert_int_equal(json_integer_value(json_object_get(row, "id")), N_OPS);
    assert_int_equal(json_integer_value(json_object_get(row, "alternative_of")), CONV);
    assert_true(json_real_value(json_object_get(row, "seconds")) == 0.25);
    assert_null(json_object_get(json_array_get(rows, CONV), "alternative_of"));
    const json_t *step = json_array_get(json_object_get(root, "steps"), 2);
    assert_int_equal(json_integer_value(json_object_get(step, "op")), N_OPS);
    assert_true(json_is_true(json_object_get(step, "recompute")));
    json_decref(root);
}

/* The bytes of `path`, a NUL behind them; free(). */
static char *contents(const char *path) {
    struct file_bytes bytes;
    assert_no_error(file_read(path, 1 << 20, NEAP_ERROR_RUNTIME, &bytes));
    return bytes.data;
}

static void a_plan_is_written_as_documented_to_the_byte(void **state) {
    (void)state;
    const char *source = getenv("SOURCE_DIR");
    if (!source) {
        puts("tests/golden is not at hand: SOURCE_DIR must name the sources");
        skip();
    }
    struct example e;
    char *path;
    fill(&e);
    assert_no_error(plan_json_save(&e.json, "plan.json"));
    assert_no_error(memory_format(&path, "%s/tests/golden/plan.json", source));
    char *wanted = contents(path), *written = contents("plan.json");
    assert_string_equal(written, wanted);
    free(wanted);
    free(written);
    free(path);
}

static void seconds_read_back_to_the_same_double(void **state) {
    (void)state;
    struct example e;
    fill(&e);
    e.plan_ops[CONV].seconds = 1.0 / 3e7;
    assert_no_error(plan_json_save(&e.json, "seconds.json"));
    json_t *plan = json_load_file("seconds.json", 0, NULL);
    assert_non_null(plan);
    json_t *op = json_array_get(json_object_get(plan, "ops"), CONV);
    assert_true(json_real_value(json_object_get(op, "seconds")) == 1.0 / 3e7);
    json_decref(plan);
}

static void names_of_any_characters_read_back(void **state) {
    (void)state;
    struct example e;
    const char *name = "\"quo\\ted\"\n\t\x01 \xc3\xa9\xe2\x88\x91";
    fill(&e);
    e.json.model = e.values[Y].name = e.nodes[RELU].name = name;
    assert_no_error(plan_json_save(&e.json, "names.json"));
    json_t *plan = json_load_file("names.json", 0, NULL);
    assert_non_null(plan);
    json_t *value = json_array_get(json_object_get(plan, "values"), Y);
    json_t *op = json_array_get(json_object_get(plan, "ops"), RELU);
    assert_string_equal(json_string_value(json_object_get(plan, "model")), name);
    assert_string_equal(json_string_value(json_object_get(value, "name")), name);
    assert_string_equal(json_string_value(json_object_get(op, "name")), name);
    json_decref(plan);
}

static void a_name_that_is_not_utf8_leaves_no_file(void **state) {
    (void)state;
    struct example e;
    fill(&e);
    e.nodes[BACK].name = "caf\xe9";
    put_folder("refused");
    assert_error(plan_json_save(&e.json, "refused/plan.json"), NEAP_ERROR_RUNTIME,
                 "cannot be written as JSON");
    assert_int_equal(rmdir("refused"), 0); /* only an empty folder goes */
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    struct example e;
    fill(&e);
    assert_error(plan_json_save(&e.json, "/dev/full"), NEAP_ERROR_RUNTIME,
                 "cannot write '/dev/full': no space left on device");
    assert_error(plan_json_save(&e.json, "no/such/folder"), NEAP_ERROR_RUNTIME, "no/such/folder");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_written_as_documented_to_the_byte),
        cmocka_unit_test(an_alternative_is_one_more_op),
        cmocka_unit_test(seconds_read_back_to_the_same_double),
        cmocka_unit_test(names_of_any_characters_read_back),
        cmocka_unit_test(a_name_that_is_not_utf8_leaves_no_file),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
