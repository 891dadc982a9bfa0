/* What a plan says of itself: layers, steps, stages. On the null device, whose kernels never
 * change: every op is one, and nothing is reordered. */
#include "support/files.h"

#include "ops/ops.h"
#include "train/session.h"

static struct neap_options options_of(const char *model, int64_t batch) {
    struct neap_options options;
    neap_options_default(&options);
    options.model = model;
    options.batch = batch;
    options.device = "null";
    return options;
}

static neap_plan *make_plan(const struct neap_options *options) {
    neap_plan *plan;
    assert_no_error(neap_plan_create(options, &plan));
    return plan;
}

static const struct neap_layer *find_layer(const neap_plan *plan, const char *name) {
    const struct neap_layer *layers;
    const size_t n = neap_plan_layers(plan, &layers);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(layers[i].name, name))
            return &layers[i];
    fail_msg("no layer '%s'", name);
    return NULL;
}

static int64_t sum_parameters(const neap_plan *plan) {
    const struct neap_layer *layers;
    const size_t n = neap_plan_layers(plan, &layers);
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += layers[i].parameters;
    return sum;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void layers_are_those_the_user_wrote_in_order(void **state) {
    (void)state;
    static const char *const wanted[][2] = {
        {"conv1", "conv2d"}, {"relu1", "relu"},       {"pool1", "max_pool2d"}, {"conv2", "conv2d"},
        {"relu2", "relu"},   {"pool2", "max_pool2d"}, {"flatten", "flatten"},  {"fc1", "linear"},
    };
    const struct neap_options options = options_of("lenet5", 8);
    neap_plan *plan = make_plan(&options);
    const struct neap_layer *layers;
    assert_in_range(neap_plan_layers(plan, &layers), 11, 13);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_string_equal(layers[i].name, wanted[i][0]);
        assert_string_equal(layers[i].op, wanted[i][1]);
    }
    neap_plan_free(plan);
}

static void a_layer_has_its_shape_parameters_flops_and_bytes(void **state) {
    (void)state;
    const struct neap_options options = options_of("lenet5", 8);
    neap_plan *plan = make_plan(&options);
    const struct neap_layer *conv = find_layer(plan, "conv1");
    assert_int_equal(conv->rank, 4);
    const int64_t dims[] = {8, 6, 28, 28};
    assert_memory_equal(conv->dims, dims, sizeof dims);
    assert_int_equal(conv->parameters, 6 * 1 * 5 * 5 + 6);
    assert_int_equal(conv->bytes, 8 * 6 * 28 * 28 * 4);
    /* A multiply and an add for each weight of each output; the bias may count or not. */
    assert_in_range(conv->flops, 2 * 8 * 6 * 28 * 28 * 25, (2 * 25 + 1) * 8 * 6 * 28 * 28);
    assert_int_equal(find_layer(plan, "flatten")->bytes, 0); /* its input's storage */
    neap_plan_free(plan);
}

static void batch_norm_is_one_layer_and_parameters_add_up(void **state) {
    (void)state;
    const struct neap_options options = options_of("resnet20", 4);
    neap_plan *plan = make_plan(&options);
    const struct neap_layer *norm = find_layer(plan, "bn1");
    assert_string_equal(norm->op, "batch_norm");
    assert_int_equal(norm->parameters, 2 * 16);
    const struct neap_layer *layers;
    const size_t n = neap_plan_layers(plan, &layers);
    for (size_t i = 0; i < n; i++)
        assert_null(strstr(layers[i].op, "batch_norm_"));
    assert_int_equal(sum_parameters(plan), neap_plan_get_report(plan)->parameters);
    neap_plan_free(plan);
}

