/* The text form: what is written reads back to the same text, and what cannot be read is refused
 * with line and column. */
#include "unit/ir/graphs.h"

#include "base/file.h"
#include "base/philox.h"

/* ---- there and back -------------------------------------------------------------------------- */

/* The file's text; free() it. NULL where there are no sources. */
static char *golden(const char *name) {
    const char *source = getenv("SOURCE_DIR");
    char path[1024];
    struct file_bytes bytes;
    snprintf(path, sizeof path, "%s/tests/golden/%s", source ? source : ".", name);
    assert_no_error(file_read(path, 1 << 20, NEAP_ERROR_DATA, &bytes));
    return bytes.data;
}

static void assert_writes(const char *text, const char *expected) {
    neap_graph *g = graph_from(text);
    char *written = text_of(g);
    assert_string_equal(written, expected);
    assert_no_error(graph_verify(g, "reading"));
    free(written);
    graph_free(g);
}

static void assert_golden(const char *name, const char *expected_name) {
    char *text = golden(name), *expected = golden(expected_name);
    assert_writes(text, expected);
    free(text);
    free(expected);
}

static void a_model_by_hand_is_written_as_it_was_read(void **state) {
    (void)state;
    assert_golden("model.neap", "model.neap");
}

static void a_compiled_step_is_written_as_it_was_read(void **state) {
    (void)state;
    assert_golden("training.neap", "training.neap");
}

static void every_other_op_is_written_as_it_was_read(void **state) {
    (void)state;
    assert_golden("ops.neap", "ops.neap");
}

static void comments_and_spacing_are_free_and_writing_puts_them_right(void **state) {
    (void)state;
    assert_golden("loose.neap", "loose.written.neap");
    assert_golden("loose.written.neap", "loose.written.neap");
}

static void lines_may_end_in_carriage_returns_and_the_last_not_at_all(void **state) {
    (void)state;
    assert_writes("neap-graph 1 a\r\ninput x f32 2\r\ny = relu(x)",
                  "neap-graph 1 a\n\ninput x f32 2\ny = relu(x)  # f32 2\n");
}

static void what_is_read_is_in_the_graph(void **state) {
    (void)state;
    char *text = golden("training.neap"), layout[40];
    neap_graph *g = graph_from(text);
    const struct node *running = graph_node(g, node_named(g, "bn1.running"));
    assert_string_equal(g->name, "a step, as compiled");
    assert_int_equal(running->n_updates, 2);
    assert_int_equal(running->updates[1], value_named(g, "bn1.running_var"));
    const struct node *apply = graph_node(g, node_named(g, "bn1"));
    assert_int_equal(apply->n_inputs, 6);
    assert_int_equal(apply->inputs[5], ID_NONE);
    const struct value *mask = graph_value(g, value_named(g, "relu1.mask"));
    assert_int_equal(mask->kind, VALUE_SAVED);
    assert_int_equal(mask->dtype, DTYPE_BIT);
    const struct value *dw = graph_value(g, value_named(g, "d.conv1.weight"));
    assert_true(dw->persistent);
    assert_int_equal(dw->of, value_named(g, "conv1.weight"));
    assert_int_equal(graph_node(g, dw->producer)->phase, PHASE_BACKWARD);
    assert_string_equal(layout_text(dw->layout, 4, layout), "Acdb16a");
    const struct value *w = graph_value(g, value_named(g, "fc.weight"));
    assert_int_equal(w->init.kind, NEAP_INIT_UNIFORM);
    assert_true(w->init.a == 0.03125);
    assert_int_equal(g->roles.logits, value_named(g, "fc"));
    assert_int_equal(g->roles.labels, value_named(g, "labels"));
    assert_int_equal(g->roles.loss, value_named(g, "loss"));
    free(text);
    graph_free(g);
}

