/* Recompute by hand: which ops patterns and segments make one piece, and that a plan of pieces
 * computes the same. */
#include "support/files.h"

#include "ops/ops.h"
#include "train/pieces.h"
#include "train/session.h"

static struct neap_plan *session_of(struct neap_options o) {
    struct neap_plan *s;
    o.device = "null";
    assert_no_error(session_create(&(struct session_request){.options = &o}, &s));
    return s;
}

static struct neap_options options_of(const char *model) {
    struct neap_options o;
    neap_options_default(&o);
    o.model = model;
    o.batch = 2;
    o.recompute = "none";
    return o;
}

static const char *name_of(const struct neap_plan *s, uint32_t op) {
    return graph_node(s->step->g, s->step->node_of_op[op])->name;
}

static bool starts(const char *text, const char *start) {
    return !strncmp(text, start, strlen(start));
}

/* The ops whose names start so, and only they, are wrapped; in `n_pieces` pieces. */
static void assert_wrapped(const char *model, const char *patterns, const char *start,
                           int n_pieces) {
    struct neap_plan *s = session_of(options_of(model));
    uint32_t *piece, border = plan_border(&s->step->problem), last = PLAN_NONE;
    assert_no_error(pieces_of_layers(s->model, s->step, patterns, &piece));
    int n = 0, wrapped = 0;
    for (uint32_t o = 0; o < s->step->problem.n_ops; o++) {
        bool wanted = o < border && starts(name_of(s, o), start);
        if (wanted != (piece[o] != PLAN_NONE))
            fail_msg("%s: '%s' is %swrapped", patterns, name_of(s, o), wanted ? "not " : "");
        n += piece[o] != PLAN_NONE && piece[o] != last;
        wrapped += wanted;
        last = piece[o];
    }
    assert_true(wrapped > 0);
    if (n != n_pieces)
        fail_msg("%s: %d pieces, not %d", patterns, n, n_pieces);
    free(piece);
    neap_plan_free(s);
}

static void AModuleIsOnePiece(void **state) {
    (void)state;
    assert_wrapped("resnet20", "layer3", "layer3.", 1);
    assert_wrapped("resnet20", "layer3.*", "layer3.", 1);
    assert_wrapped("vgg11", "features", "features.", 1);
    assert_wrapped("vgg11", "features.*", "features.", 1);
    assert_wrapped("resnet20", "layer1.2", "layer1.2.", 1);
}

static void EveryModuleThatMatchesIsAPiece(void **state) {
    (void)state;
    assert_wrapped("resnet20", "layer?", "layer", 3);
    assert_wrapped("resnet20", "layer*", "layer", 3);
    assert_wrapped("resnet20", "layer?.?", "layer", 9);
    assert_wrapped("resnet20", "layer?.*", "layer", 3);
    assert_wrapped("resnet20", "layer[2].?", "layer2.", 3);
    assert_wrapped("resnet20", "layer1.0.bn1", "layer1.0.bn1", 1);
}

/* "conv1 relu1 pool1 …" of the same (outermost) module. */
static void LayersOfAModuleInARowAreAPiece(void **state) {
    (void)state;
    struct neap_plan *s = session_of(options_of("lenet5"));
    uint32_t *piece, n_pieces = 0;
    assert_no_error(
        pieces_of_layers(s->model, s->step, "conv1,pool?,relu1,fc2,conv2,relu2", &piece));
    for (uint32_t o = 0; o < plan_border(&s->step->problem); o++) {
        bool early = strchr("cp", name_of(s, o)[0]) || starts(name_of(s, o), "relu1") ||
                     starts(name_of(s, o), "relu2");
        assert_int_equal(early || starts(name_of(s, o), "fc2"), piece[o] != PLAN_NONE);
        n_pieces += piece[o] != PLAN_NONE && (!o || piece[o] != piece[o - 1]);
    }
    assert_int_equal(n_pieces, 2);
    free(piece);
    neap_plan_free(s);
}

static void EverythingCanBeOnePiece(void **state) {
    (void)state;
    struct neap_plan *s = session_of(options_of("lenet5"));
    uint32_t *piece;
    assert_no_error(pieces_of_layers(s->model, s->step, "*", &piece));
    for (uint32_t o = 1; o < plan_border(&s->step->problem); o++)
        assert_int_equal(piece[o], piece[0]);
    free(piece);
    neap_plan_free(s);
}