static void a_layer_is_kept_or_recomputed_as_the_plan_says(void **state) {
    (void)state;
    struct neap_options options = options_of("lenet5", 8);
    options.recompute = "none";
    neap_plan *plan = make_plan(&options);
    assert_true(find_layer(plan, "pool1")->kept); /* conv2's gradient reads it */
    assert_int_equal(find_layer(plan, "pool1")->recomputed, 0);
    neap_plan_free(plan);

    options.recompute = NULL;
    options.recompute_layers = "pool1,conv2"; /* forgets what only these two read */
    plan = make_plan(&options);
    assert_false(find_layer(plan, "pool1")->kept);
    assert_int_equal(find_layer(plan, "pool1")->recomputed, 1);
    assert_int_equal(find_layer(plan, "conv2")->recomputed, 0);
    neap_plan_free(plan);
}

static void a_plan_that_does_not_fit_has_its_layers(void **state) {
    (void)state;
    struct neap_options options = options_of("lenet5", 8);
    options.arena = (struct neap_size){.kind = NEAP_SIZE_BYTES, .bytes = 128};
    neap_plan *plan;
    assert_error(neap_plan_create(&options, &plan), NEAP_ERROR_BUDGET, "does not fit");
    assert_non_null(plan);
    assert_false(neap_plan_get_report(plan)->fits);
    assert_int_equal(sum_parameters(plan), 61706);
    neap_plan_free(plan);
}

static void a_plan_of_nothing_is_an_error_and_no_plan(void **state) {
    (void)state;
    const struct neap_options options = options_of(NULL, 8);
    neap_plan *plan;
    assert_error(neap_plan_create(&options, &plan), NEAP_ERROR_USAGE, "no model given");
    assert_null(plan);
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t n;
};

static struct text explain(const neap_plan *plan) {
    struct text text = {0};
    FILE *file = open_memstream(&text.bytes, &text.n);
    assert_non_null(file);
    assert_no_error(neap_plan_explain(plan, file));
    fclose(file);
    return text;
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    while ((text = strstr(text, what))) {
        text += strlen(what);
        n++;
    }
    return n;
}

static void every_step_has_a_line(void **state) {
    (void)state;
    struct neap_options options = options_of("lenet5", 8);
    options.recompute_layers = "pool1,relu*";
    neap_plan *plan = make_plan(&options);
    struct text text = explain(plan);
    assert_int_equal(count(text.bytes, "\n"), 1 + plan->plan.schedule.n);
    assert_int_equal(count(text.bytes, " recompute "), plan->report.recomputed_ops);
    assert_true(plan->report.recomputed_ops > 0);
    assert_int_equal(count(text.bytes, " slow "), 0); /* what never runs is not slow */
    free(text.bytes);
    neap_plan_free(plan);
}

static void lines_carry_offsets_and_the_bytes_live(void **state) {
    (void)state;
    struct neap_options options = options_of("mlp", 8);
    neap_plan *plan = make_plan(&options);
    struct text text = explain(plan);
    char wanted[160];
    int64_t most = 0;
    uint32_t next = 0;
    char *rest = strchr(text.bytes, '\n') + 1, *line;
    const struct plan_lives *lives = &plan->plan.lives;
    for (uint32_t step = 0; (line = strsep(&rest, "\n")) && *line; step++) {
        assert_int_equal(strtol(line, NULL, 10), step);
        for (; next < lives->n && lives->at[next].first_step == step; next++) {
            uint32_t id = lives->at[next].value;
            if (plan->step->problem.values[id].input || plan->step->value_of_plan[id] == ID_NONE)
                continue;
            snprintf(wanted, sizeof wanted, "%s@%lld+%lld",
                     graph_value(plan->step->g, plan->step->value_of_plan[id])->name,
                     (long long)lives->at[next].offset, (long long)lives->at[next].bytes);
            assert_non_null(strstr(line, wanted));
        }
        /* The first number with a comma in it: nothing before it has one. */
        char digits[32] = "", *comma = strchr(line, ',');
        while (comma && comma > line && comma[-1] != ' ')
            comma--;
        for (size_t n = 0; comma && *comma && *comma != ' '; comma++)
            if (*comma != ',' && n + 1 < sizeof digits)
                digits[n++] = *comma;
        most = strtoll(digits, NULL, 10) > most ? strtoll(digits, NULL, 10) : most;
    }
    assert_int_equal(next, lives->n);
    assert_int_equal(most, plan->plan.measure.peak_bytes);
    free(text.bytes);
    neap_plan_free(plan);
}