static void numbers_are_written_with_the_fewest_digits_that_read_back(void **state) {
    (void)state;
    const char *const numbers[] = {"0.1", "1e-05", "0.30000000000000004", "1e+300", "5e-324", "-2"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[128];
        snprintf(text, sizeof text, "neap-graph 1 a\n\nparameter w f32 scalar init=normal(%s)\n",
                 numbers[i]);
        assert_writes(text, text);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* What stands from line 3 on; x is there. */
static const struct {
    const char *line, *message;
} refusals[] = {
    {"y = conv3d(x)", "test.neap:3:5: unknown op 'conv3d'"},
    {"y = relu(z)", "test.neap:3:10: undefined value 'z'"},
    {"x = relu(x)", "test.neap:3:1: there is a value 'x' already"},
    {"a, a = batch_norm_stats(x)", "test.neap:3:4: there is a value 'a' already"},
    {"y = relu()", "test.neap:3:5: 'y': relu takes 1 to 1 inputs, not 0"},
    {"y = relu(x, x)", "test.neap:3:5: 'y': relu takes 1 to 1 inputs, not 2"},
    {"y = relu(_)", "test.neap:3:10: expected a value's name, found '_', an absent input"},
    {"y = concat(x, _) axis=1", "test.neap:3:15: expected a value's name, found '_'"},
    {"a, b, c = relu(x)", "test.neap:3:11: relu has 1 to 2 results, not 3"},
    {"y = relu(x) p=1", "test.neap:3:13: relu has no attribute 'p'"},
    {"y = flatten(x) start=one", "test.neap:3:16: flatten: start='one' should be an integer"},
    {"y = flatten(x) start", "test.neap:3:21: expected '=', found the end of the line"},
    {"y = flatten(x) start=1 start=1", "test.neap:3:24: attribute 'start' is there twice"},
    {"y = reshape(x) dims=99999999999", "test.neap:3:16: attribute 'dims' is out of range"},
    {"y = relu(x", "test.neap:3:11: expected ')', found the end of the line"},
    {"y = relu(x) +", "test.neap:3:14: expected '=', found the end of the line"},
    {"parameter w f32 5\ny = relu(x) updates w",
     "test.neap: node 'y' updates values, which relu does not"},
    {"y relu(x)", "test.neap:3:1: unknown statement 'y'"},
    {"y: = relu(x) # \x01\ny = \x01", "test.neap:4:5: expected an op, found '?'"},
    {"y: liked = relu(x)", "test.neap:3:4: unknown property 'liked' of a value"},
    {"y: @aacd = relu(x)", "test.neap:3:4: 'aacd' is no layout of rank 4"},
    {"y: of=z = relu(x)", "test.neap:3:7: undefined value 'z'"},
    {"y: input = relu(x)", "test.neap: input 'y' is made by a node"},
    {"relu(x)", "test.neap:3:1: a node without results needs a name: [name] relu(...)"},
    {"parameter w f32 5x3\ny = linear(x, w)",
     "test.neap:4:5: linear 'y': input 2x3x4x4 does not fit weight 5x3"},
    {"input z f33 1", "test.neap:3:9: unknown data type 'f33'"},
    {"input z f32", "test.neap:3:12: expected a shape, found the end of the line"},
    {"input z f32 0x2", "test.neap:3:13: '0x2' is no shape"},
    {"input z f32 2x", "test.neap:3:13: '2x' is no shape"},
    {"input z f32 1x1x1x1x1x1x1", "test.neap:3:13: '1x1x1x1x1x1x1' is no shape"},
    {"input z f32 3000000000", "test.neap:3:13: '3000000000' is no shape"},
    {"input z f32 2000000000x2000000000x2000000000",
     "test.neap:3:7: 'z' has more bytes than can be counted"},
    {"parameter z f32 2 init=normal(x)", "test.neap:3:31: 'x' is no number"},
    {"parameter z f32 2 init=normal(nan)", "test.neap:3:31: 'nan' is no number"},
    {"parameter z f32 2 init=he(1)", "test.neap:3:24: unknown init 'he'"},
    {"\"y = relu(x)", "test.neap:3:1: the name has no closing quote"},
    {"\"\\n\" = relu(x)", "test.neap:3:2: no escape"},
    {"\"\\x00\" = relu(x)", "test.neap:3:2: no escape"},
    {"parameter w f32 2x3x1x1\ny = conv2d(x, w) stride=0", "test.neap:4:5: conv2d 'y'"},
    {"roles logits=z", "test.neap:3:14: undefined value 'z'"},
    {"roles head=x", "test.neap:3:7: unknown role 'head'"},
    {"roles logits=x", "test.neap: logits 'x' has rank 4 instead of 2"},
    {"roles labels=x\nroles logits=x", "test.neap:4:1: there are roles already"},
    {"parameter w f32 5\n[r] batch_norm_running(w, w) updates w, x",
     "test.neap: node 'r' updates 'x', which does not"},
    {"parameter w f32 5\n[r] batch_norm_running(w, w) updates w",
     "test.neap:4:5: batch_norm_running 'r': should update"},
    {"gradient z f32 2\ny = relu(z)", "test.neap: node 'y' reads 'z', which nothing makes"},
};

static void refuses_with_line_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char text[256];
        neap_graph *g;
        snprintf(text, sizeof text, "neap-graph 1 a\ninput x f32 2x3x4x4\n%s\n", refusals[i].line);
        assert_error(graph_read_text(text, "test.neap", &all_ops, &g), NEAP_ERROR_MODEL,
                     refusals[i].message);
    }
}