/* A convolution with its ReLU inside answers to both names. */
static void FusedLayersAnswerToAllTheirNames(void **state) {
    (void)state;
    struct neap_plan *s = session_of(options_of("vgg11"));
    const char *const names[] = {"features.6", "features.7"};
    for (int i = 0; i < 2; i++) {
        uint32_t *piece;
        assert_no_error(pieces_of_layers(s->model, s->step, names[i], &piece));
        int n = 0;
        for (uint32_t o = 0; o < plan_border(&s->step->problem); o++)
            if (piece[o] != PLAN_NONE) {
                assert_string_equal(name_of(s, o), "features.6");
                n++;
            }
        assert_int_equal(n, 1);
        free(piece);
    }
    neap_plan_free(s);
}

static void APatternThatNamesNothingIsRefused(void **state) {
    (void)state;
    const char *const patterns[] = {"layer4", "layer1,layer4", "", ",", "layer1.0.conv1.weight",
                                    "Layer1", "loss.total"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct neap_options o = options_of("resnet20");
        struct neap_plan *s;
        o.recompute = NULL;
        o.recompute_layers = patterns[i];
        assert_error(session_create(&(struct session_request){.options = &o}, &s), NEAP_ERROR_USAGE,
                     "no layer's name matches");
    }
}

static void WhatFreesNothingIsRefused(void **state) {
    (void)state;
    struct neap_options o = options_of("resnet20");
    struct neap_plan *s;
    o.recompute = NULL;
    o.recompute_layers = "linear";
    assert_error(session_create(&(struct session_request){.options = &o}, &s), NEAP_ERROR_USAGE,
                 "would free nothing");
}

static void OneWayToSayWhatToRecompute(void **state) {
    (void)state;
    struct neap_options o = options_of("resnet20");
    struct neap_plan *s;
    o.recompute_layers = "layer1";
    assert_error(session_create(&(struct session_request){.options = &o}, &s), NEAP_ERROR_USAGE,
                 "give one");
}

/* ---- segments ----------------------------------------------------------------------------------
 */

static const int64_t images[] = {4, 3, 16, 16};

static neap_value conv(neap_graph *g, neap_value x, const char *name) {
    const struct neap_conv2d spec = {
        .out_channels = 8, .kernel = {3}, .padding = {1}, .bias = true};
    return neap_conv2d(g, x, name, &spec);
}

/* Two convolutions of three each in a segment, if `marked`. */
static neap_graph *make_graph(bool marked) {
    neap_graph *g;
    char name[16];
    assert_no_error(neap_graph_create("pieces", &g));
    neap_value x = neap_input(g, "images", NEAP_F32, 4, images);
    for (int part = 0; part < 3; part++) {
        snprintf(name, sizeof name, "part%d", part);
        if (marked && part < 2)
            neap_graph_segment_begin(g, name);
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "conv%d%d", part, i);
            x = conv(g, x, name);
            snprintf(name, sizeof name, "relu%d%d", part, i);
            x = neap_relu(g, x, name);
        }
        if (marked && part < 2)
            neap_graph_segment_end(g);
    }
    x = neap_linear(g, neap_flatten(g, x, "flatten"), "fc",
                    &(struct neap_linear){.out_features = 10});
    neap_classifier(g, x);
    assert_no_error(neap_graph_check(g));
    return g;
}

static struct neap_options options_of_graph(const neap_graph *g) {
    struct neap_options o;
    neap_options_default(&o);
    o.graph = g;
    o.batch = 4;
    return o;
}

static void SegmentsCountUnlessSomethingElseIsAskedFor(void **state) {
    (void)state;
    neap_graph *g = make_graph(true);
    struct neap_options o = options_of_graph(g);
    struct neap_plan *s = session_of(o);
    assert_string_equal(s->report.strategy, "segments");
    int64_t kept_bytes = s->store_all.measure.peak_bytes;
    assert_true(s->report.recomputed_ops >=
                2); /* the first convolution of each segment, at least */
    assert_true(s->plan.measure.peak_bytes < kept_bytes);
    neap_plan_free(s);
    o.recompute = "auto";
    s = session_of(o);
    assert_string_equal(s->report.strategy, "none"); /* there is no budget */
    neap_plan_free(s);
    neap_graph_free(g);
}

/* Of a segment's values only what is read outside lives from its forward to the backward. */
static void WhatASegmentMakesIsForgotten(void **state) {
    (void)state;
    neap_graph *g = make_graph(true);
    struct neap_plan *s = session_of(options_of_graph(g));
    const struct plan_problem *p = &s->step->problem;
    uint32_t *piece, border = plan_border(p);
    assert_no_error(pieces_of_segments(s->model, s->step, &piece));
    int pieces = 0, made_again = 0;
    for (uint32_t o = 0; o < border; o++) {
        bool marked = strstr(name_of(s, o), "conv0") || strstr(name_of(s, o), "conv1") ||
                      strstr(name_of(s, o), "relu0") || strstr(name_of(s, o), "relu1");
        assert_int_equal(marked, piece[o] != PLAN_NONE);
        pieces += piece[o] != PLAN_NONE && (!o || piece[o] != piece[o - 1]);
    }
    assert_int_equal(pieces, 2);
    for (size_t step = 0; step < s->plan.schedule.n; step++)
        made_again += s->plan.schedule.ops[step] < border;
    assert_int_equal(made_again - (int)border, s->report.recomputed_ops);
    free(piece);
    neap_plan_free(s);
    neap_graph_free(g);
}