static void reference_kernels_are_marked_slow_where_they_run(void **state) {
    (void)state;
    struct neap_options options = options_of("mlp", 8);
    options.device = "cpu";
    neap_plan *plan = make_plan(&options);
    struct text text = explain(plan);
    for (char *rest = text.bytes, *line; (line = strsep(&rest, "\n"));)
        if (strstr(line, " reference "))
            assert_non_null(strstr(line, " slow "));
    free(text.bytes);
    neap_plan_free(plan);
}

static void a_plan_is_saved(void **state) {
    (void)state;
    const struct neap_options options = options_of("mlp", 8);
    neap_plan *plan = make_plan(&options);
    assert_no_error(neap_plan_save(plan, "plan.json"));
    static const char start[] = "{\n  \"format\": \"neap-plan/1\",\n  \"model\": \"mlp\",\n"
                                "  \"batch\": 8,\n";
    char text[sizeof start] = "";
    FILE *file = fopen("plan.json", "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof start - 1, file), sizeof start - 1);
    fclose(file);
    assert_string_equal(text, start);
    neap_plan_free(plan);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static struct text dump(const struct neap_options *options, const char *stage) {
    struct text text = {0};
    FILE *file = open_memstream(&text.bytes, &text.n);
    assert_non_null(file);
    assert_no_error(neap_stage_dump(options, stage, file));
    fclose(file);
    return text;
}

static void every_stage_can_be_dumped_and_read_back(void **state) {
    (void)state;
    struct neap_options options = options_of("lenet5", 8);
    options.micro_batch = 4;
    size_t n = 0;
    for (const char *stage; (stage = neap_stage_at(n)); n++) {
        struct text text = dump(&options, stage);
        neap_graph *g;
        assert_no_error(graph_read_text(text.bytes, stage, &all_ops, &g));
        assert_int_equal(graph_batch(g), 4); /* what runs at once */
        graph_free(g);
        free(text.bytes);
    }
    assert_true(n > 4);
}

static void a_dump_is_of_the_stage_named(void **state) {
    (void)state;
    const struct neap_options options = options_of("mlp", 8);
    struct text model = dump(&options, "model"), trained = dump(&options, "autodiff");
    assert_null(strstr(model.bytes, "linear_backward"));
    assert_non_null(strstr(trained.bytes, "linear_backward"));
    free(model.bytes);
    free(trained.bytes);
}

static void an_unknown_stage_is_refused_with_those_there_are(void **state) {
    (void)state;
    const struct neap_options options = options_of("mlp", 8);
    assert_error(neap_stage_dump(&options, "autodif", stderr), NEAP_ERROR_USAGE,
                 "unknown stage 'autodif': there are model, ");
}

static void the_version_is_named(void **state) {
    (void)state;
    assert_string_equal(neap_version(), "neap 0.1.0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_those_the_user_wrote_in_order),
        cmocka_unit_test(a_layer_has_its_shape_parameters_flops_and_bytes),
        cmocka_unit_test(batch_norm_is_one_layer_and_parameters_add_up),
        cmocka_unit_test(a_layer_is_kept_or_recomputed_as_the_plan_says),
        cmocka_unit_test(a_plan_that_does_not_fit_has_its_layers),
        cmocka_unit_test(a_plan_of_nothing_is_an_error_and_no_plan),
        cmocka_unit_test(every_step_has_a_line),
        cmocka_unit_test(lines_carry_offsets_and_the_bytes_live),
        cmocka_unit_test(reference_kernels_are_marked_slow_where_they_run),
        cmocka_unit_test(a_plan_is_saved),
        cmocka_unit_test(every_stage_can_be_dumped_and_read_back),
        cmocka_unit_test(a_dump_is_of_the_stage_named),
        cmocka_unit_test(an_unknown_stage_is_refused_with_those_there_are),
        cmocka_unit_test(the_version_is_named),
    };
    return cmocka_run_group_tests(tests, enter_scratch_folder, NULL);
}