static void refuses_what_is_no_graph(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } headers[] = {
        {"", "test.neap:1:1: expected 'neap-graph', found the end of the line"},
        {"# nothing\n\n", "test.neap:3:1: expected 'neap-graph', found the end of the line"},
        {"ONNX", "test.neap:1:1: no graph: the first word is 'ONNX', not 'neap-graph'"},
        {"\x7f"
         "ELF",
         "test.neap:1:1: expected 'neap-graph', found '?'"},
        {"neap-graph 2 a", "test.neap:1:12: version '2' cannot be read, 1 can"},
        {"neap-graph 1", "test.neap:1:13: expected the graph's name, found the end of the line"},
        {"neap-graph 1 a b", "test.neap:1:16: expected the end of the line, found 'b'"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        neap_graph *g;
        assert_error(graph_read_text(headers[i].text, "test.neap", &all_ops, &g), NEAP_ERROR_MODEL,
                     headers[i].message);
    }
}

/* ---- any bytes ------------------------------------------------------------------------------- */

struct random {
    uint64_t seed, at;
};

static uint32_t random_below(struct random *random, size_t n) {
    return philox_at(random->seed, 0, random->at++).word[0] % (uint32_t)n;
}

static void put_in(char *text, size_t at, size_t old_bytes, const char *piece, size_t bytes) {
    memmove(text + at + bytes, text + at + old_bytes, strlen(text + at + old_bytes) + 1);
    memcpy(text + at, piece, bytes);
}

/* The next number becomes one that ops may not expect. */
static void change_number(struct random *random, char *text, size_t at) {
    static const char *const numbers[] = {"0", "-1", "1", "7", "2147483647", "-2147483647"};
    const char *number = numbers[random_below(random, sizeof numbers / sizeof *numbers)];
    at += strcspn(text + at, "0123456789");
    put_in(text, at, strspn(text + at, "0123456789"), number, strlen(number));
}

/* Changes bytes and numbers, and copies, moves and removes pieces; the text keeps its terminator.
 */
static void mutate(struct random *random, char *text, size_t room) {
    static const char marks[] = " ,()[]=:@#\"\\x_\n-19.abAB\x80\x01";
    for (uint32_t n = 1 + random_below(random, 4); n > 0; n--) {
        size_t length = strlen(text);
        size_t at = random_below(random, length + 1), from = random_below(random, length + 1);
        size_t piece = random_below(random, 12);
        piece = from + piece > length ? length - from : piece;
        char copy[12];
        memcpy(copy, text + from, piece);
        if (length + 16 > room)
            return;
        switch (random_below(random, 5)) {
        case 0: /* another byte */
            text[at] = at < length ? marks[random_below(random, sizeof marks - 1)] : '\0';
            break;
        case 1: /* a piece goes */
            put_in(text, from, piece, "", 0);
            break;
        case 2: /* a piece is put in elsewhere */
            put_in(text, at, 0, copy, piece);
            break;
        case 3: /* a piece is written over another */
            memcpy(text + at, copy, piece < length - at ? piece : length - at);
            break;
        default:
            change_number(random, text, at);
        }
    }
}

/* What is read is sound, and from then on the text stays. */
static bool reads_or_refuses(const char *text) {
    neap_graph *g, *again;
    neap_error *error = graph_read_text(text, "test.neap", &all_ops, &g);
    if (error) {
        assert_int_equal(neap_error_code(error), NEAP_ERROR_MODEL);
        neap_error_free(error);
        return false;
    }
    char *written = text_of(g);
    assert_no_error(graph_verify(g, "reading"));
    again = graph_from(written);
    char *rewritten = text_of(again);
    assert_string_equal(rewritten, written);
    free(written);
    free(rewritten);
    graph_free(g);
    graph_free(again);
    return true;
}

static void any_bytes_are_read_or_refused(void **state) {
    (void)state;
    enum { N_TRIALS = 3000, ROOM = 8192 };
    static const char *const names[] = {"model.neap", "training.neap", "loose.neap", "ops.neap"};
    int n_read = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = golden(names[i]);
        assert_true(strlen(text) < ROOM / 2);
        for (uint64_t trial = 0; trial < N_TRIALS; trial++) {
            char mutated[ROOM];
            struct random random = {i << 32 | trial, 0};
            strcpy(mutated, text);
            mutate(&random, mutated, sizeof mutated);
            n_read += reads_or_refuses(mutated);
        }
        free(text);
    }
    assert_true(n_read > 100); /* else the mutations are too wild to test much */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_by_hand_is_written_as_it_was_read),
        cmocka_unit_test(a_compiled_step_is_written_as_it_was_read),
        cmocka_unit_test(every_other_op_is_written_as_it_was_read),
        cmocka_unit_test(comments_and_spacing_are_free_and_writing_puts_them_right),
        cmocka_unit_test(lines_may_end_in_carriage_returns_and_the_last_not_at_all),
        cmocka_unit_test(what_is_read_is_in_the_graph),
        cmocka_unit_test(numbers_are_written_with_the_fewest_digits_that_read_back),
        cmocka_unit_test(refuses_with_line_and_column),
        cmocka_unit_test(refuses_what_is_no_graph),
        cmocka_unit_test(any_bytes_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