static void SegmentsChangeNoBit(void **state) {
    (void)state;
    neap_graph *g = make_graph(true);
    struct neap_options o = options_of_graph(g);
    struct neap_verify_report report;
    o.updates = 2;
    o.lr = 0.01;
    assert_no_error(neap_verify(&o, &report));
    assert_true(report.identical && report.canaries_intact);
    assert_true(report.recomputed_ops > 0);
    neap_graph_free(g);
}

static char *text_of(const neap_graph *g) {
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_no_error(neap_graph_write(g, file));
    assert_int_equal(fclose(file), 0);
    return text;
}

static void SegmentsStandInTheText(void **state) {
    (void)state;
    neap_graph *g = make_graph(true), *again, *copy;
    char *text = text_of(g);
    assert_non_null(strstr(text, "segment=part0"));
    put_text("pieces.neap", text);
    assert_no_error(neap_graph_read("pieces.neap", &again));
    char *same = text_of(again);
    assert_string_equal(text, same);
    assert_no_error(graph_clone(again, &copy));
    neap_graph_free(again);
    char *cloned = text_of(copy);
    assert_string_equal(text, cloned);
    free(text);
    free(same);
    free(cloned);
    neap_graph_free(copy);
    neap_graph_free(g);
}

static void ASegmentThatIsNoneIsRefused(void **state) {
    (void)state;
    static const struct {
        const char *calls, *why; /* ( begins "s", [ begins "t", ) ends, c adds a layer */
    } cases[] = {
        {"([", "segment 't' begins inside segment 's'"},
        {")", "no segment has begun"},
        {"()", "segment 's' is empty"},
        {"(c)c(", "there is a segment 's' already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        neap_graph *g;
        char name[8];
        assert_no_error(neap_graph_create("g", &g));
        neap_value x = neap_input(g, "images", NEAP_F32, 4, images);
        for (const char *c = cases[i].calls; *c; c++) {
            snprintf(name, sizeof name, "c%d", (int)(c - cases[i].calls));
            if (*c == ')')
                neap_graph_segment_end(g);
            else if (*c == 'c')
                x = conv(g, x, name);
            else
                neap_graph_segment_begin(g, *c == '(' ? "s" : "t");
        }
        assert_error(neap_graph_check(g), NEAP_ERROR_MODEL, cases[i].why);
        neap_graph_free(g);
    }
}

static void ASegmentThatNeverEndsIsRefused(void **state) {
    (void)state;
    neap_graph *g = make_graph(false);
    neap_graph_segment_begin(g, "tail");
    struct neap_options o = options_of_graph(g);
    struct neap_plan *s;
    assert_error(session_create(&(struct session_request){.options = &o}, &s), NEAP_ERROR_MODEL,
                 "segment 'tail' is not ended");
    neap_graph_free(g);
}

static void WithoutMarksThereAreNoSegments(void **state) {
    (void)state;
    neap_graph *g = make_graph(false);
    struct neap_options o = options_of_graph(g);
    struct neap_plan *s;
    o.recompute = "segments";
    assert_error(session_create(&(struct session_request){.options = &o}, &s), NEAP_ERROR_USAGE,
                 "marks no segments");
    neap_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AModuleIsOnePiece),
        cmocka_unit_test(EveryModuleThatMatchesIsAPiece),
        cmocka_unit_test(LayersOfAModuleInARowAreAPiece),
        cmocka_unit_test(EverythingCanBeOnePiece),
        cmocka_unit_test(FusedLayersAnswerToAllTheirNames),
        cmocka_unit_test(APatternThatNamesNothingIsRefused),
        cmocka_unit_test(WhatFreesNothingIsRefused),
        cmocka_unit_test(OneWayToSayWhatToRecompute),
        cmocka_unit_test(SegmentsCountUnlessSomethingElseIsAskedFor),
        cmocka_unit_test(WhatASegmentMakesIsForgotten),
        cmocka_unit_test(SegmentsChangeNoBit),
        cmocka_unit_test(SegmentsStandInTheText),
        cmocka_unit_test(ASegmentThatIsNoneIsRefused),
        cmocka_unit_test(ASegmentThatNeverEndsIsRefused),
        cmocka_unit_test(WithoutMarksThereAreNoSegments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
